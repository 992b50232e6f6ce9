"""The JSON document `vmtrace.swarm_report/1` (docs/swarm.md), and the same tables as CSV files."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.reports.storage.tables import flat
from vmtrace.analyze.reports.swarm.rows import AGREES_WITHIN, RunRow
from vmtrace.analyze.reports.swarm.tables import Record, Report, over_time, tables
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.provenance import command_line
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
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "command": command_line(),
        "data_sets": [
            {"path": str(one.measured.run.folder), "name": one.name, "id": one.measured.run.id} for one in reports
        ],
    }


def write_csv(reports: Sequence[Report], folder: Path) -> None:
    """Write one file for each table, with the data set in the first column, and `provenance.json`."""
    from pyarrow.csv import write_csv as write

    make_folder(folder)
    rows: dict[str, list[Record]] = {}
    for report in reports:
        for name, records in _csv_tables(report).items():
            rows.setdefault(name, []).extend({"data_set": report.name} | flat(record) for record in records)
    for name, content in rows.items():
        if not content:
            continue
        columns = dict.fromkeys(key for row in content for key in row)
        filled = [{key: row.get(key) for key in columns} for row in content]
        with writing(folder / f"{name.replace('_', '-')}.csv") as out:
            write(pa.Table.from_pylist(filled), out)
    with writing(folder / "provenance.json") as out:
        out.write(json.dumps(provenance(reports), indent=2).encode() + b"\n")


def _csv_tables(report: Report) -> dict[str, list[Record]]:
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
