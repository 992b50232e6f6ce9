"""`vmtrace compare-runs`: its options. What it does with them is `vmtrace.commands.run_compare_runs`."""

from pathlib import Path
from typing import Annotated

import typer

from vmtrace.commands.options import Debug, Json, NoColor, Quiet

EXAMPLES = """Examples:

  vmtrace compare-runs before after
      what is different, and how sure that is

  vmtrace compare-runs main branch --fail-if 'data_goodput_bps_ratio<0.95'
      for CI: status 3 if data transfers became slower by more than 5 %

  vmtrace compare-runs before after --fail-if 'changes>0' --json changes.json -q
      status 3 if anything changed
"""
_FAIL_IF_HELP = (
    "Exit with status 3 if this holds for any index, or for all together: METRIC OPERATOR NUMBER, joined by 'and',"
    " 'or', brackets. Metrics: those of the table with _ratio (of medians, after / before), _difference (of means) or"
    " _delta behind, and data_ or probe_ in front (without: either), e.g. 'loss_rate_difference>0.002'; changes, the"
    " number of metrics that changed. Only changes that are established count."
)


def compare_runs(  # noqa: PLR0913, PLR0917 - each option is an argument: that is how typer reads them
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Run folder to compare with.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Run folder that may be different, of the same plan.")],
    json: Json = None,
    fail_if: Annotated[str | None, typer.Option(metavar="EXPR", help=_FAIL_IF_HELP)] = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    debug: Debug = False,
) -> int:
    """Compare two runs of connection pairs: throughput, RTT, loss, spacing, windows; what changed, how sure it is."""
    from vmtrace.commands.run_compare_runs import Request, run

    return run(
        Request(
            before=before,
            after=after,
            json=json,
            fail_if=fail_if,
            quiet=quiet,
            no_color=no_color,
            debug=debug,
        )
    )
