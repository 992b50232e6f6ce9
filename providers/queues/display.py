"""What a queue run shows while it goes on, on standard error: a line now and then, a bar at a terminal, or nothing."""

from __future__ import annotations

import time
from typing import Any

from vmtrace.capture.live_display import Bar, Every, Lines, amount, is_terminal, live_display
from vmtrace.formats.quantities import shown_s
from vmtrace.providers.prices import shown_charge
from vmtrace.providers.queues.plan import Kind, QueuePlan, Stage
from vmtrace.providers.queues.stage_run import Counts

_EVERY_S = 10.0


class QueueDisplay:
    """Says only what is wrong (`--quiet`)."""

    def warned(self, line: str) -> None:
        """Something a person should know now, and not after hours."""
        Lines().say(f"vmtrace: {line}")

    def started(self, plan: QueuePlan, queue: str, endpoint: str) -> None:
        """The queue is reached, and the first stage is about to begin."""

    def stage_begins(self, number: int, of: int, stage: Stage, waiting: int, charge: float | None) -> None:
        """`waiting` messages are in the queue; `charge` is that of the run so far, None where it is unknown."""

    def tick(self, counts: Counts) -> None:
        """A stage goes on."""

    def stage_ends(self, record: dict[str, Any]) -> None:
        """`record` is its line in `stages.jsonl`."""

    def collecting(self, wanted: int, invisible_s: float) -> None:
        """Messages may be left in the queue; finding them takes up to this long."""

    def ended(self) -> None:
        """It is over."""


class PlainDisplay(QueueDisplay):
    """A line for the beginning and the end of a stage, and every ten seconds between."""

    def __init__(self, currency: str) -> None:
        self._currency = currency
        self._stage: Stage | None = None
        self._waiting = 0
        self._began_s = self._shown_s = 0.0

    def started(self, plan: QueuePlan, queue: str, endpoint: str) -> None:
        """What is about to happen."""
        Lines().say(f"{queue} at {endpoint}: plan {plan.name}, {len(plan.rounds())} stages, {plan.messages:,} messages")

    def stage_begins(self, number: int, of: int, stage: Stage, waiting: int, charge: float | None) -> None:
        """Its name, and how long it takes where that is fixed."""
        self._stage, self._waiting = stage, waiting
        self._began_s = self._shown_s = time.monotonic()
        lasts = "" if stage.duration_s is None else f", {shown_s(stage.duration_s)} at {stage.rate_per_s:g}/s"
        spent = "unknown" if charge is None else f"{shown_charge(charge)} {self._currency}"
        Lines().say(f"[{number}/{of}] {stage.name}: {self._of():,} messages{lasts}; charges so far: {spent}")

    def tick(self, counts: Counts) -> None:
        """How far it is."""
        if time.monotonic() - self._shown_s >= _EVERY_S:
            self._shown_s = time.monotonic()
            Lines().say(f"  {counts_text(counts)}; {self._left(counts)}")

    def stage_ends(self, record: dict[str, Any]) -> None:
        """How it ended."""
        lasted = (record["end_ns"] - (record["begin_ns"] or record["start_ns"])) / 1e9
        why = f": {record['error']}" if record["error"] else ""
        counts = Counts(**record["counts"])
        Lines().say(f"  {record['status']} after {shown_s(lasted)}: {counts_text(counts)}{why}")

    def collecting(self, wanted: int, invisible_s: float) -> None:
        """How long that may take."""
        Lines().say(f"collecting what is left of {wanted:,} messages: up to {shown_s(invisible_s)}")

    def _of(self) -> int:
        stage = self._stage
        return 0 if stage is None else self._waiting if stage.kind == Kind.TAKE else stage.messages

    def _done(self, counts: Counts) -> int:
        stage = self._stage
        return counts.attempted if stage is not None and stage.kind == Kind.PUT else counts.received

    def _left(self, counts: Counts) -> str:
        done, of = self._done(counts), self._of()
        if not done or done > of:
            return "time left unknown"
        return f"{shown_s((time.monotonic() - self._began_s) * (of - done) / done)} left"


class BarDisplay(PlainDisplay):
    """A bar in the place of the lines of every ten seconds."""

    def __init__(self, currency: str) -> None:
        super().__init__(currency)
        self._live = live_display()
        self._bar: Bar | None = None
        self._every = Every()

    def stage_begins(self, number: int, of: int, stage: Stage, waiting: int, charge: float | None) -> None:
        """Draw it."""
        super().stage_begins(number, of, stage, waiting, charge)
        self._bar = self._live.bar(stage.name, self._of())

    def tick(self, counts: Counts) -> None:
        """Move it."""
        if self._bar is not None and self._every():
            done = self._done(counts)
            of = amount(done, self._of(), time.monotonic() - self._began_s)
            self._bar.show(done=done, words=f"{of}; {counts_text(counts)}")

    def stage_ends(self, record: dict[str, Any]) -> None:
        """A line in its place."""
        self.ended()
        super().stage_ends(record)

    def ended(self) -> None:
        """Take it away."""
        if self._bar is not None:
            self._bar.remove()
            self._live.close()
            self._bar = None


def choose(*, quiet: bool, currency: str) -> QueueDisplay:
    """What suits the terminal."""
    if quiet:
        return QueueDisplay()
    return BarDisplay(currency) if is_terminal() else PlainDisplay(currency)


def counts_text(counts: Counts) -> str:
    """`12 sent, 11 received, 11 deleted`, with what went wrong."""
    text = f"{counts.sent:,} sent, {counts.received:,} received, {counts.deleted:,} deleted"
    text += f", {counts.foreign:,} foreign" if counts.foreign else ""
    return text + (f", {counts.errors:,} calls failed" if counts.errors else "")
