"""A run with everything that tables, figures and texts are made of, and the choice of the pair that is drawn."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

import numpy as np

from vmtrace.analyze.read.records.run import Baseline, Pair, Role, Run
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.words.units import si

T = TypeVar("T")


class NoSuchPairError(Exception):
    """The pair asked for is not in the run, or not complete; the message is one line."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A pair to draw, and why this one."""

    pair: Pair
    reason: str


@dataclass(frozen=True, slots=True)
class RunResults:
    """A run and its measured transfers, in the order they took place."""

    run: Run
    transfers: tuple[MeasuredTransfer, ...]
    problems: tuple[str, ...]
    """What could not be read or kept, one line each."""
    _worked_out: dict[Hashable, object] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The run's name in tables and legends."""
        return self.run.name

    def once(self, name: Hashable, work: Callable[[], T]) -> T:
        """What `work` makes of these results, kept under a name that nobody else uses: text, page and tables ask for
        the same."""
        if name not in self._worked_out:
            self._worked_out[name] = work()
        return cast("T", self._worked_out[name])

    @property
    def indices(self) -> list[str]:
        """The indices of the plan in its order, then any others that pairs have."""
        planned = [entry.index for entry in self.run.record.entries]
        return list(dict.fromkeys([*planned, *(pair.index for pair in self.run.pairs)]))

    def of(self, role: Role, index: str | None = None) -> list[MeasuredTransfer]:
        """The transfers of a role, of one index or all."""
        return [
            one for one in self.transfers if one.transfer.role == role and (index is None or one.pair.index == index)
        ]

    def baselines(self, index: str | None = None) -> list[Baseline]:
        """The baselines of the complete pairs of one index, or all."""
        pairs = self.run.complete_pairs
        return [pair.rtt for pair in pairs if pair.rtt is not None and (index is None or pair.index == index)]

    def transfer(self, pair: Pair, role: Role) -> MeasuredTransfer | None:
        """A pair's probe or data transfer."""
        return self.once("transfers by pair", self._by_pair).get((pair.sequence, role))

    def _by_pair(self) -> dict[tuple[int, Role], MeasuredTransfer]:
        return {(one.pair.sequence, one.transfer.role): one for one in self.transfers}

    def choose(self, sequence: int | None) -> Choice:
        """The pair of this number, or the one whose data transfer had the lowest throughput."""
        pairs = self.run.complete_pairs
        if sequence is None:
            lowest = min(pairs, key=_data_bps)
            return Choice(lowest, f"the lowest data throughput of the run, {si(_data_bps(lowest), 'bit/s')}")
        found = [pair for pair in pairs if pair.sequence == sequence]
        if not found:
            there = f"complete pairs are between {pairs[0].sequence} and {pairs[-1].sequence}"
            raise NoSuchPairError(f"{self.run.folder}: no complete pair {sequence}: {there}")
        return Choice(found[0], "asked for")

    def usual(self, index: str) -> Choice:
        """The pair of an index whose data throughput is the median's, to compare another one with."""
        pairs = sorted((pair for pair in self.run.complete_pairs if pair.index == index), key=_data_bps)
        return Choice(pairs[(len(pairs) - 1) // 2], f"the median data throughput of {index}")


def goodput_bps(transfers: Sequence[MeasuredTransfer]) -> Floats:
    """Throughput as the sending program timed it."""
    return np.array([one.transfer.goodput_bps for one in transfers], np.float64)


def kernel_retransmission_rate(transfers: Sequence[MeasuredTransfer]) -> Floats:
    """The sending kernel's own count; NaN where it did not tell."""
    kernel = (one.transfer.kernel.retransmission_rate if one.transfer.kernel else None for one in transfers)
    return np.array([np.nan if value is None else value for value in kernel], np.float64)


def measured(transfers: Sequence[MeasuredTransfer], get: Callable[[Measures], float | None]) -> Floats:
    """One number of each transfer; NaN where it was not measured."""
    values = (get(one.measures) for one in transfers)
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _data_bps(pair: Pair) -> float:
    return pair.data.goodput_bps if pair.data is not None else 0.0
