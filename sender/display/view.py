"""What a campaign reports while it runs: the interface of all displays, and what they are given.

`Display` is what the campaign calls; each form of it is a module of this folder, and `choose` takes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan, Step, TransferPlan

Record = dict[str, Any]


@dataclass(frozen=True)
class RunView:
    """What there is to say of a run when a session begins."""

    folder: str
    run_id: str
    plan: Plan
    finished: int
    earlier_s: float
    """What sessions before this one took."""
    receiver: str
    capture: str
    """In words: what is recorded at which side."""


@dataclass(frozen=True)
class RunEnd:
    """How a session ended, and what the run has come to."""

    status: str
    error: str | None
    summary: str
    """In plain words."""
    record: Record
    """The same for a program."""


class Display:
    """Hears of everything; this one says nothing (`--quiet`)."""

    def started(self, run: RunView) -> None:
        """A session begins."""

    def transfer_begins(self, step: Step, part: str, plan: TransferPlan) -> None:
        """A probe or data transfer begins."""

    def moving(self, moving: Moving) -> None:
        """It goes on; called some ten times a second."""

    def pair_finished(self, record: Record) -> None:
        """A pair is over; `record` is its line in `pairs.jsonl`."""

    def attempt_failed(self, step: Step, attempt: int, error: str, wait_s: float) -> None:
        """An attempt failed; the next is made after a while."""

    def noticed(self, text: str) -> None:
        """Something that a person should know, and that does not end the run."""

    def fetching(self, done_files: int, files: int) -> None:
        """The receiver's files come."""

    def fetched(self, status: str, files: int, fetched_bytes: int, error: str | None) -> None:
        """The receiver's half is here, or what of it could be had."""

    def ended(self, end: RunEnd) -> None:
        """The session is over."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Pace:
    """How much is done and how long the rest takes, from how long what is done took in this session."""

    def __init__(self, plan: Plan, finished: int, earlier_s: float = 0.0) -> None:
        self._plan = plan
        self._earlier_s = earlier_s
        self._first_bytes, self._first_gap_s = plan.left(finished)
        # Before a tenth of a pair is done, what came first (baseline, connecting) says nothing of the rest.
        self._telling_bytes = max(1, plan.round_bytes // plan.pairs_per_round // 10)

    def left_s(self, finished: int, moved_bytes: int, elapsed_s: float) -> float | None:
        """Seconds that are left, after `finished` pairs and some bytes of the one in flight; None while nobody knows.

        `elapsed_s` is how long this session has taken.
        """
        if self._plan.duration_s is not None:
            return max(0.0, self._plan.duration_s - self._earlier_s - elapsed_s)
        left_bytes, left_gap_s = self._plan.left(finished)
        done_bytes = self._first_bytes - left_bytes + moved_bytes
        busy_s = elapsed_s - (self._first_gap_s - left_gap_s)
        if done_bytes < self._telling_bytes or busy_s <= 0:
            return None
        return max(0, left_bytes - moved_bytes) * busy_s / done_bytes + left_gap_s

    def share(self, finished: int, elapsed_s: float) -> float:
        """How much of the run is done, 0 to 1."""
        if self._plan.duration_s is not None:
            return min(1.0, (self._earlier_s + elapsed_s) / self._plan.duration_s)
        return finished / (self._plan.pairs_planned or 1)
