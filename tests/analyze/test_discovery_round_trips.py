"""Round trips of a discovery run are those of its packets where these are complete, else of the program's clock."""

from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet
from scapy.utils import wrpcap

from tests.analyze.discovery_made import START_NS, MadeRun
from vmtrace.analyze.reports.discovery.round_trips import CLOCK, PACKETS, RoundTrips, round_trips
from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run

V4, V6 = "198.18.16.1", "fd00:18::1"
US = {V4: ("198.18.1.1", IP), V6: ("fd00:1::1", IPv6)}


def pinged(address: str, number: int, at_s: float, rtt_s: float | None) -> list[Packet]:
    """A request, and its reply after so long."""
    here, version = US[address]
    kinds = (ICMPv6EchoRequest, ICMPv6EchoReply) if version is IPv6 else (ICMP, ICMP)
    asked = Ether() / version(src=here, dst=address) / kinds[0](id=7, seq=number)
    replied = Ether() / version(src=address, dst=here) / kinds[1](id=7, seq=number)
    if version is IP:
        replied[ICMP].type = 0
    asked.time = START_NS / 1e9 + at_s
    if rtt_s is None:
        return [asked]
    replied.time = START_NS / 1e9 + at_s + rtt_s
    return [asked, replied]


def rows_of(folder: Path, packets: list[Packet], dropped: int = 0) -> dict[str, RoundTrips]:
    """By address, of a run whose program took 3 ms longer for each than the packets did."""
    run = MadeRun(folder / "run", "lausanne", None, captures=[{"file": "packets.pcap", "dropped": dropped}])
    wrpcap(str(run.folder / "packets.pcap"), packets)
    for address in (V4, V6):
        run.round_trips(address, 0.013, 0.015, None)
    problems: list[str] = []
    found = round_trips(read_discovery_run(run.folder), problems)
    assert problems == []
    return {row.address: row for row in found}


def both(third_s: float | None = None) -> list[Packet]:
    frames = [
        frame for a in (V4, V6) for n, rtt in enumerate([0.010, 0.012, third_s]) for frame in pinged(a, n, n, rtt)
    ]
    return sorted(frames, key=lambda frame: frame.time)


def test_echoes_are_measured_from_the_packets(tmp_path: Path) -> None:
    for row in rows_of(tmp_path, both()).values():
        assert (row.source, row.sent, row.lost) == (PACKETS, 3, 1)
        assert row.min_s == pytest.approx(0.010, abs=1e-5)
        assert row.max_s == pytest.approx(0.012, abs=1e-5)


def test_a_capture_that_lacks_some_leaves_the_clock(tmp_path: Path) -> None:
    lacking = [frame for frame in both() if V4 not in (frame.payload.src, frame.payload.dst) or frame[ICMP].seq != 1]
    rows = rows_of(tmp_path, lacking)
    assert (rows[V4].source, rows[V4].min_s) == (CLOCK, 0.013)
    assert rows[V6].source == PACKETS


def test_a_capture_that_dropped_packets_is_not_believed(tmp_path: Path) -> None:
    assert {row.source for row in rows_of(tmp_path, both(), dropped=1).values()} == {CLOCK}
