"""Filters are compiled by libpcap, and its complaints are one line."""

import struct

import pytest

from vmtrace.analyze.read import filter as bpf
from vmtrace.analyze.read.filter import FilterError, checked, compile_filter
from vmtrace.analyze.trace import Options, read

NULL, LOOP = 0, 108
ETHERNET, RAW_IP_OF_OPENBSD, RAW_IP, LINUX_SLL2 = 1, 14, 101, 276


@pytest.mark.parametrize("link_type", [ETHERNET, RAW_IP_OF_OPENBSD, RAW_IP, LINUX_SLL2])
def test_a_filter_becomes_instructions_that_end_by_returning(link_type: int) -> None:
    program = compile_filter("tcp port 443", link_type)
    instructions = list(struct.iter_unpack("=HBBI", program))
    assert len(instructions) > 3
    assert instructions[-1][0] & 0x07 == 0x06, "BPF_RET"


def test_raw_ip_has_no_link_header() -> None:
    first = next(struct.iter_unpack("=HBBI", compile_filter("ip", RAW_IP)))
    assert first[3] == 0, "the IP version is in the first byte"


@pytest.mark.parametrize("expression", ["tcp prt 443", "host", "port 99999999", "tcp\0", "tcp \udcff"])
def test_a_bad_filter_is_one_clear_line(expression: str) -> None:
    with pytest.raises(FilterError, match=r"^filter") as caught:
        checked(expression)
    assert "\n" not in str(caught.value)


def _loopback_capture(order: str, link_type: int, family: int) -> bytes:
    """One SYN over IPv6 behind a BSD loopback header."""
    syn = struct.pack(">HHIIBBHHH", 40_000, 443, 1, 0, 5 << 4, 2, 65_535, 0, 0)
    packet = struct.pack(">IHBB", 6 << 28, len(syn), 6, 64) + bytes([0] * 15 + [1]) * 2 + syn
    frame = struct.pack(f"{'>' if link_type == LOOP else order}I", family) + packet
    header = struct.pack(f"{order}IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, link_type)
    return header + struct.pack(f"{order}IIII", 1_700_000_000, 0, len(frame), len(frame)) + frame


@pytest.mark.parametrize("link_type", [NULL, LOOP])
@pytest.mark.parametrize("family", [24, 28, 30], ids=["netbsd", "freebsd", "macos"])
@pytest.mark.parametrize("order", ["<", ">"])
def test_loopback_frames_of_every_system_are_matched(order: str, family: int, link_type: int) -> None:
    capture = _loopback_capture(order, link_type, family)
    assert len(read(capture, options=Options(filter="tcp port 443"))) == 1
    assert len(read(capture, options=Options(filter="udp or ip"))) == 0


def test_a_filter_that_a_link_type_cannot_have_is_reported() -> None:
    with pytest.raises(FilterError, match="ethernet"):
        compile_filter("ether host 02:00:00:00:00:01", RAW_IP)
    assert checked("ether host 02:00:00:00:00:01") == "ether host 02:00:00:00:00:01"


def test_what_no_packet_of_a_link_type_can_match_leaves_those_out() -> None:
    raw_ipv4 = 228
    assert compile_filter("ip6", raw_ipv4) == struct.pack("=HBBI", 6, 0, 0, 0)
    with pytest.raises(FilterError, match=r"^filter 'ip and ip6': expression rejects all packets$"):
        checked("ip and ip6")


def test_a_missing_libpcap_is_reported_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr("ctypes.CDLL", no_library)
    bpf._libpcap.cache_clear()
    try:
        with pytest.raises(FilterError, match="libpcap, which is not installed"):
            compile_filter("tcp", ETHERNET)
    finally:
        bpf._libpcap.cache_clear()
