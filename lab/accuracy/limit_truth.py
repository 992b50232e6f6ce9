"""What limited a lab transfer at every moment, by its witnesses: the kernel, the emulator, what was done to it.

Pure. The kernel tells of the sender (TCP_INFO every 10 ms: time limited by the receiver's window and by the send
buffer, time without anything in flight, the state of its congestion control, whether there was anything left to send),
the emulator's log of the path (whether its narrowest place was busy, whether the token bucket was empty, what only a
timer can have sent). Where two names are true at a time, as with a full window on a path that is full, either is right;
the first is the row of the table. The order is that of the rules (`docs/verdict.md`).
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vmtrace.lab.accuracy.gap_truth import Event
from vmtrace.lab.fate_log import FLAG_SYN, PacketFate
from vmtrace.lab.impairments import Impairments, TokenBucket

_NS = 1_000_000_000
# From this share of the narrowest place's time on a path is full; the rules take 15 % below the highest rate for it.
_FULL = 0.9
_SHORTEST_WINDOW_NS = 40_000_000
_SHORTEST_WAIT_NS = 10_000_000
# What a kernel sends on an acknowledgement it sends within this time.
_ANSWER_NS = 3_000_000
_NEXT_TO_NONE_BYTES = 3000
_RECOVERY, _LOSS = 3, 4  # tcpi_ca_state: TCP_CA_Recovery, TCP_CA_Loss
_WAITS = ("timeout_wait", "path_outage")


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Of one connection. `path` is the data's way; `data` and `answers` are the emulator's rows, there and back."""

    samples: Sequence[Mapping[str, int]]
    data: Sequence[PacketFate]
    answers: Sequence[PacketFate]
    path: Impairments
    round_trip_s: float
    stalls: Sequence[Event] = ()
    always_more_to_send: bool = True
    bbr: bool = False

    @property
    def sent(self) -> list[PacketFate]:
        """Of `data`, what the sender sent: without the copies that the path made."""
        return [row for row in self.data if row.fate != "duplicate"]


@dataclass(frozen=True, slots=True)
class Known:
    """From, to (Unix nanoseconds); the factors that are right."""

    start_ns: int
    end_ns: int
    factors: tuple[str, ...]


def known(witnesses: Witnesses) -> list[Known]:
    """Intervals in time order, from the SYN to the last data sent. What no witness saw is left out."""
    sent = [row for row in witnesses.sent if row.payload_bytes]
    if not sent or len(witnesses.samples) < 2:
        return []
    first_ns, last_ns = sent[0].time_in_ns, max(row.time_in_ns for row in sent)
    opening = [row.time_in_ns for row in (*witnesses.data, *witnesses.answers) if row.flags & FLAG_SYN]
    judge = _Judge(witnesses, sent)
    found = [Known(min(opening), first_ns, ("setup",))] if opening and min(opening) < first_ns else []
    for before, after in itertools.pairwise(witnesses.samples):
        start_ns, end_ns = max(before["time_ns"], first_ns), min(after["time_ns"], last_ns)
        if start_ns < end_ns:
            found += judge.between(before, after, start_ns, end_ns)
    return found


def share(known_intervals: Iterable[Known], factors: Sequence[str]) -> float:
    """Share of the time known in which one of some factors is right."""
    lengths = [(interval.end_ns - interval.start_ns, interval.factors) for interval in known_intervals]
    right = sum(length for length, names in lengths if set(names) & set(factors))
    return right / max(sum(length for length, _ in lengths), 1)


