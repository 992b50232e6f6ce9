"""What a run tells while it goes on: a bar for a person at a terminal, a line for each transaction, or nothing.

Time and charges left are told as far as they are known: charges by the table of prices, else "unknown".
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vmtrace.capture.live_display import Bar, Every, Lines, is_terminal, live_display
from vmtrace.formats.quantities import shown_decimal_bytes, shown_rate, shown_s
from vmtrace.providers.plan import Plan
from vmtrace.providers.prices import shown_charge

if TYPE_CHECKING:
    from vmtrace.providers.transfer import Job

_LINE_EVERY_S = 30.0


class Display:
    """Hears of everything and says only what is wrong (`--quiet`)."""

    def warned(self, line: str) -> None:
        """What a person should know now, and not after hours."""
        Lines().say(f"vmtrace: {line}")

    def started(self, plan: Plan, folder: Path, endpoint: str, charge: float | None) -> None:
        """The service is reached and the first transaction is about to begin; `charge` is that of the whole plan."""

    def announced(self, line: str) -> None:
        """A campaign of another kind than benchmarks begins, or has come to something."""

    def progressed(self, line: str) -> None:
        """How far such a campaign is; may be called often."""

    def transaction_begins(self, job: Job) -> None:
        """A capture is about to start."""

    def moved(self, size_bytes: int) -> None:
        """So much more was transferred."""

    def waiting(self, what: str, seconds: float) -> None:
        """Nothing is transferred for a while: `wait`, `idle` or `restore`."""

    def transaction_ends(self, record: dict[str, Any], charge_left: float | None) -> None:
        """`record` is its line in `transactions.jsonl`."""

    def removing(self) -> None:
        """What was created is removed now."""

    def ended(self) -> None:
        """It is over."""


class PlainDisplay(Display):
    """A line on standard error for the beginning and for each transaction, or every half minute of a long campaign."""

    def __init__(self, currency: str) -> None:
        self._currency = currency
        self._progress_s = time.monotonic()
        self._left = TimeLeft()
        self._count = 0
        self._of = 0

    def started(self, plan: Plan, folder: Path, endpoint: str, charge: float | None) -> None:
        """What is about to happen."""
        self._left.begin(plan)
        self._of = plan.transactions
        Lines().say(started_text(plan, folder, endpoint, charge, self._currency))

    def announced(self, line: str) -> None:
        """At once."""
        Lines().say(line)

    def progressed(self, line: str) -> None:
        """Now and then."""
        if time.monotonic() - self._progress_s >= _LINE_EVERY_S:
            self._progress_s = time.monotonic()
            Lines().say(line)

    def transaction_ends(self, record: dict[str, Any], charge_left: float | None) -> None:
        """What came of it, and what is left."""
        self._left.finished(record)
        self._count += 1
        left = left_text(self._left.seconds(), charge_left, self._currency)
        Lines().say(f"[{self._count}/{self._of}] {transaction_text(record)}; {left}")


class BarDisplay(Display):
    """A bar on standard error, with lines for what is over above it."""

    def __init__(self, currency: str) -> None:
        self._currency = currency
        self._left = TimeLeft()
        self._live = live_display()
        self._bar: Bar | None = None
        self._every = Every()
        self._moved_bytes = self._of_bytes = 0
        self._left_words = ""

    def started(self, plan: Plan, folder: Path, endpoint: str, charge: float | None) -> None:
        """Draw the bar."""
        self._left.begin(plan)
        self._of_bytes = plan.bytes
        self._left_words = left_text(self._left.seconds(), charge, self._currency)
        self._live.say(started_text(plan, folder, endpoint, charge, self._currency))
        self._bar = self._live.bar("starting", plan.bytes, self._left_words)

    def announced(self, line: str) -> None:
        """Above what moves."""
        if self._bar is None:
            self._bar = self._live.bar("starting")
        self._live.say(line)

    def progressed(self, line: str) -> None:
        """Beside what moves, some ten times a second."""
        if self._every():
            self._show(line)

    def transaction_begins(self, job: Job) -> None:
        """Name it before the bar."""
        self._show(f"{job.workload.name} {job.direction}, repeat {job.repeat}")

    def moved(self, size_bytes: int) -> None:
        """Move the bar, some ten times a second."""
        self._moved_bytes += size_bytes
        if self._every():
            self._show()

    def waiting(self, what: str, seconds: float) -> None:
        """Say so before the bar."""
        self._show(f"{what} {shown_s(seconds)}")

    def transaction_ends(self, record: dict[str, Any], charge_left: float | None) -> None:
        """A line, and what is left behind the bar."""
        self._left.finished(record)
        self._left_words = left_text(self._left.seconds(), charge_left, self._currency)
        self._show()
        self._live.say(transaction_text(record))

    def removing(self) -> None:
        """Say so before the bar."""
        self._show("removing what was created")

    def ended(self) -> None:
        """Take the bar away."""
        self._live.close()
        self._bar = None

    def _show(self, description: str | None = None) -> None:
        if self._bar is not None and self._of_bytes:
            moved = f"{shown_decimal_bytes(self._moved_bytes)} of {shown_decimal_bytes(self._of_bytes)}"
            self._bar.show(description, self._moved_bytes, f"{moved}, {self._left_words}")
        elif self._bar is not None:
            self._bar.show(description)


class TimeLeft:
    """How long a plan still takes: pauses are known; a transaction takes as long as those like it have taken."""

    def __init__(self) -> None:
        self._planned: list[tuple[str, str, int]] = []
        self._pauses_s: list[float] = []
        self._done = 0
        self._took_s: dict[tuple[str, str], list[float]] = {}
        self._bytes = 0
        self._seconds = 0.0

    def begin(self, plan: Plan) -> None:
        """What there is to do."""
        for _ in range(plan.repeat):
            for workload in plan.workloads:
                self._planned += [(workload.name, direction, workload.bytes) for direction in ("upload", "download")]
                self._pauses_s += [plan.wait_s, plan.idle_s]
        self._pauses_s[-1:] = [0.0]

    def finished(self, record: dict[str, Any]) -> None:
        """A transaction is over; its number says how many were before it, even if some were left out."""
        self._done = int(record["transaction"])
        self._took_s.setdefault((record["workload"], record["direction"]), []).append(record["duration_s"])
        self._bytes += record["bytes"]
        self._seconds += record["duration_s"]

    def seconds(self) -> float | None:
        """None before anything was transferred."""
        if not self._bytes:
            return None
        left_s = sum(self._pauses_s[max(0, self._done - 1) :]) if self._done < len(self._planned) else 0.0
        for name, direction, size_bytes in self._planned[self._done :]:
            took_s = self._took_s.get((name, direction))
            left_s += sum(took_s) / len(took_s) if took_s else size_bytes * self._seconds / self._bytes
        return left_s


def choose(*, quiet: bool, currency: str) -> Display:
    """The form that fits standard error."""
    if quiet:
        return Display()
    return BarDisplay(currency) if is_terminal() else PlainDisplay(currency)


def started_text(plan: Plan, folder: Path, endpoint: str, charge: float | None, currency: str) -> str:
    """What is about to happen, in one line."""
    cost = "charges unknown (no --prices)" if charge is None else f"charges at most {shown_charge(charge)} {currency}"
    return (
        f"{plan.name}: {plan.transactions} transactions with {endpoint}, {shown_decimal_bytes(plan.bytes)}, "
        f"pauses of {shown_s(plan.pause_s)}, {cost}; into {folder}"
    )


def transaction_text(record: dict[str, Any]) -> str:
    """What came of one, in one line."""
    parts = [f"{record['workload']} {record['direction']} {record['repeat']}"]
    parts.append(f"{record['objects_done']} of {record['files']} files in {shown_s(record['duration_s'])}")
    if record["moved_bytes"] and record["duration_s"]:
        parts.append(shown_rate(8 * record["moved_bytes"] / record["duration_s"]))
    if record["retries"]:
        parts.append(f"{record['retries']} retries")
    capture = record["capture"]
    if capture is not None and capture["dropped"]:
        parts.append(f"{capture['dropped']} packets NOT CAPTURED")
    if capture is not None and capture["error"]:
        parts.append(f"the capture ended early: {capture['error']}")
    if record["status"] != "complete":
        parts.append(f"{record['status']}: {record['error']}")
    return ", ".join(parts)


def left_text(seconds: float | None, charge: float | None, currency: str) -> str:
    """What is left to wait and to pay, as far as it is known."""
    time_left = "time left unknown" if seconds is None else f"{shown_s(seconds)} left"
    return f"{time_left}, charges {'unknown' if charge is None else f'{shown_charge(charge)} {currency} left'}"
