"""The JSON document `vmtrace.run_report/1` (`docs/report.md`), and the same tables as CSV files."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypedDict

from vmtrace.analyze.reports.run.limits import LimitRow
from vmtrace.analyze.reports.run.losses.bursts import LossBurstRow
from vmtrace.analyze.reports.run.provenance import SCHEMA, Provenance, of_runs
from vmtrace.analyze.reports.run.results import Choice, RunResults
from vmtrace.analyze.reports.run.table_records import Influence, LimitInfluence, Record, TransferRecord, flat, tables
from vmtrace.analyze.reports.run.tables import (
    BaselineRow,
    CorrelationRow,
    MetricsRow,
    PlanRow,
    PredictionRow,
    run_baseline,
)
from vmtrace.analyze.reports.run.two_sides.table import ClockRow, TwoSidesRow, clock_row
from vmtrace.analyze.reports.run.variation.findings import SpreadRow
from vmtrace.analyze.reports.run.verdict.findings import RunFindingRecord, run_findings
from vmtrace.analyze.reports.run.verdict.of_pair import PairVerdict, pair_verdicts
from vmtrace.analyze.reports.run.verdict.of_set import VerdictChange, verdict_changes
from vmtrace.analyze.reports.run.verdict.records import (
    WholeVerdict,
    verdict_change_rows,
    verdict_record,
    verdict_tables,
)
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.schema.typed import Count, as_record, bounds
from vmtrace.analyze.trace import version


class FailedPair(TypedDict):
    """A pair that did not come about."""

    sequence: Count
    index: str
    error: str | None


class DrawnPair(TypedDict):
    """The pair whose packets the figures show."""

    sequence: Count
    reason: str


class RunRecord(TypedDict):
    """A run, and everything measured of it."""

    path: str
    name: str
    id: str | None
    status: str
    error: str | None
    plan: str | None
    scale: float | None
    start_ns: int | None
    end_ns: int | None
    failed_attempts: Count
    problems: list[str]
    failed_pairs: list[FailedPair]
    ping: BaselineRow
    drawn_pair: DrawnPair
    table_1: list[PlanRow]
    table_2: list[MetricsRow]
    loss_bursts: list[LossBurstRow]
    correlation: list[CorrelationRow]
    prediction: list[PredictionRow]
    transfers: list[TransferRecord]
    clock: ClockRow
    stability: list[SpreadRow]
    influences: list[Influence]
    two_sides: list[TwoSidesRow]
    limits: list[LimitRow]
    findings: Annotated[list[RunFindingRecord], bounds(maxItems=20)]
    verdict: WholeVerdict
    pair_verdicts: list[PairVerdict]
    limit_influences: list[LimitInfluence]


class Document(TypedDict):
    """What `vmtrace report --json` writes. Names end in their unit: _s seconds, _ns Unix nanoseconds, _bytes, _bps
    bits per second; rates and errors are shares. A number that could not be measured is null, never 0. Within
    version 1 keys are only added.
    """

    schema: Literal["vmtrace.run_report/1"]
    vmtrace: str
    confidence: Annotated[float, bounds(exclusiveMinimum=0, exclusiveMaximum=1), "Of all intervals."]
    runs: list[RunRecord]
    verdict_changes: Annotated[list[VerdictChange], "Every run against the first one; empty for one run."]


def document(runs: Sequence[RunResults], choices: Sequence[Choice]) -> Record:
    """Everything measured of these runs."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "runs": [_run(run, choice) for run, choice in zip(runs, choices, strict=True)],
        "verdict_changes": [as_record(one) for one in verdict_changes(runs)],
    }


def _run(results: RunResults, choice: Choice) -> Record:
    run = results.run
    names = ("id", "status", "error", "plan", "scale", "start_ns", "end_ns")
    return {
        "path": str(run.folder),
        "name": run.name,
        **{name: getattr(run.record, name) for name in names},
        "failed_attempts": run.failed_attempts,
        "problems": list(results.problems),
        "failed_pairs": [
            {"sequence": pair.sequence, "index": pair.index, "error": pair.error}
            for pair in run.pairs
            if not pair.complete
        ],
        "ping": as_record(run_baseline(results)),
        "clock": as_record(clock_row(results)),
        "drawn_pair": {"sequence": choice.pair.sequence, "reason": choice.reason},
        "findings": [one.as_record() for one in run_findings(results)],
        "verdict": verdict_record(results),
        "pair_verdicts": [as_record(one) for one in pair_verdicts(results)],
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
