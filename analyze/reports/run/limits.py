"""What limited the transfers of a run: the engine's verdicts and limits (docs/verdict.md) taken together.

A factor's weight is its share of all bytes that the transfers lost to any; a run has one verdict for probes and one for
data.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share
from vmtrace.analyze.words.factors import FACTORS
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import share
from vmtrace.analyze.words.verdict import is_open
from vmtrace.formats.quantities import plural


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One factor over the probes, or the data transfers, of a run."""

    role: Role
    factor: str
    first_in: Count
    """Transfers whose verdict it is, with enough confidence."""
    judged: Count
    """Transfers with a verdict, undecided or not."""
    time_s: Positive
    time_share: Share | None
    lost_bytes: Positive | None
    """Of the transfers that tell it; None if none does, for want of a rate that the path was seen to carry."""
    lost_share: Share | None
    """Of what all factors but waiting for the other side lost."""


def time_shares(one: Measures) -> dict[str, float] | None:
    """Of a transfer's time, the share of every factor; None if its limits are not known."""
    limits = json.loads(one.limits or "{}")
    all_s = sum(time_s for time_s, _ in limits.values())
    return {factor: limits[factor][0] / all_s if factor in limits else 0.0 for factor in FACTORS} if all_s else None


def time_share_of(factor: str) -> Callable[[Measures], float | None]:
    """The share of one factor, for tables of metrics."""
    return lambda one: (time_shares(one) or {}).get(factor)


def limit_rows(run: RunResults) -> list[LimitRow]:
    """For each role its factors, the one that lost most first."""
    return [
        row for role in ROLES for row in _of_role(role, [one for one in run.transfers if one.transfer.role == role])
    ]


def lost_and_time(transfers: Iterable[MeasuredTransfer]) -> tuple[Counter[str], Counter[str]]:
    """Seconds, and bytes lost, of these transfers by factor; a factor whose losses no transfer tells has none."""
    times: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for one in transfers:
        for factor, (time_s, lost_bytes) in json.loads(one.measures.limits or "{}").items():
            times[factor] += time_s
            if lost_bytes is not None:
                lost[factor] += lost_bytes
    return times, lost


def _of_role(role: Role, transfers: Sequence[MeasuredTransfer]) -> list[LimitRow]:
    first = Counter(
        one.measures.verdict_factor
        for one in transfers
        if one.measures.verdict_factor and not is_open(one.measures.verdict_confidence)
    )
    judged = sum(one.measures.verdict_factor is not None for one in transfers)
    times, lost = lost_and_time(transfers)
    all_s = sum(times.values())
    all_lost = sum(value for factor, value in lost.items() if factor != "idle")
    rows = [
        LimitRow(
            role,
            factor,
            first[factor],
            judged,
            time_s,
            time_s / all_s if all_s else None,
            lost.get(factor),
            lost[factor] / all_lost if factor in lost and all_lost and factor != "idle" else None,
        )
        for factor, time_s in times.items()
    ]
    return sorted(rows, key=lambda row: (-(row.lost_share or 0.0), -row.time_s))


def limit_sentences(rows: Sequence[LimitRow], transfers: Sequence[MeasuredTransfer] = ()) -> Iterator[str]:
    """A sentence for each role that has a verdict; `transfers` say what kept congestion windows small."""
    for role in ROLES:
        own = [row for row in rows if row.role == role]
        most = max(own, key=lambda row: (row.first_in, row.lost_share or 0.0), default=None)
        if most is None or not most.judged:
            continue
        if not most.first_in:
            yield f"{role}: what limited the transfers is undecided in all {most.judged} of them"
            continue
        costliest = max(own, key=lambda row: row.lost_share or 0.0)
        words = _name(most, transfers)
        said = f"{role}: {words} limited {most.first_in} of {plural(most.judged, 'transfer')}"
        if costliest.lost_share:
            cost = f"cost {share(costliest.lost_share)} of the shortfall"
            said += f" and {cost}" if costliest is most else f"; {_name(costliest, transfers)} {cost}"
        yield said


def _name(row: LimitRow, transfers: Sequence[MeasuredTransfer]) -> str:
    """The factor as tables of connections name it; a congestion window by what kept it small, if that is one thing."""
    said = [
        one.measures.verdict_sentence
        for one in transfers
        if one.transfer.role == row.role
        and one.measures.verdict_factor == row.factor
        and not is_open(one.measures.verdict_confidence)
    ]
    names = {factor_name(row.factor, sentence) for sentence in said}
    return names.pop() if len(names) == 1 else factor_name(row.factor)
