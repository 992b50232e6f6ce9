"""Captures that mislead analysers, beside tshark and tcptrace: a study of `make accuracy` that needs no root.

Each case is written packet by packet, so that its truth is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import readings
from vmtrace.lab.accuracy.field_talk import ACK, MSS, PSH, RST, SYN, Talk
from vmtrace.lab.accuracy.strangers import read_document
from vmtrace.lab.accuracy.study import Options, Outcome

_LABELS = {
    "retransmission": "retransmitted",
    "fast_retransmission": "retransmitted",
    "spurious_retransmission": "retransmitted",
    "out_of_order": "out of order",
    "keep_alive": "keep-alives",
    "ack_lost_segment": "ACKs of unseen data",
}


@dataclass(frozen=True, slots=True)
class Case:
    """A kind, what is right, the capture, and whether vmtrace's record says that."""

    name: str
    right: str
    make: Callable[[], Talk]
    holds: Callable[[dict[str, Any]], bool]


def _upload(talk: Talk, first: int, count: int, at_ms: float, every: int = 1) -> float:
    """Segments of the client in order, each `every`-th acknowledged a round trip later; when the last one was."""
    for number in range(first, first + count):
        talk.say(at_ms, 0, ACK | PSH, number=number * MSS, data=b"u" * MSS)
        at_ms += 1
        if number % every == every - 1:
            talk.say(at_ms + 18, 1, ack=(number + 1) * MSS)
            at_ms += 19
    return at_ms


def rst_not_taken() -> Talk:
    """A RST far below the window, in the server's name; the upload goes on."""
    talk = Talk().opened()
    at_ms = _upload(talk, 0, 40, 30)
    talk.say(at_ms, 1, RST, off=(-500_000, 0))
    _upload(talk, 40, 60, at_ms + 1)
    return talk


def number_out_of_window() -> Talk:
    """One data segment of the client 100 MB ahead."""
    talk = Talk().opened()
    at_ms = _upload(talk, 0, 40, 30)
    talk.say(at_ms, 0, ACK, number=40 * MSS + 100_000_000, data=b"x" * MSS)
    _upload(talk, 40, 60, at_ms + 1)
    return talk


def two_syn_acks() -> Talk:
    """Of two SYN-ACKs with different numbers the client acknowledges the second."""
    talk = Talk().say(0, 0, SYN).say(20, 1, SYN | ACK, off=(123_456, 0)).say(20.4, 1, SYN | ACK).say(20.5, 0)
    _upload(talk, 0, 60, 30)
    return talk


def partial_dsack() -> Talk:
    """Twice ten short segments of which the second is lost: sent again as one, the D-SACK covers the first alone."""
    talk, at_ms = Talk().opened(), 30.0
    for start in range(0, 10_000, 1000):
        talk.say(at_ms, 0, ACK | PSH, number=start, data=b"a" * 500)
        talk.say(at_ms + 0.1, 0, ACK | PSH, number=start + 500, data=b"b" * 500)
        talk.say(at_ms + 220, 0, ACK | PSH, number=start, data=b"a" * 500 + b"b" * 500)
        talk.say(at_ms + 240, 1, ack=start + 1000, sack=[(start, start + 500)])
        at_ms += 300
    return talk


def equal_acks_of_probes() -> Talk:
    """Segments that arrived are sent again; the ACKs of both are equal bit by bit (IP ID 0)."""
    talk, at_ms = Talk().opened(), 30.0
    for number in range(6):
        talk.say(at_ms, 0, ACK | PSH, number=number * MSS, data=b"u" * MSS)
        for wait_ms in (0, 210):
            if wait_ms:
                talk.say(at_ms + wait_ms, 0, ACK | PSH, number=number * MSS, data=b"u" * MSS)
            talk.say(at_ms + wait_ms + 20, 1, ack=(number + 1) * MSS, ip_id=0)
        at_ms += 400
    return talk


def stored_out_of_order() -> Talk:
    """Two queues: each ACK is stored before the segment that it answers."""
    talk = Talk().opened()
    _upload(talk, 0, 60, 30)
    packets = talk.packets[3:]
    talk.packets[3:] = [packet for pair in zip(packets[1::2], packets[::2], strict=True) for packet in pair]
    return talk


def one_direction_only() -> Talk:
    """What the server sends is not in the capture."""
    talk = Talk().opened()
    _upload(talk, 0, 100, 30)
    talk.packets = [packet for packet in talk.packets if packet[1][26:30] == b"\xc0\x00\x02\x01"]
    return talk


def syn_unanswered() -> Talk:
    """Six SYNs in 31 s."""
    talk = Talk()
    for at_ms in (0, 1000, 3000, 7000, 15_000, 31_000):
        talk.say(at_ms, 0, SYN)
    return talk


def refused() -> Talk:
    """A RST answers the SYN."""
    return Talk().say(0, 0, SYN).say(20, 1, RST | ACK, off=(-1, 0))


def black_hole() -> Talk:
    """Small requests pass, full segments never arrive."""
    talk = Talk().opened().say(30, 0, ACK | PSH, data=b"r" * 100).say(50, 1, ack=100)
    for at_ms in (60, 280, 700, 1500, 3200, 6500):
        talk.say(at_ms, 0, ACK, number=100, data=b"u" * MSS)
    return talk


def slow_server() -> Talk:
    """Four requests, each answered after 900 ms."""
    talk, at_ms = Talk().opened(), 30.0
    for number in range(4):
        talk.say(at_ms, 0, ACK | PSH, number=number * 200, ack=number * 500, data=b"G" * 200)
        talk.say(at_ms + 920, 1, ACK | PSH, number=number * 500, ack=number * 200 + 200, data=b"H" * 500)
        talk.say(at_ms + 921, 0, number=number * 200 + 200, ack=number * 500 + 500)
        at_ms += 1000
    return talk


