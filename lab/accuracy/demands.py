"""What vmtrace must get right on a lab run, as checks: truth and readings in, one line per miss out.

The tests and `make accuracy` ask the same questions, so that the published table and the tests cannot drift apart.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from vmtrace.lab import fate_log
from vmtrace.lab.accuracy.readings import Reading
from vmtrace.lab.fate_log import FLAG_SYN, PacketFate
from vmtrace.lab.scenario import Run
from vmtrace.lab.transfer import PORT

ROUND_TRIP_SHARE, ROUND_TRIP_S = 0.01, 0.0001
# A handshake is one sample of two hosts that had to be woken first.
HANDSHAKE_S = 0.0005
_OPENING = 2
"""Packets with SYN of a connection that repeats none: SYN and SYN-ACK."""
# TCP_INFO adds up whole ticks of the kernel's clock (4 ms at 250 Hz), one for each time the state changes.
LIMITED_SHARE, LIMITED_S = 0.1, 0.08


@dataclass(frozen=True, slots=True)
class HandshakeTruth:
    """Shortest handshake at one end, between what the emulator knows for certain.

    The emulator reads a host's packet some time after the host's capture point saw it. So a handshake beside the client
    may have begun as long before the SYN was read as that can have waited, and its end is known only to lie between the
    SYN-ACK's leaving the path and the acknowledgement's being read.
    """

    least_s: float
    most_s: float

    def error_s(self, measured_s: float) -> float:
        """How far outside; 0 within."""
        return measured_s - min(max(measured_s, self.least_s), self.most_s)


@dataclass(slots=True)
class Judged:
    """One run: its truth and what vmtrace read at both ends."""

    truth: Mapping[str, Any]
    sender: Reading
    receiver: Reading
    handshakes: Mapping[str, HandshakeTruth]
    hidden_tails: int
    """Repeats that no capture at the receiver can tell from new data (see `hidden_tails`)."""

    @property
    def forward(self) -> Mapping[str, int]:
        """Truth of the data that flows from the host `sender`."""
        forward: Mapping[str, int] = self.truth["forward"]
        return forward

    def seen_at(self, side: str, name: str) -> int:
        """What passed a capture point, over all connections, in the direction of the data."""
        return sum(view[name] for view in self.truth["seen_at"][side] if view["direction"] == "forward")


def hidden_tails(rows: Iterable[PacketFate]) -> int:
    """Repeats of a lost last segment that arrive first, above all that arrived before, and that no number shows.

    To the receiver they look like data that was sent late: no gap in sequence numbers, none in identifications. An
    opening that was repeated has no round trip, which leaves open where the capture was made, and so what numbers tell.
    While a hole is open below, a missing number may be that of its repeat, which got lost, too.
    """
    rows = list(rows)
    opened = Counter(_client(row) for row in rows if row.flags & FLAG_SYN)
    sent_end: dict[tuple[int, int], int] = {}
    repeats: list[PacketFate] = []
    arrived: list[PacketFate] = []
    for row in rows:
        if row.direction != "forward" or not row.payload_bytes or row.fate == "duplicate":
            continue
        connection = (row.source_port, row.destination_port)
        end = row.seq + row.payload_bytes
        if connection in sent_end and _before(row.seq, sent_end[connection]):
            repeats.append(row)
        if connection not in sent_end or _before(sent_end[connection], end):
            sent_end[connection] = end
        if not row.lost:
            arrived.append(row)
    return sum(
        _looks_new(repeat, arrived)
        and (not repeat.ip_id or opened[_client(repeat)] > _OPENING or _leaves_hole_below(repeat, rows))
        for repeat in repeats
        if not repeat.lost
    )


def _client(row: PacketFate) -> int:
    return row.destination_port if row.source_port == PORT else row.source_port


def _looks_new(repeat: PacketFate, arrived: Iterable[PacketFate]) -> bool:
    """Whether nothing at or above its first byte arrived before it."""
    return not any(
        row.time_out_ns < repeat.time_out_ns
        and (row.source_port, row.destination_port) == (repeat.source_port, repeat.destination_port)
        and _before(repeat.seq, row.seq + row.payload_bytes)
        for row in arrived
    )


def _leaves_hole_below(repeat: PacketFate, rows: Iterable[PacketFate]) -> bool:
    """Whether data right below what arrived last is among what had not arrived when the repeat came."""
    ports = (repeat.source_port, repeat.destination_port)
    below = [
        row
        for row in rows
        if (row.source_port, row.destination_port) == ports and row.payload_bytes and _before(row.seq, repeat.seq)
    ]
    arrived = [row for row in below if not row.lost and row.time_out_ns < repeat.time_out_ns]
    highest = max((row.seq for row in arrived), key=lambda seq: (seq - repeat.seq) % 2**32, default=repeat.seq)
    return bool({row.seq for row in below if _before(row.seq, highest)} - {row.seq for row in arrived})


def _before(one: int, other: int) -> bool:
    """Sequence number order, modulo 2**32 (RFC 9293 section 3.4)."""
    return 0 < (other - one) % 2**32 < 2**31


def handshakes(log: Iterable[PacketFate]) -> dict[str, HandshakeTruth]:
    """Shortest handshake round trip as each end's capture point saw it, of openings that repeated nothing.

    Beside the client: its SYN into the path, the answer out of it, and what the client took to acknowledge. Beside the
    server: the SYN out of the path, what the server took, and the SYN-ACK's way until the acknowledgement is there.
    The SYN may have waited for the server's processor, unseen by its capture point, until the SYN-ACK came.
    """
    by_client: dict[int, list[PacketFate]] = {}
    for row in log:
        if row.fate != "duplicate" and row.source_port:
            by_client.setdefault(_client(row), []).append(row)
    shortest: dict[str, HandshakeTruth] = {}
    for rows in by_client.values():
        opening = [row for row in rows if row.flags & FLAG_SYN]
        if len(opening) != 2 or any(row.lost for row in opening):
            continue
        syn, answer = opening
        later = [row for row in rows if row.direction == syn.direction and row is not syn and not row.lost]
        if not later:
            continue
        acknowledgement = min(later, key=lambda row: row.time_out_ns)
        near, far = ("sender", "receiver") if syn.direction == "forward" else ("receiver", "sender")
        sent_ns = min(row.time_in_ns for row in rows if row.direction == syn.direction and row is not syn)
        at_server_ns = acknowledgement.time_out_ns - syn.time_out_ns
        for side, least_ns, most_ns in (
            (
                near,
                answer.time_out_ns - syn.time_in_ns,
                max(sent_ns, answer.time_out_ns) - syn.time_in_ns + syn.waited_ns,
            ),
            (far, acknowledgement.time_out_ns - answer.time_in_ns, at_server_ns),
        ):
            known = shortest.get(side, HandshakeTruth(math.inf, math.inf))
            shortest[side] = HandshakeTruth(min(known.least_s, least_ns / 1e9), min(known.most_s, most_ns / 1e9))
    return shortest


def near(value: float | None, truth: float, share: float, absolute: float) -> bool:
    """Within a share of the truth, or within an absolute distance."""
    return value is not None and abs(value - truth) <= max(share * truth, absolute)


def segments(run: Judged) -> Iterable[str]:
    """Data segments and bytes equal the truth at both ends. Copies made by the path are counted apart."""
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        copies = run.forward["duplicates_made"] if side == "receiver" else 0
        expected = run.seen_at(side, "data_segments") - copies
        if reading.data_segments != expected:
            yield f"{side}: {reading.data_segments} data segments, truth {expected}"
        unique = run.seen_at(side, "unique_payload_bytes")
        if reading.unique_payload_bytes != unique:
            yield f"{side}: {reading.unique_payload_bytes} bytes without retransmissions, truth {unique}"


def retransmissions_at_the_sender(run: Judged) -> Iterable[str]:
    """Exactly the truth."""
    expected = run.seen_at("sender", "retransmitted_segments")
    if run.sender.retransmitted != expected:
        yield f"sender: {run.sender.retransmitted} retransmitted segments, truth {expected}"


def retransmissions_at_the_receiver(run: Judged) -> Iterable[str]:
    """Within 1 % of those that arrived and can be told there."""
    expected = run.seen_at("receiver", "retransmitted_segments")
    shown = run.receiver.retransmitted
    if shown is None or not near(min(max(shown, expected - run.hidden_tails), expected), shown, 0.01, 0):
        yield f"receiver: {shown} retransmitted segments, truth {expected} ({run.hidden_tails} of them look new)"


def no_loss_where_nothing_was_lost(run: Judged) -> Iterable[str]:
    """A transfer that lost nothing reports 0 lost, whatever was reordered or copied."""
    if run.forward["data_segments_lost"] or run.forward["data_segments_corrupted"]:
        return
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        if reading.lost or reading.lost_by_identification:
            yield f"{side}: {reading.lost} lost, {reading.lost_by_identification} by identification; nothing was"


def round_trips(run: Judged) -> Iterable[str]:
    """Mean and minimum at the sender within 1 % or 0.1 ms of the emulator's own samples.

    The way between the sender's capture point and the emulator, and back, is part of what the capture sees: it may be
    in the measurement or not.
    """
    known = run.truth["rtt"]["clean_samples"]["forward"]
    if not known:
        return
    at_sender_s = run.truth["timing"].get("at_sender_s") or 0.0
    for name, value in (("mean", run.sender.rtt_mean_s), ("min", run.sender.rtt_min_s)):
        least_s: float = known[f"{name}_s"]
        truth_s = least_s if value is None else min(max(value, least_s), least_s + max(at_sender_s, 0.0))
        if not near(value, truth_s, ROUND_TRIP_SHARE, ROUND_TRIP_S):
            yield f"sender: RTT {name} {value} s, truth {least_s} s, and {at_sender_s} s in the host"


def handshake_round_trips(run: Judged) -> Iterable[str]:
    """The shortest handshake, from either end, as the emulator saw it."""
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        least = min((rtt for rtt in reading.handshake_rtt_s if rtt is not None), default=None)
        known = run.handshakes.get(side)
        if known is None:
            continue
        if least is None or abs(known.error_s(least)) > max(ROUND_TRIP_SHARE * known.least_s, HANDSHAKE_S):
            yield f"{side}: shortest handshake {least} s, truth {known.least_s} to {known.most_s} s"


def ledger(run: Judged) -> Iterable[str]:
    """Its parts sum to all bytes on the wire."""
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        if reading.ledger_misses_bytes:
            yield f"{side}: the ledger misses {reading.ledger_misses_bytes} bytes"


def kernel_triggers(truth: Mapping[str, Any]) -> dict[str, int]:
    """Retransmitted data segments by cause as the sender's kernel counted them.

    Linux counts under TCPFastRetrans what it sends in recovery, by SACK or by RACK's timer; under TCPSlowStartRetrans
    what follows a timeout; TCPTimeouts are expiries, so those of SYN and FIN are taken off. The rest of RetransSegs are
    tail loss probes that repeated a segment (TCPLossProbes counts those that sent new data too).
    """
    counters, forward = truth["counters"]["sender"], truth["forward"]
    openings = forward["syn_repeats_sent"] + forward["fin_repeats_sent"]
    fast = counters.get("TCPFastRetrans", 0)
    timeout = max(counters.get("TCPTimeouts", 0) - openings, 0) + counters.get("TCPSlowStartRetrans", 0)
    repeats = counters.get("RetransSegs", 0) - openings
    return {"fast": fast, "timeout": timeout, "probe": max(repeats - fast - timeout, 0)}


def own_triggers(told: Mapping[str, int]) -> dict[str, int]:
    """vmtrace's causes in the kernel's terms."""
    return {"fast": told["fast"] + told["rack"], "timeout": told["rto"], "probe": told["tlp"]}


def tshark_triggers(told: Mapping[str, int]) -> dict[str, int]:
    """tshark's causes in the kernel's terms: it has a name for fast retransmission, and none for the others apart."""
    return {"fast": told["fast"], "timeout": told["other"], "probe": 0}


def confused(truth: Mapping[str, int], told: Mapping[str, int]) -> Counter[tuple[str, str]]:
    """What was taken for what, as far as sums tell: what both have agrees, what one has too many the other lacks.

    It is the most favourable reading, the same for every tool. `none` is what was not told, or was none.
    """
    found: Counter[tuple[str, str]] = Counter()
    left = {name: truth[name] - min(truth[name], told[name]) for name in truth}
    over = {name: told[name] - min(truth[name], told[name]) for name in truth}
    found.update({(name, name): min(truth[name], told[name]) for name in truth})
    for name in truth:
        for other in truth:
            moved = min(left[name], over[other])
            found[name, other] += moved
            left[name] -= moved
            over[other] -= moved
    found.update({(name, "none"): count for name, count in left.items()})
    found.update({("none", name): count for name, count in over.items()})
    return found


def triggers(run: Judged) -> Iterable[str]:
    """Causes agree with the kernel's counters for 95 % of the segments, or all but two."""
    kernel, own = kernel_triggers(run.truth), own_triggers(run.sender.triggers)
    wrong = sum(abs(kernel[name] - own[name]) for name in kernel) / 2
    if wrong > max(0.05 * sum(kernel.values()), 2):
        yield f"sender: causes {own}, kernel {kernel}"


