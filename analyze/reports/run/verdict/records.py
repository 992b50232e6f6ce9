"""Verdicts as records for JSON, and as rows for CSV."""

from dataclasses import asdict
from typing import Annotated, Any, TypedDict

from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.evidence import Evidence
from vmtrace.analyze.reports.run.verdict.of_pair import pair_verdicts
from vmtrace.analyze.reports.run.verdict.of_run import RunVerdict, run_verdicts
from vmtrace.analyze.reports.run.verdict.of_set import VerdictChange
from vmtrace.analyze.tables.schema.typed import FLAT, as_record

Record = dict[str, Any]


class ByRole(TypedDict):
    """The same over probes and over data transfers."""

    probe: RunVerdict
    data: RunVerdict


class WholeVerdict(TypedDict):
    """The verdict on a run, over all its transfers."""

    whole: Annotated[RunVerdict, FLAT]
    by_role: ByRole


def verdict_record(results: RunResults) -> Record:
    """The run's verdict over all transfers, with those of probes and data transfers in `by_role`."""
    whole, *parts = run_verdicts(results)
    return as_record(whole) | {"by_role": {part.scope: as_record(part) for part in parts}}


def verdict_tables(results: RunResults) -> dict[str, list[Record]]:
    """The same as flat tables by name: what is a list in JSON has rows of its own."""
    verdicts = run_verdicts(results)
    nested = ("factors", "evidence", "what_if")
    return {
        "verdict": [_without(as_record(one), nested) | {"scope": one.scope} for one in verdicts],
        "verdict_factors": [{"scope": one.scope} | asdict(row) for one in verdicts for row in one.factors],
        "verdict_evidence": [{"scope": one.scope} | _flat(piece) for one in verdicts for piece in one.evidence],
        "verdict_what_if": [{"scope": one.scope} | asdict(row) for one in verdicts for row in one.what_if],
        "pair_verdicts": [_without(as_record(one), nested) for one in pair_verdicts(results)],
    }


def verdict_change_rows(one: VerdictChange) -> list[Record]:
    """Two runs' verdicts side by side, a row for each factor."""
    return [{"before": one.before, "after": one.after} | as_record(factor) for factor in one.factors]


def _without(record: Record, names: tuple[str, ...]) -> Record:
    """One row: a list of names is one text."""
    kept = {name: value for name, value in record.items() if name not in names}
    return kept | {"undetermined_between": " ".join(record["undetermined_between"])}


def _flat(piece: Evidence) -> Record:
    return asdict(piece) | {"frames": " ".join(map(str, piece.frames))}
