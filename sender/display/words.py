"""What displays for eyes have in common: the words, and where a run and its transfer in flight are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Callable

from vmtrace.formats.quantities import plural, shown_bytes, shown_rate, shown_s
from vmtrace.sender.display.view import Display, Pace, RunView
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan, Step, TransferPlan

Record = dict[str, Any]
_RATES_BPS = (10e6, 100e6, 1e9)
_SECOND_S = 1.0


class LineDisplay(Display, ABC):
    """Knows how far the run is and says what stays said in lines; how a line is shown is the form's (`_say`)."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._pace: Pace | None = None
        self._began_s = clock()
        self._finished = 0
        self._part = ""
        self._part_bytes = self._probe_bytes = 0
        self._by_second = False
        self._second: tuple[float, int] | None = None
        """When the second under way began, and what had been moved by then."""
        self._seconds = 0

    def started(self, run: RunView) -> None:
        """Say what is going to happen."""
        self._finished = run.finished
        self._pace = Pace(run.plan, run.finished, run.earlier_s)
        self._began_s = self._clock()
        self._by_second = run.plan.fill
        for line in opening_lines(run):
            self._say(line)

    def transfer_begins(self, step: Step, part: str, plan: TransferPlan) -> None:
        """Remember what moves now."""
        self._part = f"{step.entry.index} pair {step.pair} {part}"
        self._probe_bytes = 0 if part == "probe" else step.entry.probe.moved_bytes
        self._part_bytes = plan.moved_bytes
        self._second = None if part == "probe" or not self._by_second else (self._clock(), 0)

    def pair_finished(self, record: Record) -> None:  # noqa: ARG002 - how it went is for the forms to tell
        """Count it."""
        self._finished += 1

    def attempt_failed(self, step: Step, attempt: int, error: str, wait_s: float) -> None:
        """A line."""
        self._say(f"pair {step.sequence}, attempt {attempt}: {error}; trying again in {shown_s(wait_s)}")

    def noticed(self, text: str) -> None:
        """A line."""
        self._say(text)

    def fetched(self, status: str, files: int, fetched_bytes: int, error: str | None) -> None:
        """A line."""
        self._say(fetched_words(status, files, fetched_bytes, error))

    def _say_second(self, moving: Moving) -> None:
        """Of a plan that is one transfer to who gives it: a line for each second of data, as it goes by."""
        if self._second is None:
            return
        now_s, (began_s, began_bytes) = self._clock(), self._second
        if now_s - began_s < _SECOND_S:
            return
        self._seconds += 1
        self._second = now_s, moving.moved_bytes
        rate = shown_rate(8 * (moving.moved_bytes - began_bytes) / (now_s - began_s))
        rtt = [] if moving.rtt_s is None else [f"RTT {shown_s(moving.rtt_s)}"]
        self._say(", ".join([f"second {self._seconds}: {rate}", *rtt]))

    def _left_s(self, moved_bytes: int) -> float | None:
        """Seconds until the run is over, with so much of the transfer in flight done; None while nobody knows."""
        if self._pace is None:
            return None
        return self._pace.left_s(self._finished, self._probe_bytes + moved_bytes, self._clock() - self._began_s)

    @abstractmethod
    def _say(self, line: str) -> None:
        """Show a line that stays."""


def opening_lines(run: RunView) -> list[str]:
    """What a session begins with."""
    planned = run.plan.pairs_planned
    pairs = f"for {shown_s(run.plan.duration_s or 0)}" if planned is None else plural(planned, "pair")
    lines = [f"plan {run.plan.name}: {pairs}, to {run.receiver}, into {run.folder}", expected_words(run.plan)]
    if run.finished:
        lines.append(f"going on after pair {run.finished:,}")
    return [*lines, run.capture]


def expected_words(plan: Plan) -> str:
    """How long a run takes, as far as its plan decides that."""
    if plan.duration_s is not None:
        rest = (
            " of data transfers, and some seconds for a few pairs around them" if plan.fill else ", and the last pair"
        )
        return f"expected duration: {shown_s(plan.duration_s)}{rest}"
    times = [f"{shown_s(plan.shortest_s(rate_bps) or 0)} at {shown_rate(rate_bps)}" for rate_bps in _RATES_BPS]
    return f"expected duration: at least {', '.join(times)}; better known after the first pair"


def moving_words(part: str, part_bytes: int, moving: Moving) -> list[str]:
    """A transfer in flight, in parts of a sentence."""
    share = 100 * moving.moved_bytes / part_bytes if part_bytes else 100
    words = [f"{part} {share:.0f} %"]
    words += [shown_rate(moving.rate_bps)] if moving.rate_bps is not None else []
    words += [f"loss {100 * moving.loss:.2f} %"] if moving.loss is not None else []
    words += [f"RTT {shown_s(moving.rtt_s)}"] if moving.rtt_s is not None else []
    return words


def pair_words(record: Record) -> str:
    """A finished pair in one line."""
    where = f"{record['index']} pair {record['pair']}"
    if record["status"] != "complete":
        return f"{where}: failed after {record['attempts']} attempts: {record['error']}"
    parts = []
    for part in ("probe", "data"):
        rate_bps = record[part]["goodput_bps"]
        parts.append(f"{part} {shown_bytes(record[part]['bytes'])} at {shown_rate(rate_bps) if rate_bps else '-'}")
    return f"{where}: {'; '.join([', '.join(parts), *_capture_words(record)])}"


def troubled(record: Record) -> bool:
    """Whether a pair deserves a line that stays: it failed, or packets of it were not recorded."""
    return record["status"] != "complete" or bool(_capture_words(record))


def _capture_words(record: Record) -> list[str]:
    """What the captures of a pair miss."""
    words = []
    for part in ("probe", "data"):
        capture = record[part].get("capture") or {}
        for side in ("sender", "receiver"):
            dropped, error = capture.get(f"{side}_dropped"), capture.get(f"{side}_error")
            words += [f"{part}: {plural(dropped, 'packet')} not recorded at the {side}"] if dropped else []
            words += [f"{part}: capture at the {side} failed: {error}"] if error else []
    return words


def fetched_words(status: str, files: int, fetched_bytes: int, error: str | None) -> str:
    """What came of fetching."""
    if status == "complete":
        return f"the receiver's files are here: {plural(files, 'file')}, {shown_bytes(fetched_bytes)}"
    return f"the receiver's files are {status}: {error}"
