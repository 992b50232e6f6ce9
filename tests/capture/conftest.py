"""Skips tests that capture where this may not be done, and makes the two hosts they capture on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.capture.rights import missing_rights
from vmtrace.lab import namespaces

# For the helpers beside the tests; at the end of the path it shadows nothing that is installed.
sys.path.append(str(Path(__file__).parents[2]))


@pytest.fixture(scope="session")
def may_capture() -> None:
    """Skips the test, with the reason, where packets cannot be captured."""
    reason = missing_rights()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def veth(may_capture: None) -> Iterator[tuple[str, str]]:
    """Two namespaces joined by a cable: `veth0` is 198.18.7.1 and fd00:18:7::1 in the first, .2, ::2 in the other."""
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    names = (namespaces.namespace_name("wire", 1), namespaces.namespace_name("wire", 2))
    try:
        for name in names:
            namespaces.create(name)
        cable = "ip -n {} link add veth0 type veth peer name veth0 netns {}".format(*names)
        namespaces.run_program(cable.split())
        for number, name in enumerate(names, 1):
            for address in (f"198.18.7.{number}/24", f"fd00:18:7::{number}/64"):
                namespaces.run_program(["ip", "-n", name, "address", "add", address, "dev", "veth0", *_nodad(address)])
            namespaces.run_program(["ip", "-n", name, "link", "set", "veth0", "up"])
        yield names
    finally:
        for name in names:
            namespaces.delete(name)


def _nodad(address: str) -> list[str]:
    """An IPv6 address is usable at once only without the search for a double."""
    return ["nodad"] if ":" in address else []
