"""Interfaces are told as the kernel tells them, in the namespace of the asker; no answer is no exception."""

from __future__ import annotations

import json
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.capture.link import STATISTICS, LinkReader, _attributes, _link_of, _messages
from vmtrace.lab import namespaces


@pytest.fixture
def reader() -> Iterator[LinkReader]:
    made = LinkReader()
    yield made
    made.close()


def test_loopback_has_its_mtu_its_addresses_and_all_counters(reader: LinkReader) -> None:
    link = reader.link("lo")
    assert link is not None
    assert link.index == 1
    assert link.mtu_bytes == int(Path("/sys/class/net/lo/mtu").read_text())
    assert "127.0.0.1/8" in reader.addresses(link.index)
    assert tuple(link.statistics) == STATISTICS
    assert link.statistics["rx_packets"] <= int(Path("/sys/class/net/lo/statistics/rx_packets").read_text())


def test_counters_have_the_names_of_sysfs() -> None:
    assert set(STATISTICS) == {path.name for path in Path("/sys/class/net/lo/statistics").iterdir()}


@pytest.mark.parametrize("name", ["nosuch0", "", "a-name-longer-than-a-kernel-s", "zero\0in it", "\udcff"])
def test_no_such_interface_is_none_and_the_next_question_is_answered(reader: LinkReader, name: str) -> None:
    assert reader.link(name) is None
    assert reader.link("lo") is not None


@pytest.mark.root
@pytest.mark.untimed
def test_an_interface_in_a_namespace_is_that_one_and_not_its_namesake() -> None:
    name = namespaces.namespace_name("link", 0)
    namespaces.create(name)
    try:
        namespaces.run_program(["ip", "-n", name, "link", "add", "eth0", "mtu", "1234", "type", "veth", "peer", "far0"])
        namespaces.run_program(["ip", "-n", name, "address", "add", "198.18.7.1/30", "dev", "eth0"])
        namespaces.run_program(["ip", "-n", name, "link", "set", "eth0", "up"])
        with namespaces.inside(name):
            there = LinkReader()
        link = there.link("eth0")
        said = json.loads(subprocess.check_output(["ip", "-n", name, "-j", "link", "show", "eth0"]))[0]
        assert link is not None
        assert (link.mtu_bytes, link.qdisc, link.state) == (1234, said["qdisc"], said["operstate"].lower())
        assert "198.18.7.1/30" in there.addresses(link.index)
        namespaces.run_program(["ip", "-n", name, "link", "delete", "eth0"])
        assert there.link("eth0") is None
        there.close()
    finally:
        namespaces.delete(name)


@given(st.binary(max_size=200))
def test_no_answer_breaks_the_reading(raw: bytes) -> None:
    assert len(list(_messages(raw))) <= len(raw) // 16
    assert len(list(_attributes(raw, 0))) <= len(raw) // 4
    assert _link_of(raw) is None or len(raw) >= 16


def test_an_older_kernel_s_shorter_statistics_are_a_prefix() -> None:
    counters = struct.pack("=HH3Q", 28, 23, 5, 6, 7)
    link = _link_of(bytes(16) + counters)
    assert link is not None
    assert link.statistics == {"rx_packets": 5, "tx_packets": 6, "rx_bytes": 7}
    assert link.mtu_bytes is None
