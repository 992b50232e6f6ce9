"""`vmtrace cost`: what a workload costs at a storage service, in several ways of running it, side by side.

Exit status: 0 done; 1 an input could not be read or an output not written; 2 wrong usage.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.options import add_quiet
from vmtrace.commands.options import add_figures, add_html, add_json
from vmtrace.commands.outputs import Afterwards, printed, write_all
from vmtrace.errors import Exit, UsageError, describe
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.commands.cost_sources import Source
    from vmtrace.providers.costs.differences import Difference
    from vmtrace.providers.costs.estimate import Estimate

_LINE = (
    "Estimate what a workload costs at a storage service, by month and year: scenarios, break-even points, sensitivity."
)
_EXAMPLES = """examples:
  vmtrace cost dzero --prices palankar2008
  vmtrace cost workload.toml --prices my-prices.toml --region eu-west-1 --json cost.json
  vmtrace cost dzero --prices palankar2008 --html cost.html
  vmtrace cost accesses.parquet --prices my-prices.toml --cache 10TB --cache 50TB --archive-after 30
  vmtrace cost --from RUN --rate 30/month --prices my-prices.toml --invoice may.toml
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace cost`."""
    from vmtrace.providers.rates import known_tables

    parser = argparse.ArgumentParser(
        prog="vmtrace cost", description=_LINE, epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "workload", metavar="WORKLOAD", nargs="?",
        help="a summary (TOML), a trace of accesses (CSV or Parquet), access logs of S3 (a file, or a folder of them),"
        " or a built-in one: dzero, bocchi2014",
    )  # fmt: skip
    add = parser.add_argument
    add("--from", dest="run_folder", metavar="RUN", type=Path, help="a measured run of vmtrace storage run, instead")
    add("--rate", metavar="N/UNIT", help="how often that run would be made: 30/month, 1/day, 2/hour")
    add(
        "--prices", metavar="NAME|FILE", required=True,
        help=f"{', '.join(known_tables())}, or a TOML file (docs/cost.md)",
    )  # fmt: skip
    add("--provider", metavar="NAME", help="provider in the table of prices; default: the workload's, or the only one")
    add("--class", dest="storage_class", metavar="NAME", help="storage class that everything is in; default: none")
    add("--region", metavar="NAME", help="region of the service, for its prices and for the places of a trace")
    _add_scenarios(parser)
    output = parser.add_argument_group("output")
    add = output.add_argument
    add("--invoice", metavar="FILE", type=Path, help="what a month was charged (TOML), to compare and explain")
    add_json(output)
    add_html(output, "one HTML file with zoomable figures and all tables")
    add_figures(output, "figures for print (PNG, SVG) and their data (CSV)")
    add_quiet(output)
    add("--no-color", action="store_true", help="print without colours")
    return parser


def _add_scenarios(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("scenarios, besides everything in the store and those of the workload").add_argument
    add("--archive-after", metavar="DAYS", help="archive what was not read for this many days")
    add("--archive-to", metavar="NAME", help="class or provider to archive to; default: class archive")
    add("--derived", metavar="SHARE", help="share of derived data, not kept and computed again (0 to 1)")
    add(
        "--cache", metavar="SIZE", action="append", default=[],
        help="a local cache: 500GB, 50TB; of a trace LRU and S3-FIFO are simulated; may be repeated",
    )  # fmt: skip
    add("--hit-ratio", metavar="SHARE", help="share of the bytes read that each --cache serves; without a trace")
    add("--cache-price", metavar="AMOUNT", help="what a TB of cache costs a month; default: 0")
    add("--compute-hours", metavar="N", help="hours of computing a month: next to the data, or for derived data")
    add("--cooperative", metavar="SHARE", help="share of the bytes that readers serve each other (0 to 1)")


def run(arguments: argparse.Namespace) -> int:
    """Reckon, print and write; returns the exit status."""
    from vmtrace.commands.cost_outputs import Made, outputs
    from vmtrace.providers.costs.estimate import estimate

    source = _source(arguments)
    making = Bar(wanted=not arguments.quiet).making
    with making("the estimate"):
        reckoned = estimate(source.context, source.ways)
    invoiced = _invoiced(arguments.invoice, reckoned, source)
    failures = []
    # Who asks for JSON has a program read it, not eyes.
    if not arguments.quiet and not _is_piped(arguments):
        from vmtrace.commands import cost_human

        show = partial(cost_human.show, reckoned, invoiced)
        failures += printed(show, no_color=arguments.no_color, piped_width=160, making=making)
    made = Made(reckoned, source.replay, invoiced if arguments.invoice else None)
    failures += write_all(
        outputs(arguments, made), debug=False, making=making, then=Afterwards("vmtrace fields", quiet=arguments.quiet)
    )
    return Exit.FAILED if failures else Exit.DONE


def _is_piped(arguments: argparse.Namespace) -> bool:
    return arguments.json is not None or str(arguments.html) == STANDARD_OUTPUT


def _source(arguments: argparse.Namespace) -> "Source":
    from vmtrace.commands import cost_sources
    from vmtrace.providers import errors

    try:
        return cost_sources.source_of(arguments, partial(Bar, wanted=not arguments.quiet))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace cost --help)") from error


def _invoiced(path: Path | None, reckoned: "Estimate", source: "Source") -> "dict[str, list[Difference]]":
    from vmtrace.analyze.reports.storage.invoice import Form, InvoiceError, read_invoice
    from vmtrace.commands.cost_sources import InvoiceTarget
    from vmtrace.providers.costs.differences import differences
    from vmtrace.providers.costs.quantities import CATEGORIES
    from vmtrace.providers.costs.scenarios import EVERYTHING

    if path is None:
        return {}
    currency = source.context.table.currency
    targets = [InvoiceTarget(one.scenario.name, one.month["total"] or 0.0, currency) for one in reckoned.charged]
    try:
        found = read_invoice(path, targets, Form("scenario", CATEGORIES, EVERYTHING))
    except (OSError, InvoiceError) as error:
        raise UsageError(f"--invoice {describe(error)}") from error
    by_name = {one.scenario.name: one for one in reckoned.charged}
    return {
        name: differences(by_name[name], shown, source.context.table, source.retries) for name, shown in found.items()
    }
