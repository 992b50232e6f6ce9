"""Is loss of a run continuous or bursty? The test over its transfers, and what it says in a sentence.

A transfer with five lost segments or more has a value: how uneven the distances between its losses are, over those of
independent losses. That is continuous where the interval of the mean ratio lies within a quarter of 1.
"""

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.stats.unevenness import FEWEST, Unevenness, together
from vmtrace.analyze.tables.schema.typed import Count, Share
from vmtrace.formats.quantities import plural

Judgement = Literal["bursty", "even", "continuous", "undecided", "too_few"]
LEVEL = 0.01
"""Of 40 runs without bursts two at most are called bursty or even."""
LIKE_INDEPENDENT = 1.25
_VERDICTS: dict[Judgement, str] = {
    "bursty": "is bursty",
    "even": "is more even than by chance",
    "continuous": "is continuous",
    "undecided": "shows no bursts, which does not prove it continuous",
}


@dataclass(frozen=True, slots=True)
class LossBurstRow:
    """Probes, or data transfers, of a run."""

    role: Role
    judgement: Judgement
    transfers: Count
    """With losses enough for the test."""
    losses: Count
    ratio: Estimate
    """How uneven distances between losses are, over those of independent losses."""
    p_value: Share | None
    """Of independent losses to be as uneven, or as even."""
    bursty_transfers: Count
    """Bursty by themselves, corrected for all."""
    sentence: str


def loss_burst_rows(results: RunResults) -> list[LossBurstRow]:
    """A row of each role that lost anything."""
    rows = [_row(role, results.of(role)) for role in ROLES]
    return [row for row in rows if row is not None]


def spread_of(one: MeasuredTransfer) -> Unevenness | None:
    """Of one transfer's losses, where they were tested."""
    measures = one.measures
    if measures.loss_gap_losses is None or measures.loss_gap_ratio is None or measures.loss_gap_chance is None:
        return None
    return Unevenness(measures.loss_gap_losses, measures.loss_gap_ratio, measures.loss_gap_chance)


def _row(role: Role, transfers: list[MeasuredTransfer]) -> LossBurstRow | None:
    found = [spread for one in transfers if (spread := spread_of(one)) is not None]
    total = together(found)
    if total is None:
        sentence = f"{role} loss: bursty or not is not known: no transfer lost {FEWEST} segments where it was sent"
        row = LossBurstRow(role, "too_few", 0, 0, estimates.ABSENT, None, 0, sentence)
        return row if any(one.measures.loss_rate for one in transfers) else None
    mean = _geometric([one.ratio for one in found], total.ratio)
    adjusted = estimates.holm([one.p_value for one in found])
    bursty = sum(p is not None and p < LEVEL and one.ratio > 1 for p, one in zip(adjusted, found, strict=True))
    row = LossBurstRow(role, _judgement(total, mean), len(found), total.hits, mean, total.p_value, bursty, "")
    return replace(row, sentence=_sentence(row))


def _judgement(found: Unevenness, mean: Estimate) -> Judgement:
    if found.p_value < LEVEL:
        return "bursty" if found.chance < 0.5 else "even"
    if mean.low is None or mean.high is None:
        return "undecided"
    return "continuous" if mean.low > 1 / LIKE_INDEPENDENT and mean.high < LIKE_INDEPENDENT else "undecided"


def _geometric(ratios: list[float], by_losses: float) -> Estimate:
    """The mean over transfers with its interval; of too few for one that by losses."""
    mean = estimates.mean(np.log(ratios))
    if mean.value is None or mean.low is None or mean.high is None:
        return Estimate(by_losses, None, None, len(ratios))
    return Estimate(math.exp(mean.value), math.exp(mean.low), math.exp(mean.high), len(ratios))


def _sentence(row: LossBurstRow) -> str:
    low, high = row.ratio.low, row.ratio.high
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    value = "" if row.ratio.value is None else f"x {row.ratio.value:.2f}"
    p = row.p_value or 0.0
    chance = "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
    each = f"; {row.bursty_transfers:,} bursty by themselves" if row.bursty_transfers else ""
    of = f"{plural(row.losses, 'loss', 'losses')} in {plural(row.transfers, 'transfer')}{each}"
    return (
        f"{row.role} loss {_VERDICTS[row.judgement]}: distances between losses vary {value}{interval} as much as"
        f" those of independent losses ({chance}, {of})"
    )