def _loss(record: dict[str, Any]) -> dict[str, Any]:
    loss: dict[str, Any] = record["client_to_server"]["loss"]
    return loss


def _clean(record: dict[str, Any]) -> bool:
    loss = _loss(record)
    return not loss["retransmitted_segments"] and not loss["reordered_segments"] and record["close"] != "reset"


def _has_outcome(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda record: (record["outcome"] or {}).get("kind") == kind


CASES = (
    Case("a RST that its receiver ignores", "100 segments in order, not reset", rst_not_taken, _clean),
    Case(
        "one segment 100 MB outside the window", "100 segments in order, one unacceptable", number_out_of_window, _clean
    ),
    Case(
        "two SYN-ACKs, the second is acknowledged",
        "60 segments in order, handshake complete",
        two_syn_acks,
        lambda record: _clean(record) and record["handshake"]["complete"],
    ),
    Case(
        "short segments retransmitted as one, D-SACK of a half",
        "10 retransmitted, 10 lost, 0 needless",
        partial_dsack,
        lambda record: (
            (
                _loss(record)["retransmitted_segments"],
                _loss(record)["lost_segments_inferred"],
                _loss(record)["spurious_segments"],
            )
            == (10, 10, 0)
        ),
    ),
    Case(
        "equal ACKs of six needless retransmissions",
        "6 retransmitted, 6 needless, 0 lost",
        equal_acks_of_probes,
        lambda record: (_loss(record)["retransmitted_segments"], _loss(record)["spurious_segments"]) == (6, 6),
    ),
    Case("each ACK stored before its segment", "60 segments in order", stored_out_of_order, _clean),
    Case("one direction only", "said", one_direction_only, _has_outcome("one_direction_only")),
    Case("SYNs without a reply", "said", syn_unanswered, _has_outcome("syn_unanswered")),
    Case("a SYN refused", "said", refused, _has_outcome("syn_refused")),
    Case("full segments never arrive", "path MTU", black_hole, _has_outcome("large_segments_lost")),
    Case(
        "four requests answered after 0.9 s",
        "the server's time dominates",
        slow_server,
        lambda record: (record["request_totals"] or {}).get("largest_part") == "first_byte",
    ),
)


def vmtrace_says(document: dict[str, Any]) -> str:
    """The figures of the first connection, and its outcome."""
    record = document["connections"][0]
    loss = _loss(record)
    parts = [f"{loss['retransmitted_segments']} retransmitted"]
    lost, needless = loss["lost_segments_inferred"], loss["spurious_segments"]
    parts += [f"{lost} lost, {needless} needless"] if loss["retransmitted_segments"] else []
    parts += [f"{loss['unacceptable_packets']} unacceptable"] if loss.get("unacceptable_packets") else []
    if record["outcome"]:
        parts.append(f"`{record['outcome']['kind']}`")
    elif (record.get("request_totals") or {}).get("largest_part") == "first_byte":
        parts.append(f"{record['request_totals']['count']} requests, largest part `first_byte`")
    elif record["close"] == "reset":
        parts.append("reset")
    return _with_connections(parts, len(document["connections"]))


def tshark_says(capture: Path) -> str:
    """Frames by label, as `tcp.analysis` has them."""
    fields = ["tcp.stream", *(f"tcp.analysis.{label}" for label in _LABELS)]
    counts: Counter[str] = Counter()
    streams = set()
    for line in readings.tshark_lines(capture, fields):
        streams.add(line["tcp.stream"])
        counts.update({word for label, word in _LABELS.items() if line[f"tcp.analysis.{label}"]})
    parts = [f"{count} {word}" for word, count in counts.items()] or ["no label"]
    return _with_connections(parts, len(streams))


def tcptrace_says(capture: Path) -> str:
    """Retransmitted and out of order of both ways, and its count of connections."""
    rows = readings.tcptrace_rows(capture)
    total = Counter(
        {
            name: sum(int(row[f"{column}_{way}"]) for row in rows for way in ("a2b", "b2a"))
            for name, column in (("retransmitted", "rexmt_data_pkts"), ("out of order", "outoforder_pkts"))
        }
    )
    parts = [f"{count} {name}" for name, count in total.items() if count] or ["0 retransmitted"]
    return _with_connections(parts, len(rows))


def _with_connections(parts: list[str], connections: int) -> str:
    return ", ".join(parts if connections == 1 else [*parts, f"{connections} connections"])


def table(folder: Path) -> list[str]:
    """All cases, line by line; a cell of vmtrace that is not right is bold."""
    lines = ["", "| capture | right | vmtrace | tshark | tcptrace |", "|---|---|---|---|---|"]
    for number, case in enumerate(CASES):
        capture = folder / f"{number}.pcap"
        case.make().write(capture)
        document = read_document(capture)
        assert document is not None
        said = vmtrace_says(document)
        own = said if case.holds(document["connections"][0]) else f"**{said}**"
        lines.append(f"| {case.name} | {case.right} | {own} | {tshark_says(capture)} | {tcptrace_says(capture)} |")
    return lines


def study(options: Options) -> Outcome:
    """All cases; failed if vmtrace does not say of one what is right."""
    options.out.mkdir(parents=True, exist_ok=True)
    lines = table(options.out)
    return Outcome(f"{len(CASES)} captures", lines, failed=any("**" in line for line in lines))
