"""The display without rich: one line that is rewritten each second on a terminal, a line for each pair in a log."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from typing import Any, Callable, TextIO

from sender.display import Display, Pace, RunEnd, RunView
from sender.live import Moving
from sender.plan import Step, TransferPlan
from sender.quantities import shown_bytes, shown_rate, shown_s

Record = dict[str, Any]
_REWRITTEN_S = 1.0


class PlainDisplay(Display):
    """Progress on one stream (standard error), the summary on the other (standard output)."""

    def __init__(self, live: TextIO, answers: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._live = live
        self._answers = answers
        self._clock = clock
        self._terminal = live.isatty()
        self._run: RunView | None = None
        self._began_s = self._written_s = clock()
        self._finished = 0
        self._part = ""
        self._part_bytes = self._probe_bytes = 0

    def started(self, run: RunView) -> None:
        """Say what is going to happen."""
        self._run, self._finished = run, run.finished
        self._pace = Pace(run.plan, run.finished, run.earlier_s)
        self._began_s = self._clock()
        for line in opening_lines(run):
            self._say(line)

    def transfer_begins(self, step: Step, part: str, plan: TransferPlan) -> None:
        """Remember what moves now."""
        self._part = f"{step.entry.index} pair {step.pair} {part}"
        self._probe_bytes = 0 if part == "probe" else step.entry.probe.moved_bytes
        self._part_bytes = plan.moved_bytes

    def moving(self, moving: Moving) -> None:
        """Rewrite the line, once a second."""
        if self._terminal and self._clock() - self._written_s >= _REWRITTEN_S:
            self._written_s = self._clock()
            elapsed_s = self._clock() - self._began_s
            left_s = self._pace.left_s(self._finished, self._probe_bytes + moving.moved_bytes, elapsed_s)
            self._rewrite(
                ", ".join([self._where(), *moving_words(self._part, self._part_bytes, moving), *_left(left_s)])
            )

    def pair_finished(self, record: Record) -> None:
        """A line in a log; on a terminal the live line is enough, unless something is wrong."""
        self._finished += 1
        if not self._terminal:
            self._say(f"{self._where()}: {pair_words(record)}")
        elif troubled(record):
            self._say(pair_words(record))

    def attempt_failed(self, step: Step, attempt: int, error: str, wait_s: float) -> None:
        """A line."""
        self._say(f"pair {step.sequence}, attempt {attempt}: {error}; trying again in {shown_s(wait_s)}")

    def noticed(self, text: str) -> None:
        """A line."""
        self._say(text)

    def fetching(self, done_files: int, files: int) -> None:
        """Rewrite the line, once a second."""
        if self._terminal and self._clock() - self._written_s >= _REWRITTEN_S:
            self._written_s = self._clock()
            self._rewrite(f"fetching the receiver's half: {done_files} of {files} files")

    def fetched(self, status: str, files: int, fetched_bytes: int, error: str | None) -> None:
        """A line."""
        self._say(fetched_words(status, files, fetched_bytes, error))

    def ended(self, end: RunEnd) -> None:
        """The summary, on standard output."""
        self._wipe()
        self._answers.write(end.summary + "\n")
        self._answers.flush()

    def close(self) -> None:
        """Wipe the live line."""
        self._wipe()

    def _where(self) -> str:
        assert self._run is not None
        planned = self._run.plan.pairs_planned
        return f"{self._finished} pairs" if planned is None else f"{self._finished} of {planned} pairs"

    def _say(self, line: str) -> None:
        self._wipe()
        self._put(line + "\n")

    def _rewrite(self, line: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._put(f"\r{line[:width].ljust(width)}")

    def _wipe(self) -> None:
        if self._terminal:
            self._put("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")

    def _put(self, text: str) -> None:
        # Who closed the terminal or the log does not end the campaign by it.
        with suppress(OSError, ValueError):
            self._live.write(text)
            self._live.flush()


def opening_lines(run: RunView) -> list[str]:
    """What a session begins with."""
    planned = run.plan.pairs_planned
    pairs = f"for {shown_s(run.plan.duration_s or 0)}" if planned is None else f"{planned:,} pairs"
    lines = [f"plan {run.plan.name}: {pairs}, to {run.receiver}, into {run.folder}"]
    if run.finished:
        lines.append(f"going on after pair {run.finished:,}")
    if run.capture is not None:
        lines.append(run.capture)
    return lines


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
            words += [f"{part}: {dropped:,} packets not recorded at the {side}"] if dropped else []
            words += [f"{part}: capture at the {side} failed: {error}"] if error else []
    return words


def fetched_words(status: str, files: int, fetched_bytes: int, error: str | None) -> str:
    """What came of fetching."""
    if status == "complete":
        return f"the receiver's half is here: {files} files, {shown_bytes(fetched_bytes)}"
    return f"the receiver's half is {status}: {error}"


def _left(left_s: float | None) -> list[str]:
    return [] if left_s is None else [f"{shown_s(left_s)} left"]
