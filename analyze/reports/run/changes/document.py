"""The JSON document `vmtrace.runs_comparison/1` (`docs/report.md`)."""

from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.reports.run.changes.compare_runs import RunComparison
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.findings import RunFindingRecord, run_findings
from vmtrace.analyze.reports.run.verdict.of_set import VerdictChange, verdict_change
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.stats.two_samples import Difference
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Share, as_record, bounds, record_of
from vmtrace.analyze.trace import version

Record = dict[str, Any]

SCHEMA = "vmtrace.runs_comparison/1"


class RunRecord(TypedDict):
    """One of the two."""

    path: Annotated[str, "As given."]
    name: Annotated[str, "Its name in the table."]
    id: Annotated[str | None, "Of the run."]
    status: Annotated[str, "complete, running, interrupted, failed."]
    plan: Annotated[str | None, "Name of the plan."]
    scale: Annotated[float | None, "What the plan's sizes were multiplied by."]
    start_ns: Annotated[int | None, "Unix time."]
    end_ns: Annotated[int | None, "Unix time."]
    pairs: Annotated[int, bounds(minimum=1), "Complete pairs; only they are compared."]
    problems: Annotated[list[str], "What could not be read, one line each."]
    findings: Annotated[
        list[RunFindingRecord], "What held its transfers back, as in the report on it.", bounds(maxItems=20)
    ]


class ChangeRecord(TypedDict):
    """One metric of one index."""

    index: Annotated[str | None, "Of the plan; null: all indices together, compared within each."]
    part: Annotated[Literal["probe", "data", "ping"], "What was measured."]
    metric: Annotated[str, "As in the reports on runs; the name ends in its unit."]
    n_before: Annotated[int, bounds(minimum=1), "Transfers (pairs, for ping) with a value."]
    n_after: Annotated[int, bounds(minimum=1), "Likewise."]
    median_before: Annotated[float | None, "Null where indices are put together."]
    median_after: Annotated[float | None, "Likewise."]
    level_before: Annotated[
        float,
        "What the change is between: medians where there is a ratio of them, else means; of all indices, their mean as"
        " the change weighs them.",
    ]
    level_after: Annotated[float, "Likewise."]
    difference: Annotated[Difference, FLAT]
    p_adjusted: Annotated[Share | None, "For the number of tests (Holm)."]
    change: Annotated[Literal["higher", "lower"] | None, "Null: no change is established."]
    reason: Annotated[str | None, "Why there was no test."]


class Document(TypedDict):
    """What `vmtrace compare-runs --json` writes. Names end in their unit: _s seconds, _ns Unix nanoseconds, _bps bits
    per second, _bytes; rates and fractions are shares. A number that could not be measured is null, never 0.
    Within version 1 keys are only added.
    """

    schema: Literal["vmtrace.runs_comparison/1"]
    vmtrace: Annotated[str, "Version."]
    confidence: Annotated[float, "Of the intervals; 1 - confidence is the chance of any false alarm."]
    before: RunRecord
    after: RunRecord
    tested: Annotated[Count, "Tests that the p values are adjusted for."]
    changes: list[ChangeRecord]
    notes: Annotated[list[str], "What was not compared, and why."]
    verdicts: VerdictChange


def document(comparison: RunComparison) -> Record:
    """Everything that was compared."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "before": _run(comparison.before),
        "after": _run(comparison.after),
        "tested": comparison.tested,
        "changes": [record_of(ChangeRecord, one) for one in comparison.changes],
        "verdicts": as_record(verdict_change(comparison)),
        "notes": list(comparison.notes),
    }


def _run(results: RunResults) -> Record:
    run = results.run
    return record_of(
        RunRecord,
        run.record,
        path=str(run.folder),
        name=run.name,
        pairs=len(run.complete_pairs),
        problems=results.problems,
        findings=[one.as_record() for one in run_findings(results)],
    )
