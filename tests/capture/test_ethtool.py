"""The driver is asked as ethtool(8) asks it; what it does not tell is None, and no exception."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.capture.ethtool import DriverInfo, Ethtool, Offloads
from vmtrace.lab import namespaces

INTERFACES = sorted(path.name for path in Path("/sys/class/net").iterdir() if path.is_dir())
NAMES = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "lro": "large-receive-offload",
    "gro_hw": "rx-gro-hw",
    "udp_segmentation": "tx-udp-segmentation",
    "rx_checksum": "rx-checksumming",
    "tx_checksum": "tx-checksumming",
    "scatter_gather": "scatter-gather",
}


def said_by_ethtool(*arguments: str) -> str:
    program = shutil.which("ethtool", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if program is None:
        pytest.skip("ethtool(8) is not there to compare with")
    return subprocess.run([program, *arguments], check=False, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def far_namespace() -> Iterator[str]:
    name = namespaces.namespace_name("ethtool", 0)
    namespaces.create(name)
    try:
        namespaces.run_program(["ip", "-n", name, "link", "add", "only0", "type", "veth", "peer", "name", "only1"])
        yield name
    finally:
        namespaces.delete(name)


@pytest.mark.parametrize("interface", INTERFACES)
def test_offloads_and_features_are_those_of_ethtool(interface: str) -> None:
    said = dict(re.findall(r"^\s*([\w-]+): (on|off)", said_by_ethtool("-k", interface), re.MULTILINE))
    with Ethtool(interface) as nic:
        offloads, features = nic.offloads(), nic.features()
    assert {name: getattr(offloads, name) for name in NAMES} == {
        name: said[spoken] == "on" if spoken in said else None for name, spoken in NAMES.items()
    }
    assert features is not None
    assert features == features | {name: said[name] == "on" for name in features if name in said}


@pytest.mark.parametrize("interface", INTERFACES)
def test_statistics_have_the_names_of_ethtool(interface: str) -> None:
    said = re.findall(r"^\s+(\S.*): \d+$", said_by_ethtool("-S", interface), re.MULTILINE)
    with Ethtool(interface) as nic:
        assert list(nic.statistics() or {}) == list(dict.fromkeys(said))


@pytest.mark.parametrize("interface", INTERFACES)
def test_the_driver_is_the_one_ethtool_names(interface: str) -> None:
    said = dict(re.findall(r"^([\w-]+): (.*)$", said_by_ethtool("-i", interface), re.MULTILINE))
    with Ethtool(interface) as nic:
        driver = nic.driver()
    assert (driver and (driver.driver, driver.bus)) == (
        (said["driver"], said["bus-info"]) if said.get("driver") else None
    )


@pytest.mark.parametrize("name", ["nosuch0", "", "a-name-longer-than-a-kernel-s", "sla/sh", "\udcff", "../../etc"])
def test_no_such_interface_is_none_and_no_exception(name: str) -> None:
    with Ethtool(name) as nic:
        answers = [nic.driver(), nic.statistics(), nic.features(), nic.speed_bps(), nic.queues(), nic.rings()]
        assert answers == [None] * 6
        assert nic.offloads() == Offloads(*[None] * 9)


@pytest.mark.root
@pytest.mark.untimed
def test_speed_and_offloads_of_a_link_in_a_namespace_are_asked_there(far_namespace: str) -> None:
    with namespaces.inside(far_namespace):
        namespaces.run_program(["ethtool", "-K", "only0", "tso", "off"])
        nic = Ethtool("only0")
    with nic, Ethtool("only0") as here:  # asked from outside: the handle stays where it was opened
        assert nic.speed_bps() == 10_000_000_000  # what veth says of itself
        assert (nic.offloads().tso, nic.offloads().gso) == (False, True)
        assert (nic.driver() or pytest.fail("no driver")).driver == "veth"
        queues = nic.queues()
        assert queues is not None
        assert queues.rx + queues.tx + queues.combined >= 2
        assert "peer_ifindex" in (nic.statistics() or {})
        assert here.driver() is None


def test_a_driver_that_would_crash_its_kernel_is_not_asked_for_its_rings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(Ethtool, "driver", lambda _: DriverInfo("uml-vector", "", "", ""))
    monkeypatch.setattr(Ethtool, "_ask", lambda _, command, __: asked.append(command))
    with Ethtool("lo") as nic:
        assert nic.rings() is None
    assert asked == []
