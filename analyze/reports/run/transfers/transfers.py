"""The transfers of a run with what their captures say: measured in parallel, kept in `RUN/analysis/transfers.parquet`.

A campaign has thousands of captures, and a report is asked for more than once: what was measured is kept, and holds as
long as the captures (size and time) and vmtrace's version are the same. The file may be deleted at any time.
"""

import errno
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from os import sched_getaffinity
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.read.records.run import ROLES, SIDES, Pair, Role, Run, Side, Transfer
from vmtrace.analyze.read.records.run_folder import capture_file
from vmtrace.analyze.reports.run.losses.places import loss_gaps
from vmtrace.analyze.reports.run.measure import Captures, Measures, flows_of, measure
from vmtrace.analyze.reports.run.two_sides.two_sides import two_sides
from vmtrace.analyze.reports.run.unwaited import unwaited
from vmtrace.analyze.reports.run.verdict.both_sides import verdict_of_both
from vmtrace.analyze.reports.run.verdict.judged import of_json
from vmtrace.analyze.trace import version

Progress = Callable[[int], object]
"""Called with the bytes of captures that are done."""

_FORMAT = 7
"""Raised when the meaning of a kept number changes within a version of vmtrace."""

_COLUMN_TYPES: dict[object, pa.DataType] = {
    str | None: pa.string(),
    int: pa.int64(),
    int | None: pa.int64(),
    float | None: pa.float64(),
}
_SCHEMA = pa.schema(
    [("key", pa.string()), ("sequence", pa.int64()), ("role", pa.string())]
    + [(name, _COLUMN_TYPES[kind]) for name, kind in get_type_hints(Measures).items()]
)


@dataclass(frozen=True, slots=True)
class MeasuredTransfer:
    """A transfer of a complete pair, and what its captures say."""

    pair: Pair
    transfer: Transfer
    files: dict[Side, Path]
    measures: Measures

    @property
    def capture_trouble(self) -> str | None:
        """Why its packets are not all known; None if all is well, or none were wanted."""
        notes = []
        if self.transfer.dropped:
            notes.append(f"{self.transfer.dropped:,} packets dropped while capturing")
        if self.measures.unseen_acked_bytes:
            notes.append(f"{self.measures.unseen_acked_bytes:,} bytes acknowledged that the capture missed")
        notes += [f"{side}'s capture: {one.error}" for side, one in self.transfer.captures.items() if one.error]
        if self.transfer.captures and self.measures.problem:
            notes.append(self.measures.problem)
        return "; ".join(dict.fromkeys(notes)) or None


