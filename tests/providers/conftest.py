"""A service in memory under the name `fake`, and each real one with a container of its own."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

# For the helpers beside the tests; at the end of the path it shadows nothing that is installed.
sys.path.append(str(Path(__file__).parents[2]))

from tests.providers.fakes import Memory, module
from tests.providers.real_services import SERVERS, Bench
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.service import Service


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Memory:
    """What the service `fake` holds; it is in the registry as long as the test runs."""
    held = Memory()
    made = ModuleType("vmtrace.providers.services.fake")
    vars(made).update(module(held))
    monkeypatch.setitem(sys.modules, "vmtrace.providers.services.fake", made)
    names = registry.names()
    monkeypatch.setattr(registry, "names", lambda: [*names, "fake"])
    return held


@pytest.fixture
def server_of(request: pytest.FixtureRequest) -> Callable[[str], Server]:
    """The real server for the service of a name, started when it is asked for the first time."""

    def asked(name: str) -> Server:
        server: Server = request.getfixturevalue(SERVERS[name])
        return server

    return asked


@pytest.fixture
def bench(
    request: pytest.FixtureRequest, server_of: Callable[[str], Server], client_of: Callable[[Server], None]
) -> Bench:
    name: str = request.param
    client_of(server_of(name))
    options = {"api": "vault"} if name == "glacier-vault" else {}
    fast = {"azure-blob": {"retry_total": "0"}, "swift": {"retries": "0"}}
    return Bench(
        registry.find(name.removesuffix("-vault")), f"vmtrace-{os.urandom(6).hex()}", {**options, **fast.get(name, {})}
    )


@pytest.fixture
def service(bench: Bench) -> Iterator[Service]:
    one = bench.client()
    one.create_container()
    yield one
    one.close()
