"""Recall and precision for stalls of a host that lasted longer than a probe timeout.

Pure: stalls, TCP_INFO and gaps in, counts and lists out. A stall counts if it began while data was being carried,
data was sent after it, and it lasted longer than the probe timeout of the data's sender (RFC 8985 section 7.2), by
the sender's own TCP_INFO right before it. Linux arms its probe two ticks later and rounds to a tick, and in loss
recovery or with segments reported out of order there is no probe but the retransmission timeout: stalls that outlast
that timer are counted apart. In a shorter one no timer was missed: a path that held the acknowledgements for as long
would have left the same packets, so that no capture of one side can tell. That follows from the truth alone, whatever
is told. Whatever is told as a stall counts for precision, however short.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vmtrace.lab.accuracy.gap_truth import HOSTS, RIGHT, STALLS, Event, Gap, Place

_MS = 1_000_000
_EDGE_NS = 5 * _MS
LONGEST_ACKNOWLEDGEMENT_DELAY_NS = 200 * _MS
"""Added to the probe timeout when one segment is outstanding (Linux: `TCP_RTO_MIN`, RFC 8985's `MaxAckDelay`)."""
_PROBED_STATES = (0, 2)
"""`TCP_CA_Open` and `TCP_CA_CWR`: in no other does Linux schedule a probe (`tcp_schedule_loss_probe`)."""


@dataclass(frozen=True, slots=True)
class SenderState:
    """What the kernel of the data's sender knew at an instant."""

    time_ns: int
    srtt_ns: int
    outstanding_segments: int
    tick_ns: int
    retransmission_timeout_ns: int | None = None
    """Where no probe is scheduled: the timer that is due instead."""
    sent_bytes: int | None = None
    """Sent so far, repeats among them."""

    @property
    def probe_timeout_ns(self) -> int:
        """RFC 8985 section 7.2."""
        delayed = LONGEST_ACKNOWLEDGEMENT_DELAY_NS if self.outstanding_segments <= 1 else 0
        return 2 * self.srtt_ns + delayed

    @property
    def probe_timer_ns(self) -> int:
        """When Linux' own timer has fired for certain: `TCP_TIMEOUT_MIN` is two ticks, and one is for rounding."""
        return max(self.probe_timeout_ns, self.retransmission_timeout_ns or 0) + 3 * self.tick_ns


def states(rows: Sequence[Mapping[str, int]]) -> list[SenderState]:
    """A table of TCP_INFO of the connection, in order of time."""
    # A retransmission timeout is a whole number of ticks.
    tick_ns = math.gcd(*(row["rto_us"] for row in rows)) * 1000
    return [
        SenderState(
            row["time_ns"],
            row["rtt_us"] * 1000,
            row["unacked_segments"],
            tick_ns,
            None if row["ca_state"] in _PROBED_STATES else row["rto_us"] * 1000,
            row.get("bytes_sent"),
        )
        for row in rows
    ]


def state_before(known: Sequence[SenderState], time_ns: int) -> SenderState | None:
    """The last one up to an instant; none before the first."""
    number = bisect.bisect_right(known, time_ns, key=lambda state: state.time_ns)
    return known[number - 1] if number else None


@dataclass(frozen=True, slots=True)
class Missed:
    """A stall that was not told: how the gaps in its time were named instead."""

    name: str
    stall: Event
    probe_timeout_ns: int
    named: tuple[Gap, ...]

    def __str__(self) -> str:
        said = ", ".join(f"{gap.cause} {gap.length_ns / _MS:.0f} ms at frames {gap.frames}" for gap in self.named)
        length_ns = self.stall.end_ns - self.stall.start_ns
        return (
            f"missed: {self.name}, {self.stall.truth} stalled for {length_ns / _MS:.0f} ms from"
            f" {self.stall.start_ns}, probe timeout {self.probe_timeout_ns / _MS:.0f} ms: {said or 'no gap'}"
        )


@dataclass(frozen=True, slots=True)
class FalseAlarm:
    """A stall that was told and was none."""

    name: str
    gap: Gap

    def __str__(self) -> str:
        return (
            f"false: {self.name}, {self.gap.cause} {self.gap.length_ns / _MS:.0f} ms from {self.gap.start_ns}"
            f" at frames {self.gap.frames}, confidence {self.gap.confidence}"
        )


@dataclass(slots=True)
class StallTally:
    """Counts at one place of capture."""

    real: int = 0
    found: int = 0
    past_timer: int = 0
    """Those of `real` that the sender's own timer did not outlast."""
    past_timer_found: int = 0
    shorter: int = 0
    """Stalls that did not outlast the probe timeout: neither asked for nor wrong to tell."""
    told: int = 0
    right: int = 0
    missed: list[Missed] = field(default_factory=list)
    false_alarms: list[FalseAlarm] = field(default_factory=list)

    @property
    def recall(self) -> float | None:
        """Share of the stalls that were told; none without any."""
        return self.found / self.real if self.real else None

    @property
    def past_timer_recall(self) -> float | None:
        """The same of those that outlasted the kernel's timer."""
        return self.past_timer_found / self.past_timer if self.past_timer else None

    @property
    def precision(self) -> float | None:
        """Share of what was told that is real; none if nothing was told."""
        return self.right / self.told if self.told else None

    def add(
        self, name: str, place: Place, gaps: Sequence[Gap], events: Sequence[Event], known: Sequence[SenderState]
    ) -> None:
        """Count a direction's gaps (all of them, in order of time) against what stood still."""
        stalls = [event for event in events if event.truth in HOSTS]
        shown = [gap for gap in gaps if gap.cause in STALLS]
        for gap in shown:
            self.told += 1
            if any(_tells(gap, stall, place, known) for stall in stalls):
                self.right += 1
            else:
                self.false_alarms.append(FalseAlarm(name, gap))
        for stall in stalls:
            self._count(name, place, gaps, stall, known)

    def _count(self, name: str, place: Place, gaps: Sequence[Gap], stall: Event, known: Sequence[SenderState]) -> None:
        state = state_before(known, stall.start_ns)
        if state is None or stall.start_ns > known[-1].time_ns:
            return  # nothing was being carried
        if state.sent_bytes is not None and state.sent_bytes == known[-1].sent_bytes:
            return  # the transfer was over before the sender could send again: no data waited
        if stall.end_ns - stall.start_ns <= state.probe_timeout_ns:
            self.shorter += 1
            return
        self.real += 1
        past_timer = stall.end_ns - stall.start_ns > state.probe_timer_ns
        self.past_timer += past_timer
        meanwhile = tuple(gap for gap in gaps if _shows_in(gap, stall, state.srtt_ns))
        if any(gap.cause in RIGHT[stall.truth, place] for gap in meanwhile):
            self.found += 1
            self.past_timer_found += past_timer
        else:
            self.missed.append(Missed(name, stall, state.probe_timeout_ns, meanwhile))


def _shows_in(gap: Gap, stall: Event, round_trip_ns: int) -> bool:
    """The gap lies, for the most part of the shorter of both, where the stall shows: up to a round trip later."""
    common_ns = min(gap.end_ns, stall.end_ns + round_trip_ns + _EDGE_NS) - max(gap.start_ns, stall.start_ns - _EDGE_NS)
    return common_ns * 2 >= min(gap.length_ns, stall.end_ns - stall.start_ns)


def _tells(gap: Gap, stall: Event, place: Place, known: Sequence[SenderState]) -> bool:
    state = state_before(known, stall.start_ns)
    round_trip_ns = state.srtt_ns if state else 0
    return gap.cause in RIGHT[stall.truth, place] and _shows_in(gap, stall, round_trip_ns)


def table(tallies: Mapping[str, StallTally]) -> str:
    """In Markdown, a row for each of them."""
    columns = (
        "> probe",
        "reported",
        "recall",
        "> timer",
        "reported",
        "recall",
        "all reported",
        "real",
        "precision",
        "shorter",
    )
    lines = [f"| whose stall, where captured | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name, tally in tallies.items():
        cells = (
            tally.real, tally.found, _share(tally.recall),
            tally.past_timer, tally.past_timer_found, _share(tally.past_timer_recall),
            tally.told, tally.right, _share(tally.precision), tally.shorter,
        )  # fmt: skip
        lines.append(f"| {name} | {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.3f}"
