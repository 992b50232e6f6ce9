"""An interface's facts come together from driver and kernel; what neither tells is None."""

from __future__ import annotations

from pathlib import Path

import pytest

from vmtrace.capture.host_facts import interface_facts
from vmtrace.lab import namespaces


def test_loopback_has_facts_without_a_driver() -> None:
    facts = interface_facts("lo")
    assert facts is not None
    assert facts.mtu_bytes == int(Path("/sys/class/net/lo/mtu").read_text())
    assert facts.addresses is not None
    assert "127.0.0.1/8" in facts.addresses
    assert (facts.driver, facts.speed_bps) == (None, None)
    assert facts.offloads.lro is False


def test_no_such_interface_has_none() -> None:
    assert interface_facts("nosuch0") is None


@pytest.mark.root
@pytest.mark.untimed
def test_an_interface_of_a_namespace_has_the_facts_of_there() -> None:
    name = namespaces.namespace_name("facts", 0)
    namespaces.create(name)
    try:
        namespaces.run_program(["ip", "-n", name, "link", "add", "v0", "mtu", "9000", "type", "veth", "peer", "v1"])
        with namespaces.inside(name):
            namespaces.run_program(["ethtool", "-K", "v0", "gro", "on", "tso", "off"])
            facts = interface_facts("v0")
    finally:
        namespaces.delete(name)
    assert facts is not None
    assert facts.driver is not None
    assert (facts.driver.driver, facts.mtu_bytes, facts.speed_bps) == ("veth", 9000, 10_000_000_000)
    assert (facts.offloads.gro, facts.offloads.tso) == (True, False)
    assert facts.features is not None
    assert facts.features["tx-tcp-segmentation"] is False
