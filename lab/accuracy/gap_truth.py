"""Truth for the causes of packet spacing: when host and path stood still, and which answers are right for that.

Pure: instants in, labels out. `gap_runs` makes the transfers, `gap_causes` the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_NS = 1_000_000_000
_EDGE_NS = 5_000_000


class Truth(StrEnum):
    """What stood still."""

    SENDER_HOST = "sender host"
    RECEIVER_HOST = "receiver host"
    PATH = "path"
    LOSSES = "path lost all"
    APPLICATION = "application"
    WINDOW = "window"
    NOTHING = "nothing"


class Place(StrEnum):
    """Where the capture was made, of the data."""

    SENDER = "sender"
    RECEIVER = "receiver"


HOSTS = frozenset({Truth.SENDER_HOST, Truth.RECEIVER_HOST})
"""The events that are stalls."""
_UNDECIDED = frozenset({"host_or_path"})
_TIMERS = frozenset({"timeout", "tail_probe"})
STALLS = frozenset({"local_host_stall", "remote_host_stall"})
"""The causes that say that a host stood still."""

RIGHT: Mapping[tuple[Truth, Place], frozenset[str]] = {
    (Truth.SENDER_HOST, Place.SENDER): frozenset({"local_host_stall"}),
    (Truth.SENDER_HOST, Place.RECEIVER): frozenset({"remote_host_stall"}),
    (Truth.RECEIVER_HOST, Place.SENDER): frozenset({"remote_host_stall"}),
    (Truth.RECEIVER_HOST, Place.RECEIVER): frozenset({"local_host_stall"}),
    (Truth.PATH, Place.SENDER): frozenset({"path_hold"}),
    (Truth.PATH, Place.RECEIVER): frozenset({"path_hold"}),
    (Truth.LOSSES, Place.SENDER): _TIMERS | {"path_hold"},
    (Truth.LOSSES, Place.RECEIVER): _TIMERS | {"path_hold"},
    (Truth.APPLICATION, Place.SENDER): frozenset({"sender_application"}),
    (Truth.APPLICATION, Place.RECEIVER): frozenset({"sender_application"}),
    (Truth.WINDOW, Place.SENDER): frozenset({"receiver_window"}),
    (Truth.WINDOW, Place.RECEIVER): frozenset({"receiver_window"}),
}
"""The causes that name what stood still. Where nothing did, whatever is no stall and no hold is right."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something stood still from `start_ns` to `end_ns` (Unix nanoseconds)."""

    start_ns: int
    end_ns: int
    truth: Truth


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap as an analyzer reports it."""

    start_ns: int
    end_ns: int
    cause: str
    confidence: float | None = None
    frames: tuple[int, ...] = ()

    @property
    def length_ns(self) -> int:
        """From data packet to data packet."""
        return self.end_ns - self.start_ns


def gaps_of(direction: Mapping[str, Any]) -> list[Gap]:
    """The gaps listed for a direction of a connection (`vmtrace.analysis/1`)."""
    return [
        Gap(
            gap["start_ns"],
            gap["start_ns"] + round(gap["gap_s"] * _NS),
            gap["cause"],
            gap["confidence"],
            tuple(gap.get("frames", ())),
        )
        for gap in direction["spacing"]["anomalies"]
    ]


def label(gap: Gap, events: Iterable[Event], otherwise: Truth = Truth.NOTHING) -> Truth:
    """What stood still during most of a gap."""
    for event in events:
        common_ns = min(gap.end_ns, event.end_ns) - max(gap.start_ns, event.start_ns)
        if common_ns * 2 >= gap.end_ns - gap.start_ns:
            return event.truth
    return otherwise


def touched(gap: Gap, events: Iterable[Event]) -> bool:
    """Something stood still during part of the gap, or right beside it: what to call it is a matter of taste."""
    return any(gap.start_ns - _EDGE_NS < event.end_ns and event.start_ns < gap.end_ns + _EDGE_NS for event in events)


@dataclass(slots=True)
class Score:
    """How gaps were named: by truth and cause; and which events were named at all."""

    counts: Counter[tuple[Truth, str]]
    events: Counter[Truth]
    named: Counter[Truth]
    undecided: Counter[Truth]
    false_stalls: list[Gap]

    @classmethod
    def empty(cls) -> Score:
        """Nothing counted."""
        return cls(Counter(), Counter(), Counter(), Counter(), [])

    def add(self, place: Place, gaps: Sequence[Gap], events: Sequence[Event], otherwise: Truth) -> None:
        """Count a direction's gaps, and which of the events show among them under their name."""
        for gap in gaps:
            truth = label(gap, events, otherwise)
            self.counts[truth, gap.cause] += 1
            told_stall = gap.cause in STALLS and gap.cause not in RIGHT.get((truth, place), frozenset())
            if told_stall and not touched(gap, (event for event in events if event.truth in HOSTS)):
                self.false_stalls.append(gap)
        for event in events:
            causes = {gap.cause for gap in gaps if touched(gap, [event]) and label(gap, [event]) is event.truth}
            if not causes:
                continue  # no data was under way: nothing to see
            self.events[event.truth] += 1
            self.named[event.truth] += bool(causes & RIGHT[event.truth, place])
            self.undecided[event.truth] += not causes & RIGHT[event.truth, place] and causes <= _UNDECIDED


def table(score: Score) -> str:
    """The confusion matrix in Markdown, a row for each truth."""
    causes = sorted({cause for _, cause in score.counts})
    lines = ["| truth | " + " | ".join(causes) + " | events named |", "|---|" + "---:|" * (len(causes) + 1)]
    for truth in Truth:
        row = [score.counts[truth, cause] for cause in causes]
        if any(row):
            events = score.events[truth]
            undecided = score.undecided[truth]
            named = f"{score.named[truth]} of {events}, {undecided} left open" if events else ""
            lines.append(f"| {truth} | " + " | ".join(str(count or "") for count in row) + f" | {named} |")
    return "\n".join(lines)
