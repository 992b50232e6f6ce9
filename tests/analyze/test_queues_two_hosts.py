"""Two runs of one queue are joined by clocks that packets match; without packets they are not, and it says why."""

from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

from tests.analyze.queues_made import BEGIN_NS, Made, at, stage
from vmtrace.analyze.reports.queues.latency import SENT, clock_error_s, latency_rows
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.records import BOTH
from vmtrace.analyze.reports.queues.two_hosts import with_joined

SENDING, RECEIVING = ("192.0.2.1", 40000), ("192.0.2.2", 5050)
WAY_MS, AHEAD_MS, EVERY_MS = 10.0, 3000.0, 500.0
TOOK_MS = 25.0
MESSAGES = 20


def link(folder: Path, ahead_ms: float, at_sender: bool) -> None:
    """An exchange of small packets every half second, as one host's capture has it."""
    packets = []

    def add(ms: float, to_receiver: bool, flags: str, numbers: tuple[int, int], size: int = 0) -> None:
        (one, other) = (SENDING, RECEIVING) if to_receiver else (RECEIVING, SENDING)
        seen_ms = ms + (WAY_MS if to_receiver != at_sender else 0.0) + ahead_ms
        seq, ack = numbers[0] + (1000 if to_receiver else 7000), numbers[1] + (7000 if to_receiver else 1000)
        segment = TCP(sport=one[1], dport=other[1], flags=flags, seq=seq, ack=ack, window=60000)
        frame = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src=one[0], dst=other[0]) / segment
        frame = frame / Raw(b"x" * size)
        frame.time = BEGIN_NS // 10**9 + seen_ms / 1e3
        packets.append(frame)

    add(0.0, True, "S", (0, 0))
    add(WAY_MS, False, "SA", (0, 1))
    add(2 * WAY_MS, True, "A", (1, 1))
    for number in range(40):
        start, byte = 100.0 + EVERY_MS * number, 1 + 32 * number
        add(start, True, "PA", (byte, byte), 32)
        add(start + WAY_MS, False, "PA", (byte, byte + 32), 32)
    (folder / "packets").mkdir()
    wrpcap(str(folder / "packets/001-1.pcap"), sorted(packets, key=lambda packet: packet.time))


def run_of(folder: Path, half: str, *, captured: bool = True) -> Made:
    of_half: dict[str, Any] = {"receivers": 0, "deleters": 0} if half == "send" else {"senders": 0}
    made = Made(folder, stage(messages=MESSAGES, rate_per_s=2.0, **of_half), half=half, name=half)
    if captured:
        link(folder, 0.0 if half == "send" else AHEAD_MS, at_sender=half == "send")
    return made.stage_ended(capture={"file": "packets/001-1.pcap", "start_ns": at(0), "end_ns": at(30_000)})


def both(folder: Path, *, captured: bool = True) -> list[Any]:
    sends, receives = run_of(folder / "from", "send", captured=captured), run_of(folder / "to", "receive")
    for number in range(MESSAGES):
        start = 1000.0 + EVERY_MS * number
        sends.send([number], start, start + 5, due=start)
        receives.receive([(number, start, start)], start + AHEAD_MS + 1, start + AHEAD_MS + TOOK_MS)
    return with_joined([sends.read(), receives.read()])


def test_latency_is_by_the_sending_host_s_clock(tmp_path: Path) -> None:
    *alone, joined = both(tmp_path)
    assert [run.half for run in (*alone, joined)] == ["send", "receive", BOTH]
    messages = Messages(joined)
    (sent,) = [row for row in latency_rows(messages) if row.from_ == SENT]
    assert sent.quantiles.n == MESSAGES
    assert sent.quantiles.p50_s == pytest.approx(TOOK_MS / 1e3, abs=0.0005)
    assert clock_error_s(messages) == pytest.approx(WAY_MS / 1e3, abs=0.001), "half of a round trip, at most"
    assert messages.delivered.all()


def test_the_receiving_run_keeps_its_own_clock(tmp_path: Path) -> None:
    _, receives, _ = both(tmp_path)
    assert receives.logs[0].received["end_ns"][0] == at(1000.0 + AHEAD_MS + TOOK_MS)


def test_without_packets_of_both_they_are_not_joined(tmp_path: Path) -> None:
    runs = both(tmp_path, captured=False)
    assert len(runs) == 2
    assert "clocks are not matched" in runs[0].problems[-1]
