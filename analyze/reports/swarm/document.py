"""The JSON document `vmtrace.swarm_report/1` (docs/swarm.md), and the same tables as CSV files.

Its parts are the rows that are measured: what they declare is its schema, too.
"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.findings.joined import JoinedRow
from vmtrace.analyze.read.records.service_run import RunHead
from vmtrace.analyze.reports.swarm.capacity import CapacityRow
from vmtrace.analyze.reports.swarm.charges import ChargeRow, PerGb
from vmtrace.analyze.reports.swarm.comparison import PrivateRow, SeedsRow
from vmtrace.analyze.reports.swarm.rows import AGREES_WITHIN, RunRow
from vmtrace.analyze.reports.swarm.tables import Record, Report, over_time, tables
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.csv_files import with_names
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive, record_of
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.swarm_report/1"


class Run(TypedDict):
    """A download, and whose folder it is in."""

    data_set: str
    row: Annotated[RunRow, FLAT]


class DataSet(RunHead):
    """A run folder."""

    client: str | None
    file: str | None
    size_bytes: Count | None
    piece_bytes: Count | None
    web_seed: str | None
    trackers: list[str]
    tracker_reply_s: Positive | None
    interface: str | None
    downloads_planned: Count | None
    problems: list[str]
    findings: Annotated[list[JoinedRow], "What held the downloads back, by their packets"]
    capacities: list[CapacityRow]
    by_seeds: list[SeedsRow]
    public_against_forbidden: list[PrivateRow]
    charges: list[ChargeRow]


class Document(TypedDict):
    """What `vmtrace swarm report --json` writes; `runs` are the downloads. Seconds are _s, instants _ns (Unix
    nanoseconds), sizes _bytes, rates _bps (bits/s), shares 0..1. A number that could not be measured is null.
    Keys are only added within version 1.
    """

    schema: Literal["vmtrace.swarm_report/1"]
    vmtrace: str
    confidence: Positive
    agrees_within: Positive
    prices: PerGb | None
    data_sets: list[DataSet]
    runs: list[Run]


def document(reports: Sequence[Report]) -> Record:
    """Everything measured of these run folders; `runs` are the downloads of all of them."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "agrees_within": AGREES_WITHIN,
        "prices": asdict(prices) if reports and (prices := reports[0].prices) is not None else None,
        "data_sets": [_data_set(report) for report in reports],
        "runs": [{"data_set": report.name} | asdict(row) for report in reports for row in report.runs],
    }


def provenance(reports: Sequence[Report]) -> Record:
    """Where the results come from."""
    runs = [{"path": str(one.measured.run.folder), "name": one.name, "id": one.measured.run.id} for one in reports]
    return of_report(SCHEMA, data_sets=runs)


def csv_tables(reports: Sequence[Report]) -> dict[str, list[Record]]:
    """Every table as flat rows, with the data set in the first column."""
    return with_names("data_set", ((one.name, _tables(one)) for one in reports))


def _tables(report: Report) -> dict[str, list[Record]]:
    runs = [{key: value for key, value in asdict(row).items() if key != "sources"} for row in report.runs]
    sources = [_source_record(row, number) for row in report.runs for number in range(len(row.sources))]
    return {"runs": runs, "sources": sources, **tables(report), "over_time": over_time(report)}


def _source_record(row: RunRow, number: int) -> Record:
    record = asdict(row.sources[number])
    errors = record.pop("errors")
    listed = "; ".join(f"{text} ({times})" for text, times in errors.items())
    return {"download": row.number, "seeds": row.seeds, "web_seed": row.web_seed, **record, "errors": listed}


def _data_set(report: Report) -> Record:
    run = report.measured.run
    problems = list(report.measured.problems)
    return record_of(DataSet, run, path=str(run.folder), name=report.name, problems=problems, **tables(report))
