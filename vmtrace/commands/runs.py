"""Reading run folders and measuring their captures, with a progress bar: what every command on runs begins with."""

from collections.abc import Sequence
from pathlib import Path

from vmtrace.analyze.read.records.run import Run
from vmtrace.analyze.read.records.run_folder import RunFolderError, named_apart, read_run
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.errors import complain, describe
from vmtrace.formats.quantities import plural
from vmtrace.progress import Bar


def read_runs(folders: Sequence[Path], failures: list[str], window: Window = ALL_TIME) -> list[Run]:
    """The runs that can be reported on; the others are told of, one line each."""
    runs = []
    for folder in folders:
        try:
            found = read_run(folder, window)
            if not found.complete_pairs:
                raise RunFolderError(_empty(found))
            runs.append(found)
        except (RunFolderError, OSError, ValueError) as error:
            failures.append(describe(error))
            complain(failures[-1])
    return named_apart(runs)


def _empty(found: Run) -> str:
    failed = f", {plural(len(found.pairs), 'failed pair')}" if found.pairs else ""
    why = f": {found.record.error}" if found.record.error else ""
    wrong = f"; {found.problems[0]}" if found.problems else ""
    return f"{found.folder}: no finished pair (the run is {found.record.status}{failed}{why}{wrong})"


def measure_runs(runs: Sequence[Run], *, quiet: bool, match_sides: bool) -> list[RunResults]:
    """Each run with what its captures say; with `match_sides` also what those of both sides say together."""
    measurings = [Measuring(run, compared=match_sides) for run in runs]
    unread = [path for measuring in measurings for path in measuring.unread]
    results = []
    with Bar(unread, wanted=not quiet) as bar:
        done_bytes = 0
        for found, measuring in zip(runs, measurings, strict=True):
            counted = _Counted(bar, done_bytes)
            transfers = measuring.run(counted)
            done_bytes += counted.bytes
            results.append(RunResults(found, tuple(transfers), (*found.problems, *measuring.problems)))
    return results


class _Counted:
    """Passes the bytes of one run on to a bar that counts those of all."""

    def __init__(self, bar: Bar, before: int) -> None:
        self._bar = bar
        self._before = before
        self.bytes = 0

    def __call__(self, consumed_bytes: int) -> None:
        self.bytes = consumed_bytes
        self._bar(self._before + consumed_bytes)