def kernel_limited_s(truth: Mapping[str, Any]) -> float:
    """Time the sender's kernel says it was limited by the receiver's window."""
    return sum(float(row["rwnd_limited_us"]) for row in truth["tcp_info_last"]["sender"].values()) / 1e6


def limited_by_window(run: Judged) -> Iterable[str]:
    """At the sender, time limited by the receiver's window as TCP_INFO has it."""
    expected = kernel_limited_s(run.truth)
    if not near(run.sender.limited_s, expected, LIMITED_SHARE, LIMITED_S):
        yield f"sender: limited by the window {run.sender.limited_s} s, kernel {expected} s"


def tls_bytes(run: Judged) -> Iterable[str]:
    """Application bytes inside TLS are the bytes the programs wrote."""
    scenario = run.truth["scenario"]
    if not scenario["transfer"]["tls"] or scenario["snaplen_bytes"] < scenario["mtu"]:
        return
    written = sum(end["sent_bytes"] for host in run.truth["ends"].values() for end in host["connections"])
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        if reading.tls_application_bytes != written:
            yield f"{side}: {reading.tls_application_bytes} application bytes in TLS, written {written}"


def whole_captures(run: Judged) -> Iterable[str]:
    """The captures lost nothing and their clock did not step, and vmtrace says so."""
    for side, reading in (("sender", run.sender), ("receiver", run.receiver)):
        found = {
            "unseen bytes": reading.unseen_acknowledged_bytes,
            "copies": 0 if run.forward["duplicates_made_all"] else reading.capture_duplicates,
            "clock steps": reading.clock_steps,
        }
        yield from (f"{side}: the capture is blamed for {count} {name}" for name, count in found.items() if count)