class _Judge:
    """What the emulator's log says, made ready to be asked about an interval."""

    def __init__(self, witnesses: Witnesses, sent: Sequence[PacketFate]) -> None:
        self._witnesses = witnesses
        self._waits = list(_timer_waits(witnesses, sent))
        rate_bps, bucket = witnesses.path.rate_bps, witnesses.path.token_bucket
        self._link = _Server(_link_at_work(witnesses.sent, rate_bps)) if rate_bps else None
        self._bucket = _Server(_bucket_at_work(witnesses.sent, bucket)) if bucket else None
        window_ns = max(round(2 * witnesses.round_trip_s * _NS), _SHORTEST_WINDOW_NS)
        self._half_window_ns = window_ns // 2

    def between(
        self, before: Mapping[str, int], after: Mapping[str, int], start_ns: int, end_ns: int
    ) -> Iterator[Known]:
        """The interval, cut where a stall or a wait for a timer begins or ends."""
        cuts: list[tuple[int, int, tuple[str, ...]]] = [
            (event.start_ns, event.end_ns, ("host_stall",)) for event in self._witnesses.stalls
        ]
        cuts += [(wait[0], wait[1], _WAITS) for wait in self._waits]
        rest = [(start_ns, end_ns)]
        for cut_start_ns, cut_end_ns, factors in cuts:
            left = []
            for piece in rest:
                overlap = max(piece[0], cut_start_ns), min(piece[1], cut_end_ns)
                if overlap[0] >= overlap[1]:
                    left.append(piece)
                    continue
                yield Known(*overlap, factors)
                left += [part for part in ((piece[0], overlap[0]), (overlap[1], piece[1])) if part[0] < part[1]]
            rest = left
        for piece in rest:
            yield Known(*piece, self._factors(before, after, *piece))

    def _factors(
        self, before: Mapping[str, int], after: Mapping[str, int], start_ns: int, end_ns: int
    ) -> tuple[str, ...]:
        half_us = (after["time_ns"] - before["time_ns"]) / 2000
        grew = {name: after[name] - before[name] for name in ("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us")}
        if {before["ca_state"], after["ca_state"]} <= {_RECOVERY, _LOSS}:
            return self._with_bucket(("loss_recovery",), start_ns, end_ns)
        full = self._link is not None and self._link.share_busy(*self._window(start_ns, end_ns)) >= _FULL
        path = ("bottleneck_bandwidth",) if full else ()
        if grew["rwnd_limited_us"] >= half_us:
            return ("receiver_window", *path)
        if grew["sndbuf_limited_us"] >= half_us:
            return ("send_buffer", *path)
        if grew["busy_time_us"] < half_us or _nothing_to_send(before, after):
            # A program that never stops writing has nothing unsent only where the send buffer takes no more of it.
            # Linux counts that as sndbuf_limited only if it shows while something is being sent.
            return ("send_buffer", *path) if self._witnesses.always_more_to_send else ("application",)
        threshold = after["snd_ssthresh_segments"]  # 0: none was set yet; BBR sets it when it leaves startup
        growing = not threshold or (not self._witnesses.bbr and after["snd_cwnd_segments"] < threshold)
        plain = [*path, "slow_start"] if growing else [*path]
        if {before["ca_state"], after["ca_state"]} & {_RECOVERY, _LOSS}:
            plain.append("loss_recovery")
        return self._with_bucket(tuple(plain) or ("congestion_window",), start_ns, end_ns)

    def _with_bucket(self, plain: tuple[str, ...], start_ns: int, end_ns: int) -> tuple[str, ...]:
        """Once a bucket has run empty it is behind what the congestion control does, and behind its losses."""
        if self._bucket is None or end_ns <= self._bucket.first_ns:
            return plain
        empty = self._bucket.share_busy(*self._window(start_ns, end_ns)) >= _FULL
        return ("token_bucket",) if empty and "loss_recovery" not in plain else ("token_bucket", *plain)

    def _window(self, start_ns: int, end_ns: int) -> tuple[int, int]:
        middle_ns = (start_ns + end_ns) // 2
        return middle_ns - self._half_window_ns, middle_ns + self._half_window_ns


