"""`vmtrace compare-runs`: read two runs, compare, print, write, judge. Owns the order of these and the exit status."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.options import add_display, add_html, add_json, add_window, new_parser, window_of
from vmtrace.commands.outputs import Afterwards, printed, wanted, write_all, write_record
from vmtrace.errors import CommandError, Exit, UsageError, complain
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.missing import REPORTS, require
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.findings.fail_if import Condition, Expression
    from vmtrace.analyze.reports.run.changes.compare_runs import RunComparison

_FOR_OTHERS = {Kind.CAPTURE: "vmtrace compare", Kind.STORAGE_RUN: "vmtrace storage report"}
_EXAMPLES = """\
  vmtrace compare-runs before after
      what is different, and how sure that is
  vmtrace compare-runs before after --html changes.html
      a page with both runs over time
  vmtrace compare-runs main branch --fail-if 'data_goodput_bps_ratio<0.95'
      for CI: status 3 if data transfers became slower by more than 5 %
  vmtrace compare-runs before after --fail-if 'changes>0' --json changes.json -q
      status 3 if anything changed
"""
_FAIL_IF_HELP = (
    "exit with status 3 if this holds for any index, or for all together: METRIC OPERATOR NUMBER, joined by 'and',"
    " 'or', brackets. Metrics: those of the table with _ratio (of medians, after / before), _difference (of means) or"
    " _delta behind, and data_ or probe_ in front (without: either), e.g. 'loss_rate_difference>0.002'; changes, the"
    " number of metrics that changed. Only changes that are established count"
)


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace compare-runs`."""
    what = "Compare two runs of connection pairs: throughput, RTT, loss, pauses, windows; what changed, how sure it is."
    parser = new_parser("compare-runs", "BEFORE AFTER", what, _EXAMPLES)
    parser.add_argument("before", metavar="BEFORE", type=Path, help="run folder of the baseline")
    parser.add_argument("after", metavar="AFTER", type=Path, help="run folder to compare with it, of the same plan")
    parser.add_argument("--fail-if", metavar="EXPR", help=_FAIL_IF_HELP)
    add_window(parser)
    add_display(parser)
    files = parser.add_argument_group("output files")
    add_html(files, "one HTML page: both runs over time, and what changed")
    add_json(files)
    return parser


def run(request: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    from vmtrace.analyze.reports.run.changes.compare_runs import compare_runs
    from vmtrace.commands.runs import measure_runs, read_runs
    from vmtrace.commands.thresholds import parsed_threshold

    expression = parsed_threshold(request.fail_if)
    condition = None if expression is None else _bound(expression)
    instead = redirect([request.before, request.after], Kind.RUN, _FOR_OTHERS)
    if instead is not None:
        raise UsageError(instead)
    failures = list[str]()
    runs = read_runs([request.before, request.after], failures, window_of(request))
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

    write_record(document(comparison), place)
