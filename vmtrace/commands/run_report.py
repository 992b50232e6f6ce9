"""What `vmtrace report` does: read runs, measure their captures, print, write. Owns the order and the exit status."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.run.results import Choice, NoSuchPairError, RunResults
from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.report_outputs import Outputs, ReportKind
from vmtrace.commands.runs import measure_runs, read_runs
from vmtrace.errors import Exit, UsageError
from vmtrace.missing import REPORTS, require

if TYPE_CHECKING:
    from rich.console import Console


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace report --help`."""

    runs: tuple[Path, ...]
    html: Path | None = None
    figures: Path | None = None
    csv: Path | None = None
    json: str | None = None
    pair: int | None = None
    window: Window = ALL_TIME
    match_sides: bool = False
    everything: bool = False
    most_lines: int | None = None
    """Of the answer printed, where others have printed before it; None: what one screen holds."""
    quiet: bool = False
    no_color: bool = False
    debug: bool = False


_KIND = ReportKind("vmtrace.analyze.reports.run", {"charts": "figures", "page": "page.page"}, piped_width=120)


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    instead = redirect(request.runs, Kind.RUN)
    if instead is not None:
        raise UsageError(instead)
    failures = list[str]()
    runs = read_runs(list(dict.fromkeys(request.runs)), failures, request.window)
    if not runs:
        return Exit.FAILED
    require(*REPORTS)
    measured = measure_runs(runs, quiet=request.quiet, match_sides=request.match_sides)
    choices = _choices(measured, request.pair)
    outputs = Outputs(_KIND, measured, request, chosen=(choices,), show=partial(_show, measured, request))
    failures += outputs.make()
    return Exit.FAILED if failures else Exit.DONE


def _choices(runs: Sequence[RunResults], sequence: int | None) -> list[Choice]:
    """The pair of each run that is drawn. A run without the one asked for shows its own choice, if another has it."""
    choices, missing = list[Choice](), list[NoSuchPairError]()
    for one in runs:
        try:
            choices.append(one.choose(sequence))
        except NoSuchPairError as error:
            missing.append(error)
            choices.append(one.choose(None))
    if len(missing) == len(runs):
        raise UsageError(f"--pair {missing[0]}")
    return choices


def _show(runs: Sequence[RunResults], request: Request, console: "Console") -> None:
    """The human answer."""
    if not request.everything:
        from vmtrace.analyze.reports.run import human_short

        human_short.show(runs, console, request.most_lines or human_short.MOST_LINES)
        return
    from vmtrace.analyze.reports.run import human

    for number, one in enumerate(runs):
        if number:
            console.print()
        human.show(one, console)
    human.show_changes(runs, console)
