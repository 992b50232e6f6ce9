"""What a value beside the packets is: its name and unit, which way it harms, how transfers are split by it.

The levels called harmless are chosen here, not measured: what stays below them leaves a host at least half idle, or
costs a transfer no more than what a person would call noise.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Harm = Literal["high", "low"]
Split = Literal["any", "break"]
Unit = Literal["share", "per_s", "s", "count"]


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that throughput may vary with."""

    name: str
    """In tables: `sender_cpu_steal`."""
    label: str
    """In sentences: `steal`."""
    source: str
    """`packets`, `host`, `cloudwatch` or `ping`."""
    unit: Unit
    harm: Harm = "high"
    """The side on which it could make a transfer slow."""
    split: Split = "break"
    """`any`: transfers with some of it against those with none; `break`: at the natural break of its values."""
    harmless: float | None = None
    """A level below which it is no burden; None where nobody can say."""
    place: str | None = None
    """Where it was read: `sender`, `receiver`, `CloudWatch`; None for what is of the transfer itself."""
    dimensions: str | None = None
    """Which of several it is, if there are several."""
    asked: bool = True
    """False for what is drawn and not asked about: parts of another metric."""

    @property
    def full_label(self) -> str:
        """With its place: `steal of the sender`."""
        if self.place is None:
            return self.label
        return f"{self.label} by {self.place}" if self.source == "cloudwatch" else f"{self.label} of the {self.place}"


@dataclass(frozen=True, slots=True)
class Periods:
    """A metric's values over time: period i is [start_ns[i], end_ns[i]), in order, without overlap."""

    metric: Metric
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    value: NDArray[np.float64]
    """NaN where the period has none."""
    missing: tuple[tuple[str, int], ...] = ()
    """Why periods have no value, and how many for that reason."""

    @property
    def period_s(self) -> float | None:
        """How long a period usually is."""
        return float(np.median(self.end_ns - self.start_ns)) / 1e9 if len(self.start_ns) else None

    def moved(self, by_ns: int) -> "Periods":
        """The same by a clock that is `by_ns` ahead."""
        return Periods(self.metric, self.start_ns + by_ns, self.end_ns + by_ns, self.value, self.missing)
