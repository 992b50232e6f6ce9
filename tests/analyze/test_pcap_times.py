"""Times of pcap records are those that libpcap hands on, also where a fraction is seconds long or below zero."""

import ctypes
import ctypes.util
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze import _engine

START_S = 1_700_000_000
MAGIC = {"microseconds": 0xA1B2C3D4, "nanoseconds": 0xA1B23C4D}
NANOSECONDS = 1
FRACTION = st.integers(0, 999_999) | st.integers(0, 0xFFFFFFFF) | st.sampled_from([1_000_000, 1_999_999, 2_000_000])


def capture(unit: str, order: str, fractions: Sequence[int]) -> bytes:
    """SYNs of as many connections."""
    file = struct.pack(f"{order}IHHiIII", MAGIC[unit], 2, 4, 0, 0, 65535, 101)
    for number, fraction in enumerate(fractions):
        ends = struct.pack(">4s4sHH", bytes((192, 0, 2, 1)), bytes((192, 0, 2, 2)), 1024 + number, 443)
        packet = struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0) + ends
        packet += struct.pack(">IIBBHHH", 7, 0, 0x50, 2, 1000, 0, 0)
        file += struct.pack(f"{order}IIII", START_S + number, fraction, len(packet), len(packet)) + packet
    return file


class Header(ctypes.Structure):
    """`struct pcap_pkthdr`."""

    _fields_ = (
        ("seconds", ctypes.c_long),
        ("fraction", ctypes.c_long),
        ("captured", ctypes.c_uint32),
        ("original", ctypes.c_uint32),
    )


def times_of_libpcap(path: Path) -> list[int]:
    """In nanoseconds, which libpcap makes of microseconds."""
    found = ctypes.util.find_library("pcap")
    if found is None:
        pytest.skip("libpcap is not installed")
    library = ctypes.CDLL(found)
    library.pcap_open_offline_with_tstamp_precision.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(
        library.pcap_open_offline_with_tstamp_precision(
            str(path).encode(), NANOSECONDS, ctypes.create_string_buffer(256)
        )
    )
    assert handle.value is not None
    header, data, times = ctypes.POINTER(Header)(), ctypes.c_void_p(), []
    while library.pcap_next_ex(handle, ctypes.byref(header), ctypes.byref(data)) == 1:
        times.append(header.contents.seconds * 1_000_000_000 + header.contents.fraction)
    library.pcap_close(handle)
    return times


@given(st.sampled_from(sorted(MAGIC)), st.sampled_from("<>"), st.lists(FRACTION, min_size=1, max_size=12))
def test_times_are_those_of_libpcap(
    tmp_path_factory: pytest.TempPathFactory, unit: str, order: str, fractions: list[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "times.pcap"
    path.write_bytes(capture(unit, order, fractions))
    found = _engine.analyze([[path]]).connections(names=["client", "start_ns"])
    times = dict(zip(found.values("client"), found.values("start_ns"), strict=True))
    ours = [times[f"192.0.2.1:{1024 + number}"] for number in range(len(fractions))]
    expected = times_of_libpcap(path)
    if order != ("<" if sys.byteorder == "little" else ">"):
        # Of a file of the other byte order libpcap has them without a sign: 2^32 units later.
        unit_ns = 1000 if unit == "microseconds" else 1
        expected = [
            time_ns - (fraction >> 31 << 32) * unit_ns for time_ns, fraction in zip(expected, fractions, strict=True)
        ]
    assert ours == expected
