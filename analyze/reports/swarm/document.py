"""The JSON document `vmtrace.swarm_report/1` (docs/swarm.md), and the same tables as CSV files."""

from collections.abc import Sequence
from dataclasses import asdict

from vmtrace.analyze.reports.swarm.rows import AGREES_WITHIN, RunRow
from vmtrace.analyze.reports.swarm.tables import Record, Report, over_time, tables
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.csv_files import flat
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.trace import version

SCHEMA = "vmtrace.swarm_report/1"


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
    rows: dict[str, list[Record]] = {}
    for report in reports:
        for name, records in _tables(report).items():
            rows.setdefault(name, []).extend({"data_set": report.name} | flat(record) for record in records)
    return rows


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
    return {
        "path": str(run.folder),
        "name": report.name,
        "id": run.id,
        "status": run.status,
        "error": run.error,
        "client": run.client,
        "file": run.file,
        "size_bytes": run.size_bytes,
        "piece_bytes": run.piece_bytes,
        "web_seed": run.web_seed,
        "trackers": list(run.trackers),
        "tracker_reply_s": run.tracker_reply_s,
        "interface": run.interface,
        "downloads_planned": run.downloads_planned,
        "problems": list(report.measured.problems),
        **tables(report),
    }
