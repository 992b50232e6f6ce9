"""The JSON document `vmtrace.run_report/1` (`docs/report.md`), and the same tables as CSV files."""

from collections.abc import Sequence
from dataclasses import asdict

from vmtrace.analyze.reports.run.provenance import Provenance, of_runs
from vmtrace.analyze.reports.run.results import Choice, RunResults
from vmtrace.analyze.reports.run.table_records import Record, flat, tables
from vmtrace.analyze.reports.run.tables import run_baseline
from vmtrace.analyze.reports.run.two_sides.table import clock_row
from vmtrace.analyze.reports.run.verdict.findings import run_findings
from vmtrace.analyze.reports.run.verdict.of_set import verdict_changes
from vmtrace.analyze.reports.run.verdict.records import (
    pair_verdict_records,
    verdict_change_record,
    verdict_change_rows,
    verdict_record,
    verdict_tables,
)
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.schema.documents.run_report import SCHEMA
from vmtrace.analyze.trace import version


def document(runs: Sequence[RunResults], choices: Sequence[Choice]) -> Record:
    """Everything measured of these runs."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "runs": [_run(run, choice) for run, choice in zip(runs, choices, strict=True)],
        "verdict_changes": [verdict_change_record(one) for one in verdict_changes(runs)],
    }


def _run(results: RunResults, choice: Choice) -> Record:
    run, ping = results.run, run_baseline(results)
    return {
        "path": str(run.folder),
        "name": run.name,
        "id": run.record.id,
        "status": run.record.status,
        "error": run.record.error,
        "plan": run.record.plan,
        "scale": run.record.scale,
        "start_ns": run.record.start_ns,
        "end_ns": run.record.end_ns,
        "failed_attempts": run.failed_attempts,
        "problems": list(results.problems),
        "failed_pairs": [
            {"sequence": pair.sequence, "index": pair.index, "error": pair.error}
            for pair in run.pairs
            if not pair.complete
        ],
        "ping": {
            "echoes": ping.echoes,
            "lost": ping.lost,
            "min_s": ping.min_s,
            "mean_s": ping.mean_s,
            "max_s": ping.max_s,
        },
        "clock": asdict(clock_row(results)),
        "drawn_pair": {"sequence": choice.pair.sequence, "reason": choice.reason},
        "findings": [one.as_record() for one in run_findings(results)],
        "verdict": verdict_record(results),
        "pair_verdicts": pair_verdict_records(results),
        **tables(results),
    }


def provenance(runs: Sequence[RunResults]) -> Provenance:
    """Where the results come from."""
    return of_runs(runs)


def csv_tables(runs: Sequence[RunResults]) -> dict[str, list[Record]]:
    """Every table as flat rows, with the run in the first column."""
    rows: dict[str, list[Record]] = {}
    for run in runs:
        for name, records in (tables(run) | verdict_tables(run)).items():
            rows.setdefault(name, []).extend({"run": run.name} | flat(record) for record in records)
    changes = [flat(row) for one in verdict_changes(runs) for row in verdict_change_rows(one)]
    return rows | {"verdict_changes": changes}
