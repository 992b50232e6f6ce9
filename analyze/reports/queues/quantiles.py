"""Quantiles of times by an HDR histogram: three significant digits from a microsecond to a day, in constant memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

_DAY_US = 24 * 3600 * 10**6
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of a sample of times; all None without one."""

    n: int
    min_s: float | None = None
    mean_s: float | None = None
    p50_s: float | None = None
    p90_s: float | None = None
    p99_s: float | None = None
    p999_s: float | None = None
    p9999_s: float | None = None
    max_s: float | None = None


def quantiles(times_s: NDArray[np.float64]) -> Quantiles:
    """Of times of 0 or more. Least, mean and largest are exact; the others to 0.1 %. What has no sample that far out is
    the largest: the 99.99 % of a hundred times."""
    if not len(times_s):
        return Quantiles(0)
    histogram = _histogram(times_s)
    at = {p: histogram.get_value_at_percentile(p) / 1e6 for p in (50.0, 90.0, 99.0, 99.9, 99.99)}
    largest, least = float(times_s.max()), float(times_s.min())
    p50, p90, p99, p999, p9999 = (min(max(value, least), largest) for value in at.values())
    return Quantiles(len(times_s), least, float(times_s.mean()), p50, p90, p99, p999, p9999, largest)


def curve(times_s: NDArray[np.float64], percents: Iterable[float]) -> list[float]:
    """The times at these percentiles, for a figure."""
    histogram = _histogram(times_s)
    return [histogram.get_value_at_percentile(percent) / 1e6 for percent in percents]


def _histogram(times_s: NDArray[np.float64]) -> "HdrHistogram":
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, _DAY_US, _DIGITS)
    values, counts = np.unique(np.clip(np.rint(times_s * 1e6), 1, _DAY_US).astype(np.int64), return_counts=True)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        histogram.record_value(value, count)
    return histogram
