"""Verdicts as records for JSON, and as rows for CSV."""

from dataclasses import asdict
from typing import Any

from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.evidence import Evidence
from vmtrace.analyze.reports.run.verdict.of_pair import PairVerdict, pair_verdicts
from vmtrace.analyze.reports.run.verdict.of_run import RunVerdict, run_verdicts
from vmtrace.analyze.reports.run.verdict.of_set import FactorChange, VerdictChange

Record = dict[str, Any]


def verdict_record(results: RunResults) -> Record:
    """The run's verdict over all transfers, with those of probes and data transfers in `by_role`."""
    whole, *parts = run_verdicts(results)
    return _of_run(whole) | {"by_role": {part.scope: _of_run(part) for part in parts}}


def pair_verdict_records(results: RunResults) -> list[Record]:
    """One for each complete pair."""
    return [_of_pair(one) for one in pair_verdicts(results)]


def verdict_tables(results: RunResults) -> dict[str, list[Record]]:
    """The same as flat tables by name: what is a list in JSON has rows of its own."""
    verdicts = run_verdicts(results)
    nested = ("factors", "evidence", "what_if")
    return {
        "verdict": [_without(_of_run(one), nested) | {"scope": one.scope} for one in verdicts],
        "verdict_factors": [{"scope": one.scope} | asdict(row) for one in verdicts for row in one.factors],
        "verdict_evidence": [{"scope": one.scope} | _flat(piece) for one in verdicts for piece in one.evidence],
        "verdict_what_if": [{"scope": one.scope} | asdict(row) for one in verdicts for row in one.what_if],
        "pair_verdicts": [
            _without(_of_pair(one), ("evidence", "what_if", "factors")) for one in pair_verdicts(results)
        ],
    }


def verdict_change_record(one: VerdictChange) -> Record:
    """Two runs' verdicts side by side."""
    return asdict(one) | {"factors": [_factor_change(factor) for factor in one.factors]}


def verdict_change_rows(one: VerdictChange) -> list[Record]:
    """The same, a row for each factor."""
    return [{"before": one.before, "after": one.after} | _factor_change(factor) for factor in one.factors]


def _factor_change(one: FactorChange) -> Record:
    return asdict(one) | {"difference": one.difference.as_record()}


def _of_run(one: RunVerdict) -> Record:
    record = {name: value for name, value in asdict(one).items() if name != "scope"}
    return record | {"undetermined_between": list(one.undetermined_between), "evidence": _records(one.evidence)}


def _of_pair(one: PairVerdict) -> Record:
    what_if = [
        {name: value for name, value in asdict(change).items() if name != "time_share"} for change in one.what_if
    ]
    lists = {"undetermined_between": list(one.undetermined_between), "evidence": _records(one.evidence)}
    return asdict(one) | lists | {"what_if": what_if}


def _records(pieces: tuple[Evidence, ...]) -> list[Record]:
    return [piece.as_record() for piece in pieces]


def _without(record: Record, names: tuple[str, ...]) -> Record:
    """One row: a list of names is one text."""
    kept = {name: value for name, value in record.items() if name not in names}
    return kept | {"undetermined_between": " ".join(record["undetermined_between"])}


def _flat(piece: Evidence) -> Record:
    return asdict(piece) | {"frames": " ".join(map(str, piece.frames))}
