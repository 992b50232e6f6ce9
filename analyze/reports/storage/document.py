"""The JSON document `vmtrace.storage_report/1` (docs/report.md), and the same tables as CSV files."""

from collections.abc import Sequence
from dataclasses import asdict

from vmtrace.analyze.reports.storage.campaign import tables_of
from vmtrace.analyze.reports.storage.surge import SurgeRow
from vmtrace.analyze.reports.storage.surge_hosts import all_hosts
from vmtrace.analyze.reports.storage.tables import Record, Report, as_record, campaign_tables, tables
from vmtrace.analyze.reports.storage.time_ledger import object_times
from vmtrace.analyze.reports.storage.transaction_rows import transaction_rows
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.csv_files import flat, with_names
from vmtrace.analyze.tables.provenance import of_report
from vmtrace.analyze.tables.schema.documents.storage_report import SCHEMA
from vmtrace.analyze.trace import version


def document(reports: Sequence[Report]) -> Record:
    """Everything measured of these runs."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "runs": [_run(report) for report in reports],
        "surge_all_hosts": [asdict(row) for row in _all_hosts(reports)],
    }


def _all_hosts(reports: Sequence[Report]) -> list[SurgeRow]:
    return all_hosts([report.campaign for report in reports if report.campaign is not None])


def provenance(reports: Sequence[Report]) -> Record:
    """Where the results come from."""
    runs = [{"path": str(one.run.run.folder), "name": one.name, "id": one.run.run.id} for one in reports]
    return of_report(SCHEMA, runs=runs)


def csv_tables(reports: Sequence[Report]) -> dict[str, list[Record]]:
    """Every table as flat rows, with the run in the first column."""
    rows = with_names("run", ((one.name, _csv_tables(one)) for one in reports))
    return rows | {"surge_all_hosts": [flat(asdict(row)) for row in _all_hosts(reports)]}


def _csv_tables(report: Report) -> dict[str, list[Record]]:
    return {
        **tables(report),
        **campaign_tables(report),
        "transactions": [asdict(row) for row in transaction_rows(report.run)],
        "object_times": [asdict(times) for one in report.run.transactions for times in object_times(one)],
    }


def _run(report: Report) -> Record:
    run = report.run.run
    return {
        "path": str(run.folder),
        "name": report.name,
        "id": run.id,
        "status": run.status,
        "error": run.error,
        "provider": run.provider,
        "region": run.region,
        "endpoint": run.endpoint,
        "sdk": run.sdk,
        "plan": run.plan,
        "scale": run.scale,
        "front_ends": list(run.front_ends),
        "left_behind": run.left_behind,
        "dropped_packets": report.dropped,
        "problems": list(report.run.problems),
        "overhead_left_out": [asdict(row) for row in report.overhead_left_out],
        "interface_agreement": as_record(report.agreement) if report.agreement is not None else None,
        **tables(report),
        **tables_of(report.campaign),
        "transactions": [asdict(row) for row in transaction_rows(report.run)],
    }