class Measuring:
    """The transfers of one run, known or still to be measured."""

    def __init__(self, run: Run, *, compared: bool = True) -> None:
        """With `compared` the captures of both sides are matched with each other, where both are there."""
        self._run = run
        self._compared = compared
        self._wanted = list(_wanted(run))
        self._keys = {place: _key(transfer, files, compared) for place, (_, transfer, files) in self._places()}
        kept = _kept(run.folder)
        self._known = {place: kept[key] for place, key in self._keys.items() if key in kept}
        if not compared:
            # What was compared before holds all that is wanted now, and more.
            for place, (_, transfer, files) in self._places():
                if place not in self._known and (key := _key(transfer, files, compared=True)) in kept:
                    self._keys[place], self._known[place] = key, kept[key]
        self.problems: list[str] = []

    @property
    def unread(self) -> list[str]:
        """The captures that must be read: what the waiting will be for."""
        return [
            str(path) for place, (_, _, files) in self._places() if place not in self._known for path in files.values()
        ]

    @property
    def of_both_sides(self) -> bool:
        """True if a transfer was captured at both sides."""
        return any(len(files) == len(SIDES) for _, (_, _, files) in self._places())

    def run(self, progress: Progress | None = None) -> list[MeasuredTransfer]:
        """Measure what is not known. On Ctrl-C what was measured until then is kept."""
        todo = [(place, transfer, files) for place, (_, transfer, files) in self._places() if place not in self._known]
        try:
            self._measure(todo, progress)
        finally:
            if todo:
                self._keep()
        return [
            MeasuredTransfer(pair, transfer, files, self._known[place])
            for place, (pair, transfer, files) in self._places()
        ]

    def _places(self) -> Iterable[tuple[tuple[int, Role], tuple[Pair, Transfer, dict[Side, Path]]]]:
        return (((pair.sequence, transfer.role), (pair, transfer, files)) for pair, transfer, files in self._wanted)

    def _measure(
        self, todo: Sequence[tuple[tuple[int, Role], Transfer, dict[Side, Path]]], progress: Progress | None
    ) -> None:
        done_bytes = 0
        executor = ThreadPoolExecutor(len(sched_getaffinity(0)))
        try:
            running = {
                executor.submit(self._measured, transfer, files): (place, files) for place, transfer, files in todo
            }
            for future in as_completed(running):
                place, files = running[future]
                self._known[place] = future.result()
                done_bytes += sum(_size(path) for path in files.values())
                if progress is not None:
                    progress(done_bytes)
        finally:
            executor.shutdown(cancel_futures=True)

    def _measured(self, transfer: Transfer, files: dict[Side, Path]) -> Measures:
        matched = self._compared and len(files) == len(SIDES)
        captures = Captures(files, len(transfer.connections) if self._compared else 0)
        found = measure(transfer, files, captures)
        if found.captured_at is not None:
            flows = flows_of(transfer, files, captures)[0]
            found = replace(found, **(unwaited(flows) if self._compared else {}), **loss_gaps(flows))
        if not matched or found.captured_at is None:
            return found
        together = replace(found, **two_sides(transfer, captures))
        return replace(together, **verdict_of_both(transfer, together, captures))

    def _keep(self) -> None:
        rows = [
            {"key": self._keys[place], "sequence": place[0], "role": place[1], **asdict(measures)}
            for place, measures in self._known.items()
        ]
        try:
            _write(self._run.folder, rows)
        except OSError as error:
            # A folder that only lets itself be read still has a report, only slower the next time.
            self.problems.append(f"measurements could not be kept for the next time: {error.strerror}")


def _wanted(run: Run) -> Iterable[tuple[Pair, Transfer, dict[Side, Path]]]:
    for pair in run.complete_pairs:
        for role in ROLES:
            transfer = pair.transfer(role)
            if transfer is not None:
                found = {side: capture_file(run, pair, transfer, side) for side in SIDES}
                yield pair, transfer, {side: path for side, path in found.items() if path is not None}


def _key(transfer: Transfer, files: dict[Side, Path], compared: bool) -> str:
    """What the measures depend on: the captures, the connections looked for, and the program."""
    states = {side: (path.stat().st_size, path.stat().st_mtime_ns) for side, path in files.items()}
    ends = [(one.upload, *one.local, *one.peer) for one in transfer.connections]
    errors = [one.error for one in transfer.captures.values()]
    return json.dumps([version(), _FORMAT, transfer.role, transfer.start_ns, states, ends, errors, compared])


def _place(folder: Path) -> Path:
    return folder / "analysis" / "transfers.parquet"


def _kept(folder: Path) -> dict[str, Measures]:
    """What was kept, by key. A file that is damaged, or of another shape, is as good as none."""
    from pyarrow.parquet import read_table

    names = [field.name for field in fields(Measures)]
    # It is written anew at the end; nothing is lost by not believing it.
    with suppress(OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        table = read_table(_place(folder))
        rows: list[dict[str, Any]] = table.to_pylist() if table.schema.equals(_SCHEMA) else []
        return {row["key"]: _checked(Measures(**{name: row[name] for name in names})) for row in rows}
    return {}


def _checked(kept: Measures) -> Measures:
    """The same; raises what reading raises for JSON in it that is not of the form that `Measures` says."""
    of_json(kept.verdict)
    for time_s, lost_bytes in json.loads(kept.limits or "{}").values():
        _ = time_s + (lost_bytes or 0)
    for _side, _factor, start_ns, end_ns in json.loads(kept.limit_intervals or "[]"):
        _ = end_ns - start_ns
    for kind, sentence in json.loads(kept.outcomes or "[]"):
        _ = f"{kind}" + sentence
    return kept


def _write(folder: Path, rows: list[dict[str, Any]]) -> None:
    from pyarrow.parquet import write_table

    make_folder(_place(folder).parent)
    if not _place(folder).resolve().is_relative_to(folder.resolve()):
        raise PermissionError(errno.EPERM, "analysis/ points outside the run folder", str(_place(folder)))
    with writing(_place(folder)) as out:
        write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), out, compression="zstd")


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0
