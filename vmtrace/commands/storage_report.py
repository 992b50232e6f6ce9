"""`vmtrace storage report`: what runs of `vmtrace storage run` show, alone or side by side.

Exit status: 0 done; 1 a run could not be read or an output not written; 2 wrong usage.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.kinds import Kind, redirect
from vmtrace.commands.options import add_window, window_of
from vmtrace.commands.report_outputs import PAGE_BY_DEFAULT, Outputs, ReportKind, add_outputs, readable
from vmtrace.errors import Exit, UsageError, complain, describe
from vmtrace.formats.quantities import size_bytes
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.read.records.window import Window
    from vmtrace.analyze.reports.storage.charges import Amounts
    from vmtrace.analyze.reports.storage.front_ends import FrontEndPlace
    from vmtrace.analyze.reports.storage.records import StorageRun
    from vmtrace.analyze.reports.storage.tables import Report

NAME = "report"
LINE = "Report on storage runs: throughput, connections, overhead, times, round trips, errors; several side by side."
EXAMPLES = """  vmtrace storage report RUN
  vmtrace storage report s3 azure swift --html providers.html
  vmtrace storage report RUN --csv tables --figures figures --json -
  vmtrace storage report RUN --from 2026-11-20T18:00 --until 2026-11-21
  vmtrace storage report RUN --invoice invoice.toml
  vmtrace storage report RUN --discovery lausanne --discovery new-york
"""

_KIND = ReportKind("vmtrace.analyze.reports.storage")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("runs", metavar="RUN", type=Path, nargs="+", help="folders written by vmtrace storage run")
    add(
        "--discovery", metavar="RUN", type=Path, action="append", default=[],
        help="run of vmtrace discover, to say where front ends are; one for each vantage point",
    )  # fmt: skip
    add("--invoice", metavar="FILE", type=Path, help="what the services charged (TOML), to compare the charges with")
    add(
        "--at-least", metavar="RATE", type=_rate_bps, default=0.0,
        help="throughput below which a request counts as not available, such as 100kB/s",
    )  # fmt: skip
    add_window(parser)
    add_outputs(parser, page=PAGE_BY_DEFAULT)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    instead = redirect(arguments.runs, Kind.STORAGE_RUN)
    if instead is not None:
        raise UsageError(instead)
    failures: list[str] = []
    runs = _read(list(dict.fromkeys(arguments.runs)), failures, window_of(arguments))
    if not runs:
        return Exit.FAILED
    invoiced = _invoiced(arguments.invoice, runs)
    places = _places(arguments.discovery, failures)
    reports = [replace(one, places=places) for one in _measured(runs, invoiced, failures, arguments)]
    if not reports:
        return Exit.FAILED
    failures += Outputs(_KIND, reports, arguments).make()
    return Exit.FAILED if failures else Exit.DONE


def _rate_bps(text: str) -> float:
    """Of bytes per second, with or without the `/s`."""
    return 8.0 * size_bytes(text.removesuffix("/s"))


def _read(folders: Sequence[Path], failures: list[str], window: "Window") -> "list[StorageRun]":
    """The runs that can be reported on; the others are told of, one line each."""
    from vmtrace.analyze.reports.storage.records import BENCHMARK
    from vmtrace.analyze.reports.storage.run_folder import named_apart, read_storage_run

    def lacking(run: "StorageRun") -> str | None:
        return "no finished transaction" if run.kind == BENCHMARK and not run.transactions else None

    return named_apart(readable(folders, lambda folder: read_storage_run(folder, window), lacking, failures))


def _invoiced(path: Path | None, runs: "Sequence[StorageRun]") -> "dict[str, Amounts]":
    from vmtrace.analyze.reports.storage.invoice import InvoiceError, read_invoice

    if path is None:
        return {}
    try:
        return read_invoice(path, runs)
    except (OSError, InvoiceError) as error:
        raise UsageError(f"--invoice {describe(error)}") from error


def _places(folders: Sequence[Path], failures: list[str]) -> "dict[str, FrontEndPlace]":
    """Where the front ends of discovery runs are, by address; a run that cannot be read is one line of trouble."""
    if not folders:
        return {}
    from vmtrace.analyze.reports.discovery.report import front_end_places
    from vmtrace.commands.discover_report import read_runs

    return front_end_places(read_runs(folders, failures))


def _measured(
    runs: "Sequence[StorageRun]", invoiced: "Mapping[str, Amounts]", failures: list[str], options: argparse.Namespace
) -> "list[Report]":
    from vmtrace.analyze.reports.storage.campaign import has_anything, measure_campaign
    from vmtrace.analyze.reports.storage.measured import captures_of, measure_run
    from vmtrace.analyze.reports.storage.packet_facts import captures_of_campaign
    from vmtrace.analyze.reports.storage.tables import reports_of

    paths = {run.folder: [str(path) for path in (*captures_of(run), *captures_of_campaign(run.folder))] for run in runs}
    measured, campaigns = [], {}
    with Bar([path for found in paths.values() for path in found], wanted=not options.quiet) as bar:
        for run in runs:
            passed_on = bar.part(paths[run.folder])
            campaign = measure_campaign(run, passed_on, options.at_least)
            if campaign is not None and not has_anything(campaign):
                failures.append(f"{run.folder}: no finished request (the run is {run.status})")
                complain(failures[-1])
                continue
            if campaign is not None:
                campaigns[run.name] = campaign
            measured.append(measure_run(run, passed_on))
    with Bar(wanted=not options.quiet).making("the report"):
        return reports_of(measured, invoiced, campaigns)
