"""`vmtrace compare-runs`: its options. What it does with them is `vmtrace.commands.run_compare_runs`."""

import argparse
from pathlib import Path

from vmtrace.commands.options import add_display, add_html, add_json, add_window, filled, new_parser, window_of

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


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    from vmtrace.commands.run_compare_runs import Request
    from vmtrace.commands.run_compare_runs import run as run_compare_runs

    return run_compare_runs(filled(Request, arguments, window=window_of(arguments)))
