"""The JSON document `vmtrace.runs_comparison/1` (`docs/report.md`)."""

from typing import Any

from vmtrace.analyze.reports.run.changes.compare_runs import Change, RunComparison
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.findings import run_findings
from vmtrace.analyze.reports.run.verdict.of_set import verdict_change
from vmtrace.analyze.reports.run.verdict.records import verdict_change_record
from vmtrace.analyze.stats.estimates import CONFIDENCE
from vmtrace.analyze.tables.schema.documents.runs_comparison import SCHEMA
from vmtrace.analyze.trace import version

Record = dict[str, Any]


def document(comparison: RunComparison) -> Record:
    """Everything that was compared."""
    return {
        "schema": SCHEMA,
        "vmtrace": version(),
        "confidence": CONFIDENCE,
        "before": _run(comparison.before),
        "after": _run(comparison.after),
        "tested": comparison.tested,
        "changes": [_change(change) for change in comparison.changes],
        "verdicts": verdict_change_record(verdict_change(comparison)),
        "notes": list(comparison.notes),
    }


def _run(results: RunResults) -> Record:
    run = results.run
    return {
        "path": str(run.folder),
        "name": run.name,
        "id": run.record.id,
        "status": run.record.status,
        "plan": run.record.plan,
        "scale": run.record.scale,
        "start_ns": run.record.start_ns,
        "end_ns": run.record.end_ns,
        "pairs": len(run.complete_pairs),
        "problems": list(results.problems),
        "findings": [one.as_record() for one in run_findings(results)],
    }


def _change(change: Change) -> Record:
    return {
        "index": change.index,
        "part": change.part,
        "metric": change.metric,
        "n_before": change.n_before,
        "n_after": change.n_after,
        "median_before": change.median_before,
        "median_after": change.median_after,
        "level_before": change.level_before,
        "level_after": change.level_after,
        "ratio_of_medians": change.difference.ratio_of_medians.as_record(),
        "difference_of_means": change.difference.difference_of_means.as_record(),
        "cliffs_delta": change.difference.cliffs_delta.as_record(),
        "p": change.difference.p,
        "p_adjusted": change.p_adjusted,
        "change": change.change,
        "reason": change.reason,
    }
