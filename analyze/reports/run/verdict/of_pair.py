"""The verdict on a pair: why its data transfer was slow, and whether the probe before it was limited by the same.

A probe predicts the data transfer only if both meet the same limit; one that is over in slow start says little.

Rule: docs/verdict.md, "Verdict on a pair".
"""

from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.read.records.run import ROLES, Pair
from vmtrace.analyze.reports.run.limits import lost_and_time
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.evidence import Evidence, distinct, judged, of_transfer
from vmtrace.analyze.reports.run.verdict.judged import Judged, WhatIf
from vmtrace.analyze.tables.schema.typed import Count, Share, bounds, one_of
from vmtrace.analyze.words.factors import in_words


@dataclass(frozen=True, slots=True)
class LostShare:
    """A factor's share of what was lost."""

    factor: str
    lost_share: Share


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """Of probe and data together; `factor` and what belongs to it are the data transfer's, if it has any."""

    sequence: Count
    index: str
    factor: str | None
    share: Share | None
    runner_up: str | None
    confidence: Share | None
    sentence: str
    undetermined_between: tuple[str, ...]
    agreement: Annotated[str, one_of("one_side", "agree", "disagree", "one_open", "both_open")] | None
    """What the captures of both sides say of each other."""
    decided_by: str | None
    probe_factor: str | None
    probe_confidence: Share | None
    limited_alike: bool | None
    """True if probe and data transfer had the same limit; None if one of them is not settled."""
    factors: tuple[LostShare, ...]
    """Of the bytes that both transfers lost, the factor that lost most first."""
    evidence: Annotated[tuple[Evidence, ...], bounds(maxItems=10)]
    what_if: tuple[WhatIf, ...]
    """For the transfer that `factor` is of."""
    reason: str | None
    """Why there is no verdict."""


def pair_verdicts(results: RunResults) -> list[PairVerdict]:
    """One for each complete pair, in order."""
    return results.once("pair_verdicts", lambda: [_of_pair(results, pair) for pair in results.run.complete_pairs])


def _of_pair(results: RunResults, pair: Pair) -> PairVerdict:
    transfers = {role: results.transfer(pair, role) for role in ROLES}
    verdicts = {role: judged(one) if one is not None else None for role, one in transfers.items()}
    probe, data = verdicts["probe"], verdicts["data"]
    first = data or probe
    evidence = [
        piece
        for role in reversed(ROLES)
        if (one := transfers[role]) is not None and (found := verdicts[role]) is not None
        for piece in of_transfer(results.run, one, found)
    ]
    settled = [one for one in (probe, data) if one is not None and not one.is_open]
    reasons = dict.fromkeys(
        (one.measures.problem or "too few packets to judge") for one in transfers.values() if one is not None
    )
    return PairVerdict(
        sequence=pair.sequence,
        index=pair.index,
        factor=first.factor if first else None,
        share=first.share if first else None,
        runner_up=first.runner_up if first else None,
        confidence=first.confidence if first else None,
        sentence=_sentence(probe, data),
        undetermined_between=first.undetermined_between if first else (),
        agreement=first.agreement if first else None,
        decided_by=first.decided_by if first else None,
        probe_factor=probe.factor if probe else None,
        probe_confidence=probe.confidence if probe else None,
        limited_alike=settled[0].factor == settled[1].factor if len(settled) == len(ROLES) else None,
        factors=_lost_shares([one for one in transfers.values() if one is not None]),
        evidence=distinct(evidence),
        what_if=first.what_if if first else (),
        reason=None if first else "; ".join(reasons) or "no transfer",
    )


def _sentence(probe: Judged | None, data: Judged | None) -> str:
    if data is None and probe is None:
        return "Neither transfer could be judged."
    if data is None:
        return f"The data transfer could not be judged. Probe: {probe.sentence if probe else ''}"
    if probe is None:
        return f"{data.sentence} The probe is too short to judge."
    if probe.is_open:
        return f"{data.sentence} What limited the probe is undecided: {in_words(probe.candidates)}."
    if data.is_open:
        return f"{data.sentence} The probe was limited by {in_words([probe.factor])}."
    if probe.factor == data.factor:
        return f"{data.sentence} The probe was limited by the same."
    other = f"The probe was limited by something else, {in_words([probe.factor])}"
    return f"{data.sentence} {other}: its throughput says little of the data transfer's."


def _lost_shares(transfers: list[MeasuredTransfer]) -> tuple[LostShare, ...]:
    _, lost = lost_and_time(transfers)
    known = {factor: value for factor, value in lost.items() if value and factor != "idle"}
    total = sum(known.values())
    return tuple(LostShare(factor, known[factor] / total) for factor in sorted(known, key=lambda one: -known[one]))