def _nothing_to_send(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    return all(
        sample["notsent_bytes"] == 0 and sample["unacked_segments"] < sample["snd_cwnd_segments"]
        for sample in (before, after)
    )


class _Server:
    """When a place that takes one packet after another was busy."""

    def __init__(self, busy: Sequence[tuple[int, int]]) -> None:
        self._starts = [start_ns for start_ns, _ in busy]
        self._ends = [end_ns for _, end_ns in busy]
        self._sums = list(itertools.accumulate((end - start for start, end in busy), initial=0))
        self.first_ns = self._starts[0] if busy else 1 << 62

    def share_busy(self, start_ns: int, end_ns: int) -> float:
        """Share of an interval."""
        return (self._busy_until(end_ns) - self._busy_until(start_ns)) / (end_ns - start_ns)

    def _busy_until(self, at_ns: int) -> int:
        done = bisect.bisect_right(self._ends, at_ns)
        running = at_ns - self._starts[done] if done < len(self._starts) and self._starts[done] < at_ns else 0
        return self._sums[done] + running


def _link_at_work(rows: Iterable[PacketFate], rate_bps: float) -> list[tuple[int, int]]:
    """When the narrowest place sends packets, one after another."""
    served: list[tuple[int, int]] = []
    free_ns = 0.0
    for row in rows:
        if row.fate.startswith("lost_"):
            continue
        start_ns = max(free_ns, row.time_in_ns)
        free_ns = start_ns + row.ip_bytes * 8 / rate_bps * _NS
        served.append((round(start_ns), round(free_ns)))
    return served


def _bucket_at_work(rows: Iterable[PacketFate], bucket: TokenBucket) -> list[tuple[int, int]]:
    """When packets pass a bucket that has next to no tokens left: a copy of the emulator's own arithmetic."""
    served: list[tuple[int, int]] = []
    rate = bucket.rate_bps / 8 / _NS
    tokens, tokens_ns = float(bucket.burst_bytes), 0.0
    for row in rows:
        if row.fate in {"lost_blackout", "lost_policer"}:
            continue
        at_ns = max(float(row.time_in_ns), tokens_ns)
        tokens = min(float(bucket.burst_bytes), tokens + (at_ns - tokens_ns) * rate)
        tokens_ns = at_ns if tokens >= row.ip_bytes else at_ns + (row.ip_bytes - tokens) / rate
        tokens = max(0.0, tokens + (tokens_ns - at_ns) * rate - row.ip_bytes)
        if tokens < _NEXT_TO_NONE_BYTES:
            begins_ns = max(tokens_ns - row.ip_bytes / rate, served[-1][1] if served else 0)
            served.append((round(begins_ns), round(tokens_ns)))
    return served


def bucket_seen_behind_it(witnesses: Witnesses) -> TokenBucket | None:
    """The path's bucket with the burst that passed the whole path; none without a bucket.

    What the bottleneck behind it dropped before it ran empty had taken its tokens, and no capture can tell.
    """
    bucket = witnesses.path.token_bucket
    if bucket is None:
        return None
    served = _bucket_at_work(witnesses.sent, bucket)
    empty_ns = served[0][0] if served else math.inf
    dropped = sum(row.ip_bytes for row in witnesses.sent if row.fate == "lost_queue" and row.time_in_ns <= empty_ns)
    return replace(bucket, burst_bytes=bucket.burst_bytes - dropped)


def _timer_waits(witnesses: Witnesses, sent: Sequence[PacketFate]) -> Iterator[tuple[int, int]]:
    """Silences that a timer ended: what was sent then no acknowledgement set off, and no application either."""
    heard_ns = sorted(row.time_out_ns for row in witnesses.answers if not row.lost)
    acknowledged = sorted((row.time_out_ns, row.ack) for row in witnesses.answers if not row.lost)
    longest_ns = max(round(witnesses.round_trip_s * _NS), _SHORTEST_WAIT_NS)
    highest = sent[0].seq
    for before, row in itertools.pairwise(sent):
        highest = max(highest, before.seq + before.payload_bytes, key=lambda end: (end - sent[0].seq) % 2**32)
        repeat = (row.seq - highest) % 2**32 >= 2**31
        if row.time_in_ns - before.time_in_ns < longest_ns or not (repeat or witnesses.always_more_to_send):
            continue
        last = bisect.bisect_right(heard_ns, row.time_in_ns)
        answered = last > 0 and row.time_in_ns - heard_ns[last - 1] <= _ANSWER_NS
        outstanding = last == 0 or acknowledged[last - 1][1] != highest % 2**32
        if not answered and outstanding:
            yield before.time_in_ns, row.time_in_ns
