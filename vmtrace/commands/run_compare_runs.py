"""What `vmtrace compare-runs` does: read, compare, print, write, judge. Owns the order and the exit status."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.outputs import Afterwards, opened, printed, wanted, write_all
from vmtrace.commands.runs import measure_runs, read_runs
from vmtrace.commands.thresholds import parsed_threshold
from vmtrace.errors import CommandError, Exit, UsageError, complain
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.missing import REPORTS, require
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.findings.fail_if import Condition, Expression
    from vmtrace.analyze.reports.run.changes.compare_runs import RunComparison


_FOR_OTHERS = {Kind.CAPTURE: "vmtrace compare", Kind.STORAGE_RUN: "vmtrace storage report"}


class Request(NamedTuple):
    """The command line, checked by the parser. Option names as in `vmtrace compare-runs --help`."""

    before: Path
    after: Path
    html: Path | None = None
    json: str | None = None
    fail_if: str | None = None
    window: Window = ALL_TIME
    quiet: bool = False
    no_color: bool = False
    debug: bool = False


def run(request: Request) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.reports.run.changes.compare_runs import compare_runs

    expression = parsed_threshold(request.fail_if)
    condition = None if expression is None else _bound(expression)
    instead = redirect([request.before, request.after], Kind.RUN, _FOR_OTHERS)
    if instead is not None:
        raise UsageError(instead)
    failures = list[str]()
    runs = read_runs([request.before, request.after], failures, request.window)
    if failures:
        return Exit.FAILED
    require(*REPORTS)
    before, after = measure_runs(runs, quiet=request.quiet, match_sides=False)
    making = Bar(wanted=not request.quiet).making
    with making("the comparison"):
        comparison = compare_runs(before, after)
    if not comparison.changes:
        raise CommandError(_nothing_in_common(comparison))
    # Who asks for JSON has a program read it, not eyes.
    piped = request.json is not None or str(request.html) == STANDARD_OUTPUT
    if not request.quiet and not piped:
        from vmtrace.analyze.reports.run.changes import terminal

        show = partial(terminal.show, comparison)
        failures += printed(show, no_color=request.no_color, piped_width=140, making=making)
    tasks = (
        *wanted(request.json, lambda place: _write_json(comparison, place)),
        *wanted(request.html, lambda place: _write_html(comparison, place)),
    )
    then = Afterwards("vmtrace fields", quiet=request.quiet)
    failures += write_all(tasks, debug=request.debug, making=making, then=then)
    crossed = condition is not None and _judge(comparison, request.fail_if or "", condition)
    if failures:
        return Exit.FAILED
    return Exit.CROSSED if crossed else Exit.DONE


def _nothing_in_common(comparison: "RunComparison") -> str:
    """Why two runs cannot be compared, in one line."""
    notes = "; ".join(comparison.notes) or "no transfer and no ping of both was measured"
    return f"{comparison.before.name} and {comparison.after.name} have nothing that could be compared: {notes}"


def _bound(expression: "Expression") -> "Condition":
    """Before anything is read: a metric that there is not is a mistake whatever the runs are."""
    from vmtrace.analyze.findings.fail_if import ExpressionError, bind
    from vmtrace.analyze.read.records.run import ROLES
    from vmtrace.analyze.reports.run.changes.columns import names

    try:
        return bind(expression, names(), ROLES)
    except ExpressionError as error:
        raise UsageError(f"--fail-if: {error}") from None


def _judge(comparison: "RunComparison", text: str, condition: "Condition") -> bool:
    """Tell of the first index in which the expression holds; true if there is one."""
    from vmtrace.analyze.reports.run.changes.columns import columns, could_be_judged, rows

    crossing = next(iter(condition.crossings(columns(comparison))), None)
    if crossing is None:
        if not could_be_judged(comparison, condition.columns()):
            complain(f"--fail-if {text}: could not be judged, too little was measured in both runs")
        return False
    index = rows(comparison)[crossing.row]
    where = f"index {index}" if index is not None else "all indices"
    role = f", {crossing.direction}" if crossing.direction else ""
    values = ", ".join(f"{metric} = {value:.6g}" for metric, value in crossing.values.items() if value is not None)
    complain(f"--fail-if {text}: {where}{role}: {values}")
    return True


def _write_html(comparison: "RunComparison", path: Path) -> None:
    from vmtrace.analyze.pages.write import write_report_page
    from vmtrace.analyze.reports.run.changes.page import page_of

    write_report_page(page_of(comparison), path)


def _write_json(comparison: "RunComparison", place: str) -> None:
    from vmtrace.analyze.reports.run.changes.document import document
    from vmtrace.analyze.words.document import as_bytes

    content = as_bytes(document(comparison))
    with opened(place) as write:
        write(content)
