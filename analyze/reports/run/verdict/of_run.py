"""The verdict on a run: which factor limited its transfers for most of their time, how sure that is, what would help.

Each transfer counts by how long it took, for the factor of its own verdict; one that is undecided counts for none. A
factor leads if it leads in most samples of the transfers drawn anew, too. What was lost to each factor stands beside
it: a few transfers may have lost most.

Rule: docs/verdict.md, "Verdict on a run".
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.limits import lost_and_time
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.counters import counters_sentence, is_starved
from vmtrace.analyze.reports.run.verdict.evidence import Evidence, distinct, judged, of_transfers
from vmtrace.analyze.reports.run.verdict.judged import Judged, WhatIf
from vmtrace.analyze.tables.schema.typed import LEFT_OUT, Count, Positive, Share, bounds
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.units import share, si
from vmtrace.analyze.words.verdict import interval_words, is_open
from vmtrace.formats.quantities import plural

Scope = Literal["all", "probe", "data"]
SCOPES: tuple[Scope, ...] = ("all", *ROLES)

_RESAMPLES = 2000
_SEED = 20110701
_FEWEST_TO_RESAMPLE = 6
_FEW_JUDGED_CONFIDENCE = 0.5
"""Where fewer than half of the transfers could be judged."""
_SECOND_CAUSE = 0.2
"""A share of the time from which on the runner-up is named."""
_MOST_CHANGES = 5
_MOST_OF_RUNNER_UP = 3
_OPEN = "undecided"
_APPLICATION, _HOST = "application", "host_stall"
_OF_LOSSES = ("loss_recovery", "timeout_wait")
_BY_LOSSES = "losses, which kept the congestion window small,"
_MUCH_OPEN = "more time is undecided than any factor has"


@dataclass(frozen=True, slots=True)
class FactorShare:
    """One factor over the transfers of a scope."""

    factor: str
    verdict_in: Count
    """Transfers whose settled verdict it is."""
    verdict_time_share: Share
    """Their share of the time of all judged transfers."""
    time_share: Share | None
    """Of all time, what it limited in any transfer."""
    lost_bytes: Positive | None
    """Of the transfers that tell it; None if none does."""
    lost_share: Share | None


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a change would bring over the whole run; transfers that it says nothing of stay as they were."""

    change: str
    goodput_bps: Positive
    transfers: Count
    """That it would make faster."""
    low_bps: Positive | None
    """With all transfers at the lower ends of their intervals."""
    high_bps: Positive | None
    """With all at the upper ends; null where one of them has none."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """The verdict on the transfers of a scope. `factor` is None where nothing could be judged or all is undecided."""

    scope: Annotated[Scope, LEFT_OUT]
    factor: str | None
    share: Share | None
    """Of the time of judged transfers, that of those whose verdict it is."""
    runner_up: str | None
    confidence: Share | None
    sentence: str
    undetermined_between: tuple[str, ...]
    transfers: Count
    judged: Count
    left_open: Count
    goodput_bps: Positive | None
    """Of all transfers, bytes over time."""
    factors: tuple[FactorShare, ...]
    evidence: Annotated[tuple[Evidence, ...], bounds(maxItems=10)]
    what_if: tuple[Predicted, ...]
    reason: str | None
    """Why there is no verdict, or why it is open."""

    @property
    def is_open(self) -> bool:
        """True if nothing is decided."""
        return self.factor is None or is_open(self.confidence)


def run_verdicts(results: RunResults) -> list[RunVerdict]:
    """Over all transfers, over the probes and over the data transfers."""
    return results.once("run_verdicts", lambda: [_of_scope(results, scope) for scope in SCOPES])


def run_verdict(results: RunResults) -> RunVerdict:
    """Over all transfers."""
    return run_verdicts(results)[0]


@dataclass(frozen=True, slots=True)
class _Vote:
    transfer: MeasuredTransfer
    found: Judged

    @property
    def factor(self) -> str:
        return _OPEN if self.found.is_open else self.found.factor

    @property
    def is_of_losses(self) -> bool:
        """Without a loss a congestion window that limits is one that grows slowly."""
        loses = bool(self.transfer.measures.loss_rate)
        return self.factor in _OF_LOSSES or (self.factor == "congestion_window" and loses)

    @property
    def time_s(self) -> float:
        return self.transfer.transfer.duration_s


def _of_scope(results: RunResults, scope: Scope) -> RunVerdict:
    transfers = [one for one in results.transfers if scope in ("all", one.transfer.role)]
    votes = _losses_as_one([_Vote(one, found) for one in transfers if (found := judged(one)) is not None])
    starved = is_starved(results)
    votes = [_of_the_host(vote) if starved else vote for vote in votes]
    shares = _factors(transfers, votes)
    leader, confidence, reason = _decided(votes, len(transfers))
    ranked = [name for name in _time_by_factor(votes) if name != _OPEN]
    candidates = _candidates(votes) if leader is None or is_open(confidence) else ()
    runner_up = next((name for name in (*ranked, *candidates) if name != leader), None) if leader else None
    changes = _what_if(transfers, votes, leader)
    made = RunVerdict(
        scope=scope,
        factor=leader,
        share=next((one.verdict_time_share for one in shares if one.factor == leader), None),
        runner_up=runner_up,
        confidence=confidence,
        sentence="",
        undetermined_between=candidates,
        transfers=len(transfers),
        judged=len(votes),
        left_open=sum(vote.factor == _OPEN for vote in votes),
        goodput_bps=_goodput_bps(transfers, {}),
        factors=shares,
        evidence=_evidence(results, votes, [name for name in (leader, runner_up) if name], bool(candidates)),
        what_if=changes,
        reason=reason,
    )
    losses_lead = leader is not None and all(vote.is_of_losses for vote in votes if vote.factor == leader)
    both_sides = all(len(vote.found.said) > 1 for vote in votes if vote.factor == _OPEN)
    sentence = _sentence(made, both_sides=both_sides, losses_lead=losses_lead)
    asked = _APPLICATION if starved and leader == _HOST else leader
    counters = None if made.is_open or asked is None else counters_sentence(results, asked)
    return replace(made, sentence=" ".join(filter(None, [sentence, counters])))


def _of_the_host(vote: _Vote) -> _Vote:
    """A program that lacked a processor waits as a host that stalls."""
    return replace(vote, found=replace(vote.found, factor=_HOST)) if vote.factor == _APPLICATION else vote


def _losses_as_one(votes: Sequence[_Vote]) -> list[_Vote]:
    """Repairs, timeouts and the window that losses keep small are one cause: all count for the one with most time."""
    times = _time_by_factor([vote for vote in votes if vote.is_of_losses])
    heaviest = next(iter(times), "")
    return [replace(vote, found=replace(vote.found, factor=heaviest)) if vote.is_of_losses else vote for vote in votes]


def _time_by_factor(votes: Sequence[_Vote]) -> dict[str, float]:
    """Seconds of the transfers that each is the verdict of, most first; what is undecided is one of them."""
    times: dict[str, float] = {}
    for vote in votes:
        times[vote.factor] = times.get(vote.factor, 0.0) + vote.time_s
    return dict(sorted(times.items(), key=lambda one: -one[1]))


def _decided(votes: Sequence[_Vote], transfers: int) -> tuple[str | None, float | None, str | None]:
    """The factor that leads, how sure that is, and what keeps it from being sure."""
    times = _time_by_factor(votes)
    total_s = sum(times.values())
    if not votes or total_s <= 0:
        return None, None, "no transfer has enough packets in a capture to judge what limited it"
    settled = [(name, time_s) for name, time_s in times.items() if name != _OPEN]
    if not settled:
        return None, None, "every verdict is undecided"
    leader, most_s = settled[0]
    own = [vote for vote in votes if vote.factor == leader]
    by_transfers = sum(vote.found.confidence * vote.time_s for vote in own) / most_s if most_s else 0.0
    rival_s = max((time_s for name, time_s in times.items() if name != leader), default=0.0)
    leads = _leads(votes, leader)
    if leads is None:
        leads = 0.5 + 0.45 * max(0.0, most_s - rival_s) / total_s
    much_open = rival_s > 0 and times.get(_OPEN, 0.0) >= rival_s
    bounds = [
        (by_transfers, "the verdicts on single transfers are not surer"),
        (leads, _MUCH_OPEN if much_open else f"{in_words([leader])} hardly leads"),
    ]
    if 2 * len(votes) < transfers:
        bounds.append(
            (_FEW_JUDGED_CONFIDENCE, f"only {len(votes):,} of {plural(transfers, 'transfer')} long enough to judge")
        )
    confidence, why = min(bounds)
    return leader, round(confidence, 3), why if is_open(confidence) else None


def _leads(votes: Sequence[_Vote], leader: str) -> float | None:
    """In which share of samples drawn anew the factor has most time; None of too few transfers."""
    if len(votes) < _FEWEST_TO_RESAMPLE:
        return None
    names = sorted({vote.factor for vote in votes})
    times = np.zeros((len(votes), len(names)))
    for row, vote in enumerate(votes):
        times[row, names.index(vote.factor)] = vote.time_s
    generator = np.random.default_rng(_SEED)
    drawn = generator.multinomial(len(votes), np.full(len(votes), 1 / len(votes)), size=_RESAMPLES)
    won = np.argmax(drawn @ times, axis=1)
    return float(np.mean(won == names.index(leader)))


def _candidates(votes: Sequence[_Vote]) -> tuple[str, ...]:
    """What it may be: the two that have most time, a transfer undecided counting for all its candidates alike."""
    times: dict[str, float] = {}
    for vote in votes:
        for factor in vote.found.candidates:
            times[factor] = times.get(factor, 0.0) + vote.time_s / len(vote.found.candidates)
    return tuple(sorted(times, key=lambda name: -times[name])[:2])


def _factors(transfers: Sequence[MeasuredTransfer], votes: Sequence[_Vote]) -> tuple[FactorShare, ...]:
    time_s, lost = lost_and_time(transfers)
    all_s, all_lost = sum(time_s.values()), sum(value for name, value in lost.items() if name != "idle")
    voted, judged_s = _time_by_factor(votes), sum(vote.time_s for vote in votes)
    number = Counter(vote.factor for vote in votes)
    names = [name for name in {**time_s, **voted} if name != _OPEN]
    rows = [
        FactorShare(
            factor=name,
            verdict_in=number[name],
            verdict_time_share=voted.get(name, 0.0) / judged_s if judged_s else 0.0,
            time_share=time_s[name] / all_s if all_s else None,
            lost_bytes=lost.get(name),
            lost_share=lost[name] / all_lost if name in lost and all_lost and name != "idle" else None,
        )
        for name in names
    ]
    return tuple(sorted(rows, key=lambda row: (-row.verdict_time_share, -(row.lost_share or 0.0), row.factor)))


def _evidence(
    results: RunResults, votes: Sequence[_Vote], factors: Sequence[str], undecided: bool
) -> tuple[Evidence, ...]:
    """Of the transfers that took longest under the factor, then of those under the runner-up."""
    pieces = list[Evidence]()
    by_time = sorted(votes, key=lambda vote: -vote.time_s)
    for place, factor in enumerate(factors):
        chosen = [(vote.transfer, vote.found) for vote in by_time if vote.factor == factor]
        pieces += of_transfers(results.run, chosen, *([_MOST_OF_RUNNER_UP] if place else []))
    if undecided:
        chosen = [(vote.transfer, vote.found) for vote in by_time if vote.factor == _OPEN]
        pieces += of_transfers(results.run, chosen, _MOST_OF_RUNNER_UP)
    return distinct(pieces)


def _what_if(
    transfers: Sequence[MeasuredTransfer], votes: Sequence[_Vote], leader: str | None
) -> tuple[Predicted, ...]:
    """That against the factor itself first, the others by what they bring."""
    against = Counter(vote.found.what_if[0].change for vote in votes if vote.factor == leader and vote.found.what_if)
    first = max(against, key=lambda change: against[change], default=None)
    left: dict[str, dict[int, WhatIf]] = {}
    for vote in votes:
        if vote.transfer.transfer.streams == 1:  # of several streams one says nothing of the others' time
            for one in vote.found.what_if:
                left.setdefault(one.change, {})[id(vote.transfer)] = one
    changes = (_predicted(transfers, change, found) for change, found in left.items())
    made = [change for change in changes if change is not None]
    return tuple(sorted(made, key=lambda one: (one.change != first, -one.goodput_bps))[:_MOST_CHANGES])


def _predicted(transfers: Sequence[MeasuredTransfer], change: str, found: Mapping[int, WhatIf]) -> Predicted | None:
    """One change over the run; None where that has no rate."""
    goodput_bps = _goodput_bps(transfers, {place: one.time_share for place, one in found.items()})
    if goodput_bps is None:
        return None
    low = {place: one.time_share_at(one.low_bps) for place, one in found.items()}
    high = {place: one.time_share_at(one.high_bps) for place, one in found.items()}
    unbounded = any(one.high_bps is None for one in found.values())
    high_bps = None if unbounded else _goodput_bps(transfers, high)
    return Predicted(change, goodput_bps, len(found), _goodput_bps(transfers, low), high_bps)


def _goodput_bps(transfers: Sequence[MeasuredTransfer], time_shares: dict[int, float]) -> float | None:
    """Bytes of all transfers over their time, of which for some only a share passes."""
    time_s = sum(one.transfer.duration_s * time_shares.get(id(one), 1.0) for one in transfers)
    rate_bps = 8 * sum(one.transfer.bytes for one in transfers) / time_s if time_s > 0 else math.inf
    # A record may hold any number: a time too short for its bytes has no rate.
    return rate_bps if math.isfinite(rate_bps) else None


_NOUNS: dict[Scope, str] = {"all": "transfer", "probe": "probe", "data": "data transfer"}


def _sentence(found: RunVerdict, *, both_sides: bool, losses_lead: bool) -> str:
    noun = _NOUNS[found.scope]
    if found.factor is None:
        what = f" between {in_words(found.undetermined_between)}" if found.undetermined_between else ""
        return f"What limited the {noun}s is undecided{what}: {found.reason}."
    own = next(one for one in found.factors if one.factor == found.factor)
    cause = _BY_LOSSES if losses_lead and found.factor == "congestion_window" else in_words([found.factor])
    said = f"{cause} limited {own.verdict_in:,} of {plural(found.judged, f'judged {noun}')}"
    said += f" ({share(own.verdict_time_share)} of their time)"
    if found.is_open:
        said = f"{in_words(found.undetermined_between)}; {said}, and {found.reason}"
        return f"Undecided: {said}. {_decides(found, both_sides)}."
    return " ".join([f"{said[0].upper()}{said[1:]}.", *_more(found)])


def _more(found: RunVerdict) -> list[str]:
    """What else a manager asks: other causes, what was lost, what would help."""
    lines = []
    second = next((one for one in found.factors if one.factor == found.runner_up), None)
    if second is not None and second.verdict_time_share >= _SECOND_CAUSE:
        lines.append(f"For {share(second.verdict_time_share)} of the time it was {in_words([second.factor])}.")
    costliest = max(found.factors, key=lambda one: one.lost_share or 0.0)
    if costliest.lost_share and costliest.factor == found.factor:
        lines.append(f"This accounts for {share(costliest.lost_share)} of the shortfall against the best rate seen.")
    elif costliest.lost_share:
        lines.append(
            f"Most of the shortfall was due to {in_words([costliest.factor])} ({share(costliest.lost_share)})."
        )
    if found.what_if and found.goodput_bps is not None:
        best = found.what_if[0]
        interval = interval_words(best.low_bps, best.high_bps)
        instead = f"{si(best.goodput_bps, 'bit/s')}{interval} instead of {si(found.goodput_bps, 'bit/s')}"
        lines.append(f"With {best.change} the run would have reached {instead}.")
    return lines


def _decides(found: RunVerdict, both_sides: bool) -> str:
    """What would; `both_sides` if what is undecided was captured at both already."""
    if 2 * found.judged < found.transfers:
        return "Captures of all transfers, long enough to judge, would decide"
    if found.reason == _MUCH_OPEN:
        return f"{'Longer' if both_sides else 'Captures at both sides, or longer'} transfers would decide"
    return "More pairs would decide"
