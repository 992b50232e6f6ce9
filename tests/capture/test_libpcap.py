"""The binding of libpcap: found without help, honest about what it cannot do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.capture.traffic import NumberedDatagrams, numbers, read_pcap
from vmtrace.capture import libpcap
from vmtrace.capture.libpcap import Dumper, InterfaceGoneError, Live

needs_rights = pytest.mark.usefixtures("may_capture")


@pytest.fixture
def loopback() -> Live:
    live = Live("lo")
    live.set(262_144, 4 << 20, 20, promiscuous=False, nanoseconds=True)
    live.activate()
    return live


def test_the_version_is_libpcaps_own_words() -> None:
    assert libpcap.lib_version().startswith("libpcap version 1.")


def test_loopback_is_among_the_devices() -> None:
    [loopback] = [device for device in libpcap.find_all_devices() if device.name == "lo"]
    assert loopback.loopback
    assert loopback.up
    assert "lo" in libpcap.interface_names()


@pytest.mark.root
@pytest.mark.untimed
@needs_rights
def test_packets_go_to_the_file_in_c(tmp_path: Path, loopback: Live) -> None:
    with NumberedDatagrams() as traffic:
        loopback.set_filter(f"udp port {traffic.port}")
        loopback.set_direction("in")
        loopback.set_nonblocking()
        descriptor = os.open(tmp_path / "trace.pcap", os.O_RDWR | os.O_CREAT, 0o600)
        dumper = Dumper(loopback, descriptor, 4096)
        traffic.send(20)
        written = 0
        while written < 20:
            written += loopback.dispatch(dumper, -1)
    assert loopback.stats().received >= 20
    dumper.flush()
    assert numbers(read_pcap(tmp_path / "trace.pcap")) == list(range(20))
    dumper.close()
    dumper.close()
    loopback.close()
    loopback.close()


@pytest.mark.root
@pytest.mark.untimed
@needs_rights
def test_what_the_handle_says_of_itself(loopback: Live) -> None:
    assert (loopback.link_type, loopback.link_type_name, loopback.time_source) == (1, "EN10MB", "host")
    assert loopback.nanoseconds
    assert loopback.descriptor >= 0
    assert loopback.selectable >= 0
    assert not loopback.try_link_type(276)
    loopback.close()


@pytest.mark.root
@pytest.mark.untimed
@needs_rights
def test_an_interface_that_is_not_there_is_a_class_of_its_own() -> None:
    live = Live("none7")
    live.set(100, 4 << 20, 20, promiscuous=False, nanoseconds=False)
    with pytest.raises(InterfaceGoneError, match="no interface none7"):
        live.activate()
    live.close()


@pytest.mark.root
@pytest.mark.untimed
@needs_rights
def test_a_full_device_is_an_error_at_the_flush(loopback: Live) -> None:
    dumper = Dumper(loopback, os.open("/dev/full", os.O_WRONLY), 4096)
    with pytest.raises(OSError, match="No space left"):
        dumper.flush()
    dumper.close()
    loopback.close()
