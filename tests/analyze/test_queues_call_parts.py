"""Path, service and client of a queue's calls, from packets whose times are known."""

from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import wrpcap

from tests.analyze.queues_made import BEGIN_NS, Made, at, stage
from vmtrace.analyze.reports.queues.call_parts import Exchanged
from vmtrace.analyze.reports.queues.wire import measure

CLIENT, SERVICE = ("10.0.0.1", 40000), ("192.0.2.1", 80)
RTT_MS, SERVICE_MS, BEFORE_MS, AFTER_MS = 10.0, 30.0, 4.0, 1.0
CALLS = 8
OPENED = [f"{CLIENT[0]}:{CLIENT[1]}", f"{SERVICE[0]}:{SERVICE[1]}"]


class Wire:
    """A connection as the client's host sees it."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self._sent, self._received = 0, 0

    def out(self, ms: float, flags: str, size: int = 0) -> None:
        self._add(ms, CLIENT, SERVICE, flags, (self._sent, self._received), size)
        self._sent += size + ("S" in flags)

    def back(self, ms: float, flags: str, size: int = 0) -> None:
        self._add(ms, SERVICE, CLIENT, flags, (self._received, self._sent), size)
        self._received += size + ("S" in flags)

    def _add(self, ms: float, one: Any, other: Any, flags: str, numbers: tuple[int, int], size: int) -> None:
        ack = 0 if flags == "S" else numbers[1]
        segment = TCP(sport=one[1], dport=other[1], flags=flags, seq=numbers[0], ack=ack, window=60000)
        packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=one[0], dst=other[0]) / segment
        framed = packet / Raw(b"x" * size)
        framed.time = BEGIN_NS // 10**9 + ms / 1e3
        self.packets.append(framed)


def made(folder: Path, opens_ms: float = 50.0, **ended: Any) -> Made:
    """Calls of 45 ms: 4 of the SDK, a round trip of 10 with 30 of the service in it, 1 of the SDK."""
    run, wire = Made(folder, stage(messages=CALLS)), Wire()
    wire.out(opens_ms, "S")
    wire.back(opens_ms + RTT_MS, "SA")
    wire.out(opens_ms + RTT_MS, "A")
    for number in range(CALLS):
        start = 100.0 * (number + 1)
        asked = start + BEFORE_MS + (RTT_MS if number == 0 and opens_ms > start else 0)
        wire.out(asked, "PA", 200)
        wire.back(asked + RTT_MS, "A")
        wire.back(asked + RTT_MS + SERVICE_MS, "PA", 300)
        wire.out(asked + RTT_MS + SERVICE_MS, "A")
        ends = asked + RTT_MS + SERVICE_MS + AFTER_MS
        run.send([number], start, ends, opened=[OPENED] if number == 0 else [])
    (folder / "packets").mkdir()
    wrpcap(str(folder / "packets/001-1.pcap"), wire.packets)
    capture = {"file": "packets/001-1.pcap", "start_ns": at(0), "end_ns": at(1000), "dropped": 0,
               "written": len(wire.packets)}  # fmt: skip
    return run.stage_ended(capture=capture | ended)


def test_each_part_of_a_call_is_what_it_was(tmp_path: Path) -> None:
    (row,) = measure(made(tmp_path / "run").read()).call_parts
    assert (row.role, row.calls, row.exchanges) == ("sender", CALLS, CALLS)
    assert row.call_s == pytest.approx((BEFORE_MS + RTT_MS + SERVICE_MS + AFTER_MS) / 1e3)
    assert row.path_s == pytest.approx(RTT_MS / 1e3), "the handshake was before all calls"
    assert row.service_s == pytest.approx(SERVICE_MS / 1e3)
    assert row.path_s + row.service_s + row.client_s == pytest.approx(row.call_s)
    assert row.service_does == "takes the message"


def test_a_handshake_within_a_call_is_the_path_s(tmp_path: Path) -> None:
    (row,) = measure(made(tmp_path / "run", opens_ms=100.0 + BEFORE_MS - 1).read()).call_parts
    assert row.path_s == pytest.approx((RTT_MS + RTT_MS / CALLS) / 1e3)
    assert row.service_s == pytest.approx(SERVICE_MS / 1e3)


@pytest.mark.parametrize("ended", [{"dropped": 1}, {"end_ns": at(500)}, {"start_ns": at(150)}, {"start_ns": None}])
def test_without_all_packets_of_all_calls_there_is_no_row(tmp_path: Path, ended: dict[str, Any]) -> None:
    assert measure(made(tmp_path / "run", **ended).read()).call_parts == ()


def test_a_connection_without_a_round_trip_is_not_known() -> None:
    found = Exchanged()
    found.add((5, 3, 0.0, 0.1, 0.0, 0.0, None, None, None))
    found.add((5, *(None,) * 8))
    assert (found.exchanges, found.unknown) == (0, 2)


def test_what_was_spent_on_retransmissions_is_the_path_s() -> None:
    found = Exchanged()
    found.add((5, 1, 0.001, 0.25, 0.002, 0.2, 0.01, 0.02, 0.01))
    assert found.path_s == pytest.approx(0.001 + 0.002 + 0.2 + 0.01)
    assert found.opened[0][0] == 5
    assert found.opened[0][1] == pytest.approx(0.03)
    assert found.service_s == pytest.approx(0.04)
