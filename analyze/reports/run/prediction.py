"""Predicting a data transfer's throughput before it is made, from earlier pairs of its index and its own probe.

This is what connection pairs are for: a small probe that tells what a large transfer will get. Each rule uses only what
is known when the data transfer begins. All rules are judged on the same pairs, from the second of an index on, because
three of them need one that went before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.estimates import Estimate, Floats
from vmtrace.analyze.tables.schema.typed import one_of

WINDOW = 10
"""Pairs of the same index that a moving prediction looks back on."""

Rule = Callable[[Floats, Floats, float], float]
"""Earlier probes, earlier data transfers, the probe of now -> the data transfer to come."""


def _probe_itself(_probes: Floats, _data: Floats, probe_bps: float) -> float:
    return probe_bps


def _last_value(_probes: Floats, data: Floats, _probe_bps: float) -> float:
    return float(data[-1])


def _moving_mean(_probes: Floats, data: Floats, _probe_bps: float) -> float:
    return float(data[-WINDOW:].mean())


def _ratio(probes: Floats, data: Floats, probe_bps: float) -> float:
    # The median, because one transfer that stood still would spoil a mean of ten ratios.
    return float(np.median(data[-WINDOW:] / probes[-WINDOW:])) * probe_bps


RULES: dict[str, Rule] = {
    "probe": _probe_itself,
    "last_value": _last_value,
    "moving_mean": _moving_mean,
    "ratio": _ratio,
}
DESCRIPTIONS = {
    "probe": "the throughput of the probe before it",
    "last_value": "the data throughput of the pair before",
    "moving_mean": f"the mean data throughput of the last {WINDOW} pairs",
    "ratio": f"the probe's throughput times the median of data over probe in the last {WINDOW} pairs",
}


@dataclass(frozen=True, slots=True)
class PredictionError:
    """How far a rule was off: absolute error as a share of what came."""

    rule: Annotated[str, one_of(*RULES)]
    mean_error: Estimate
    median_error: Estimate


def predictions(rule: str, probe_bps: Floats, data_bps: Floats) -> Floats:
    """What the rule says of each pair in turn; NaN for the first, which has no past."""
    said = np.full(len(data_bps), np.nan)
    for now in range(1, len(data_bps)):
        said[now] = RULES[rule](probe_bps[:now], data_bps[:now], float(probe_bps[now]))
    return said


def relative_errors(rule: str, probe_bps: Floats, data_bps: Floats) -> Floats:
    """|predicted - actual| / actual of each pair but the first. Transfers below 1 bit/s are no transfers: left out."""
    real = (probe_bps >= 1) & (data_bps >= 1)
    probe_bps, data_bps = probe_bps[real], data_bps[real]
    said = predictions(rule, probe_bps, data_bps)[1:]
    errors: Floats = np.abs(said - data_bps[1:]) / data_bps[1:]
    return errors


def judged(rule: str, errors: Floats) -> PredictionError:
    """The mean absolute percentage error and its median, as shares."""
    return PredictionError(rule, estimates.mean(errors), estimates.median(errors))
