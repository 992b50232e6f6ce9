"""What a run tells while it goes on: a bar for a person at a terminal, a line for each transaction, or nothing.

Time and charges left are told as far as they are known: charges by the table of prices, else "unknown".
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capture.quantities import shown_decimal_bytes, shown_rate, shown_s
from providers.plan import Plan
from providers.prices import shown_charge

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from providers.transfer import Job

_EVERY_S = 0.1
_LINE_EVERY_S = 30.0


class Display:
    """Hears of everything and says only what is wrong (`--quiet`)."""

    def warned(self, line: str) -> None:
        """What a person should know now, and not after hours."""
        _say(f"vmtrace: {line}")

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
        _say(started_text(plan, folder, endpoint, charge, self._currency))

    def announced(self, line: str) -> None:
        """At once."""
        _say(line)

    def progressed(self, line: str) -> None:
        """Now and then."""
        if time.monotonic() - self._progress_s >= _LINE_EVERY_S:
            self._progress_s = time.monotonic()
            _say(line)

    def transaction_ends(self, record: dict[str, Any], charge_left: float | None) -> None:
        """What came of it, and what is left."""
        self._left.finished(record)
        self._count += 1
        left = left_text(self._left.seconds(), charge_left, self._currency)
        _say(f"[{self._count}/{self._of}] {transaction_text(record)}; {left}")


class BarDisplay(Display):
    """A bar on standard error, by rich, with lines for what is over above it."""

    def __init__(self, currency: str) -> None:
        self._currency = currency
        self._left = TimeLeft()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._pending_bytes = 0
        self._shown_s = 0.0
        self._last_left = "time left unknown"

    def started(self, plan: Plan, folder: Path, endpoint: str, charge: float | None) -> None:
        """Draw the bar."""
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

        self._left.begin(plan)
        self._last_left = left_text(self._left.seconds(), charge, self._currency)
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TextColumn("{task.fields[left]}"))
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("starting", total=plan.bytes, left=self._last_left)
        self._bar.start()
        self._bar.console.print(started_text(plan, folder, endpoint, charge, self._currency), highlight=False)

    def announced(self, line: str) -> None:
        """Above what moves."""
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn

        if self._bar is None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"))
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("starting", left="")
            self._bar.start()
        self._bar.console.print(line, highlight=False)

    def progressed(self, line: str) -> None:
        """Beside the spinner, some ten times a second."""
        if time.monotonic() - self._shown_s >= _EVERY_S:
            self._shown_s = time.monotonic()
            self._update(description=line)

    def transaction_begins(self, job: Job) -> None:
        """Name it before the bar."""
        self._update(description=f"{job.workload.name} {job.direction}, repeat {job.repeat}")

    def moved(self, size_bytes: int) -> None:
        """Move the bar, some ten times a second."""
        self._pending_bytes += size_bytes
        if time.monotonic() - self._shown_s >= _EVERY_S:
            self._advance()

    def waiting(self, what: str, seconds: float) -> None:
        """Say so before the bar."""
        self._advance()
        self._update(description=f"{what} {shown_s(seconds)}")

    def transaction_ends(self, record: dict[str, Any], charge_left: float | None) -> None:
        """A line, and what is left behind the bar."""
        self._left.finished(record)
        self._advance()
        self._last_left = left_text(self._left.seconds(), charge_left, self._currency)
        self._update(left=self._last_left)
        if self._bar is not None:
            self._bar.console.print(transaction_text(record), highlight=False)

    def removing(self) -> None:
        """Say so before the bar."""
        self._update(description="removing what was created")

    def ended(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _advance(self) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, self._pending_bytes)
        self._pending_bytes, self._shown_s = 0, time.monotonic()

    def _update(self, **values: Any) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, **values)


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
    return BarDisplay(currency) if sys.stderr.isatty() else PlainDisplay(currency)


def _say(line: str) -> None:
    with suppress(OSError, ValueError):  # who closed the log does not end the run by it
        print(line, file=sys.stderr, flush=True)


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
