"""Verdicts made in the open, in place of those that a run's captures have."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from vmtrace.analyze.read.records.run import Role
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.judged import Judged, Proof, Said, WhatIf


def judged(factor: str, confidence: float = 0.9, side: str = "sender", **more: Any) -> Judged:
    """One capture's verdict, with one piece of evidence."""
    sentence = f"{factor} by the {side}."
    found = Judged(
        factor=factor,
        share=0.7,
        runner_up=None,
        confidence=confidence,
        sentence=sentence,
        evidence=(Proof(f"{factor}: 1 interval", (3, 9), "frame.number in {3, 9}", side),),
        what_if=(),
        undetermined_between=() if confidence >= 0.6 else (factor,),
        agreement="one_side",
        said=(Said(side, factor, confidence, sentence),),
    )
    return replace(found, **more)


def what_if(change: str, time_share: float) -> WhatIf:
    return WhatIf(change, 1e6, time_share)


def with_verdicts(
    results: RunResults,
    verdicts: Mapping[tuple[int, Role], Judged],
    limits: Mapping[tuple[int, Role], dict[str, list[float | None]]] | None = None,
    **transfer: Any,
) -> RunResults:
    """The run with these verdicts and limits by pair and role; its other transfers have none."""
    transfers = []
    for one in results.transfers:
        place = (one.pair.sequence, one.transfer.role)
        found, limit = verdicts.get(place), (limits or {}).get(place)
        measures = replace(
            one.measures,
            verdict_factor=found.factor if found else None,
            verdict_confidence=found.confidence if found else None,
            verdict_sentence=found.sentence if found else None,
            verdict_agreement=found.agreement if found else None,
            verdict=found.as_json() if found else None,
            limits=json.dumps(limit) if limit else None,
            limit_intervals=None,
            outcomes=None,
        )
        transfers.append(replace(one, measures=measures, transfer=replace(one.transfer, **transfer)))
    return replace(results, transfers=tuple(transfers))
