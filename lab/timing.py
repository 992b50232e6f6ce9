"""How exact the emulator was over a run of any length: a histogram of its delay error, and where it paused.

The delay error of a packet is at most what `PacketFate.delay_error_ns` says. Memory does not grow with packets.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain

from vmtrace.lab.emulator import LATENESS_P99_BOUND_S, LOOP_BOUND_S
from vmtrace.lab.fate_log import PacketFate

DELAY_ERROR_P99_BOUND_S = LATENESS_P99_BOUND_S
STANDSTILL_SHARE_BOUND = 0.001
_STEP_NS = 1_000
_FINE_STEPS = 10_000  # up to 10 ms by the microsecond; beyond that the bound is exceeded anyway
_LOOP_BOUND_NS = round(LOOP_BOUND_S * 1e9)


@dataclass(frozen=True, slots=True)
class DelayError:
    """Percentiles of the delay error, each at most a microsecond too large."""

    samples: int
    mean_s: float
    median_s: float
    p95_s: float
    p99_s: float
    max_s: float


class DelayErrors:
    """Counts errors as they come."""

    def __init__(self) -> None:
        self._counts = [0] * _FINE_STEPS
        self._beyond: int = 0
        self._samples = 0
        self._sum_ns = 0
        self._max_ns = 0

    def add(self, packet: PacketFate) -> None:
        """Count one packet; one that was lost has no delay, hence no error."""
        if packet.lost:
            return
        error_ns = packet.delay_error_ns
        step = error_ns // _STEP_NS
        if step < _FINE_STEPS:
            self._counts[step] += 1
        else:
            self._beyond += 1
        self._samples += 1
        self._sum_ns += error_ns
        self._max_ns = max(self._max_ns, error_ns)

    def summary(self) -> DelayError | None:
        """What came so far, or None when nothing did."""
        if not self._samples:
            return None
        return DelayError(
            samples=self._samples,
            mean_s=self._sum_ns / self._samples / 1e9,
            median_s=self._percentile_s(0.5),
            p95_s=self._percentile_s(0.95),
            p99_s=self._percentile_s(0.99),
            max_s=self._max_ns / 1e9,
        )

    def _percentile_s(self, share: float) -> float:
        seen = 0
        for step, count in enumerate(self._counts):
            seen += count
            if seen >= share * self._samples:
                return min((step + 1) * _STEP_NS, self._max_ns) / 1e9
        return self._max_ns / 1e9


@dataclass(frozen=True, slots=True)
class Standstill:
    """A time in which the emulator did not do what was due."""

    start_ns: int
    end_ns: int


class Standstills:
    """Times in which the emulator stood still beyond its bound: as packets show it, and as it noticed itself."""

    def __init__(self, long_turns: Iterable[tuple[int, int]]) -> None:
        self._own = [Standstill(start_ns, start_ns + length_ns) for start_ns, length_ns in long_turns]
        self._shown: list[Standstill] = []

    def add(self, packet: PacketFate) -> None:
        """Look at one packet, in order of entry."""
        if packet.waited_ns > _LOOP_BOUND_NS:
            self._show(packet.time_in_ns - packet.waited_ns, packet.time_in_ns)
        if not packet.lost and packet.time_out_ns - packet.time_due_ns > _LOOP_BOUND_NS:
            self._show(packet.time_due_ns, packet.time_out_ns)

    def _show(self, start_ns: int, end_ns: int) -> None:
        if self._shown and start_ns <= self._shown[-1].end_ns and end_ns >= self._shown[-1].start_ns:
            last = self._shown.pop()
            start_ns, end_ns = min(start_ns, last.start_ns), max(end_ns, last.end_ns)
        self._shown.append(Standstill(start_ns, end_ns))

    def merged(self) -> list[Standstill]:
        """All, in order of time, none overlapping another."""
        result: list[Standstill] = []
        for each in sorted(chain(self._own, self._shown), key=lambda each: each.start_ns):
            if result and each.start_ns <= result[-1].end_ns:
                each = Standstill(result[-1].start_ns, max(result.pop().end_ns, each.end_ns))  # noqa: PLW2901
            result.append(each)
        return result


def problems(errors: DelayError | None, standstills: Iterable[Standstill], duration_s: float) -> list[str]:
    """Why the emulator's timing was not good enough; empty when it was."""
    if errors is None:
        return ["no packet passed the emulator"]
    found = []
    if errors.p99_s > DELAY_ERROR_P99_BOUND_S:
        found.append(
            f"the emulator's delay error was {errors.p99_s * 1e3:.3f} ms at the 99th percentile,"
            f" beyond {DELAY_ERROR_P99_BOUND_S * 1e3:g} ms"
        )
    stood_s = sum(each.end_ns - each.start_ns for each in standstills) / 1e9
    if stood_s > STANDSTILL_SHARE_BOUND * duration_s:
        found.append(
            f"the emulator paused for {stood_s * 1e3:.1f} ms in total (pauses over {LOOP_BOUND_S * 1e3:g} ms),"
            f" more than {STANDSTILL_SHARE_BOUND * 100:g} % of the run"
        )
    return found


def as_json(errors: DelayError | None) -> dict[str, float | int] | None:
    """For a truth file."""
    return None if errors is None else asdict(errors)