DEMANDS: dict[str, Callable[[Judged], Iterable[str]]] = {
    "data segments and bytes equal the truth": segments,
    "retransmitted segments exact at the sender": retransmissions_at_the_sender,
    "retransmitted segments within 1 % at the receiver": retransmissions_at_the_receiver,
    "nothing lost, nothing reported lost": no_loss_where_nothing_was_lost,
    "RTT mean and minimum within 1 % or 0.1 ms": round_trips,
    "handshake RTT from either end within 1 % or 0.5 ms": handshake_round_trips,
    "ledger sums to the bytes on the wire": ledger,
    "causes as the kernel's counters have them": triggers,
    "time limited by the window as TCP_INFO has it": limited_by_window,
    "TLS application bytes equal the bytes written": tls_bytes,
    "whole captures are not blamed": whole_captures,
}

OF_COUNTS = frozenset(
    name
    for name, demand in DEMANDS.items()
    if demand not in (round_trips, handshake_round_trips, triggers, limited_by_window)
)
"""These are about what happened, not when: they hold for a run whose emulator was late."""


def judge(done: Run, sender: Reading, receiver: Reading) -> Judged:
    """A run with what vmtrace read at its two ends."""
    log = list(fate_log.read_csv(done.folder / "fates.csv.gz"))
    return Judged(done.truth, sender, receiver, handshakes(log), hidden_tails(log))


def misses(run: Judged) -> dict[str, str]:
    """Demands that are not met, each with what is wrong."""
    found = {name: "; ".join(demand(run)) for name, demand in DEMANDS.items()}
    return {name: wrong for name, wrong in found.items() if wrong}
