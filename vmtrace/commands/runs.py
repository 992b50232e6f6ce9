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
    results = []
    with Bar([path for measuring in measurings for path in measuring.unread], wanted=not quiet) as bar:
        for found, measuring in zip(runs, measurings, strict=True):
            transfers = measuring.run(bar.part(measuring.unread))
            results.append(RunResults(found, tuple(transfers), (*found.problems, *measuring.problems)))
    return results
