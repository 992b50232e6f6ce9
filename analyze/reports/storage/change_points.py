"""Steps in a series of throughput, found and dated, with what changed in the packets at the same time.

A step is looked for in medians of days (runs of 20 days or more), of hours (40 hours or more), or of a few requests,
and again on both sides of each (binary segmentation). Requests near in time are alike: `level_shift.py` allows for it.
A step counts if its p is below 0.01, corrected for the sizes and directions, and the medians before and after differ by
10 % with Cliff's delta of 0.33 or more. It is dated between two requests by least squares of logarithms, within the
neighbouring bins. Source: J. Romano and others (2006) for the size of the effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import mannwhitneyu

from vmtrace.analyze.reports.storage.packet_facts import PacketFacts
from vmtrace.analyze.reports.storage.requests import Ints, Requests
from vmtrace.analyze.stats.estimates import Floats
from vmtrace.analyze.stats.level_shift import FEWEST_EACH_SIDE, MOST_VALUES, level_shifts, shift_at

LARGEST_P = 0.01
SMALLEST_CHANGE = 0.10
SMALLEST_DELTA = 0.33
UNSCALED_WINDOW_BYTES = 65_535
_HOUR_NS = 3600 * 10**9
_BINS = (("day", 24 * _HOUR_NS, 20), ("hour", _HOUR_NS, 40))
"""With how many there are to be at the least."""
_MOST_OF_REQUESTS = 40
_MOST_STEPS = 20
_SMALLEST_RTT_CHANGE_S = 0.0002
_REQUESTS_AROUND = 12
_FEWEST_WINDOWS = 2.0
_MOST_ROUNDS_BESIDE = 8.0
"""Round trips of a request that carry no full window: to connect, to agree on TLS, to ask, and of slow start."""
_FASTER = 1.5
_WITHIN = 0.25
"""Of the predicted ratio: then window over RTT explains the step."""


@dataclass(frozen=True, slots=True)
class Change:
    """What was recorded before and after a step."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one size and direction: requests before and after it, by their places, in order of time."""

    size_bytes: int
    direction: str
    before: Ints
    after: Ints
    near: tuple[int, int]
    """How many of those before and after lie in the bins around: what the step is dated by."""
    unit: str
    """What it was found in: day, hour or request."""
    p: float


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """One step of one size and direction. It happened after `last_before_ns` and before `first_after_ns`."""

    size_bytes: int
    direction: str
    last_before_ns: int
    first_after_ns: int
    unit: str
    before_bps: float
    after_bps: float
    ratio: float
    cliffs_delta: float
    p: float
    n_before: int
    n_after: int
    rtt_before_s: float | None
    rtt_after_s: float | None
    window_bytes: int | None
    """The receiver's largest window after the step, where it was not scaled; None: scaled, or unknown."""
    changes: tuple[Change, ...]
    explanation: str | None


def steps_of(requests: Requests, rtt_s: Floats) -> Iterator[Step]:
    """All steps of all sizes and directions; they are looked for, with more right, where round trips stepped."""
    kinds = list(requests.kinds())
    moved_ns = _rtt_steps_ns(requests, rtt_s)
    for size, direction, there in kinds:
        places = np.flatnonzero(there & (requests.bps > 0))
        places = places[np.argsort(requests.start_ns[places], kind="stable")]
        rates = requests.bps[places]
        for split, low, high, near, unit, p in _splits(requests.start_ns[places], rates, len(kinds), moved_ns):
            if _is_step(rates[low:split], rates[split:high]):
                yield Step(size, direction, places[low:split], places[split:high], near, unit, p)


def cliffs_delta(first: Floats, second: Floats) -> float:
    """How much more often a value of the second is the larger one: -1 to 1."""
    u = float(mannwhitneyu(second, first, method="asymptotic").statistic)
    return 2 * u / (len(first) * len(second)) - 1


def _splits(
    times_ns: Ints, values: Floats, tests: int, moved_ns: Sequence[int]
) -> Iterator[tuple[int, int, int, tuple[int, int], str, float]]:
    """Steps as (first place after, begin and end of the stretch around, how many are near, unit, p)."""
    unit, bins = _binned(times_ns)
    edges = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist(), len(values)]
    medians = np.array([np.median(values[low:high]) for low, high in pairwise(edges)])
    slow = unit == "day"
    found = list(_segmented(medians, tests, slow=slow))
    found += _at(medians, np.searchsorted(times_ns[edges[:-1]], moved_ns).tolist(), [one for one, _ in found], tests)
    found = sorted(found)[:_MOST_STEPS]
    dated = [_dated(values, edges, place) for place, _ in found]
    bounds = [0, *(split for split, _, _ in dated), len(values)]
    for number, (_, p) in enumerate(found):
        split, first, last = dated[number]
        low, high = bounds[number], bounds[number + 2]
        if low < split < high:
            yield split, low, high, (split - max(low, first), min(high, last) - split), unit, p


def _binned(times_ns: Ints) -> tuple[str, Ints]:
    """The number of the bin of each request: a day, an hour, or of neighbours where there are many."""
    for unit, length_ns, fewest in _BINS:
        _, bins = np.unique(times_ns // length_ns, return_inverse=True)
        if len(bins) and bins[-1] + 1 >= fewest:
            return unit, _merged(bins.astype(np.int64), MOST_VALUES)
    return "request", _merged(np.arange(len(times_ns), dtype=np.int64), _MOST_OF_REQUESTS)


def _merged(bins: Ints, most: int) -> Ints:
    count = int(bins[-1]) + 1 if len(bins) else 0
    return bins * most // count if count > most else bins


def _segmented(values: Floats, tests: int, *, slow: bool) -> Iterator[tuple[int, float]]:
    """Places and p values, corrected for so many tests; only of days a change may be slow."""
    waiting = [(0, len(values))]
    while waiting:
        low, high = waiting.pop()
        found = level_shifts(np.log(values[low:high]))
        if found is None or (p := min(1.0, found.p * tests)) >= LARGEST_P:
            continue
        kept = [low + one for one, sudden in zip(found.places, found.sudden, strict=True) if sudden or slow]
        edges = [low, *kept, high]
        steps = [b for a, b, c in zip(edges, edges[1:], edges[2:], strict=False) if _is_step(values[a:b], values[b:c])]
        yield from ((place, p) for place in steps)
        if steps:
            waiting += pairwise([low, *steps, high])


def _at(values: Floats, places: Sequence[int], known: Sequence[int], tests: int) -> Iterator[tuple[int, float]]:
    """Steps at places that something else gives, where none is known within the fewest values."""
    for place in places:
        others = [0, *known, len(values)]
        if any(abs(place - one) < FEWEST_EACH_SIDE for one in others):
            continue
        low, high = max(one for one in others if one < place), min(one for one in others if one > place)
        p = min(1.0, shift_at(np.log(values[low:high]), place - low) * tests)
        if p < LARGEST_P and _is_step(values[low:place], values[place:high]):
            yield place, p


def _rtt_steps_ns(requests: Requests, rtt_s: Floats) -> list[int]:
    """When the round trips of all requests stepped."""
    places = np.flatnonzero(np.isfinite(rtt_s) & (rtt_s > 0))
    if not len(places):
        return []
    places = places[np.argsort(requests.start_ns[places], kind="stable")]
    times_ns, values = requests.start_ns[places], rtt_s[places]
    unit, bins = _binned(times_ns)
    edges = [0, *(np.flatnonzero(np.diff(bins)) + 1).tolist(), len(values)]
    medians = np.array([np.median(values[low:high]) for low, high in pairwise(edges)])
    found = [place for place, _ in _segmented(medians, 1, slow=unit == "day")]
    return [int(times_ns[_dated(values, edges, place)[0]]) for place in sorted(found)]


def _is_step(before: Floats, after: Floats) -> bool:
    first, second = float(np.median(before)), float(np.median(after))
    apart = abs(second - first) >= SMALLEST_CHANGE * max(first, second)
    return apart and abs(cliffs_delta(before, after)) >= SMALLEST_DELTA


def _dated(values: Floats, edges: list[int], place: int) -> tuple[int, int, int]:
    """The first request after a step that was found at the begin of a bin, by least squares, and the bins around it."""
    around = 2 if edges[place + 1] - edges[place] > 1 else _REQUESTS_AROUND
    low, high = edges[max(0, place - around)], edges[min(len(edges) - 1, place + around)]
    return (low + _best_split(np.log(values[low:high])) if high - low >= 4 else edges[place]), low, high


def _best_split(values: Floats) -> int:
    """The number of values before a step that leaves the least squares around two means."""
    n = len(values)
    before = np.arange(1, n)
    sums = np.cumsum(values)
    explained = sums[:-1] ** 2 / before + (sums[-1] - sums[:-1]) ** 2 / (n - before)
    return int(np.argmax(explained)) + 1


def point_of(requests: Requests, facts: PacketFacts | None, step: Step, dated_ns: tuple[int, int]) -> ChangePoint:
    """With what changed beside it; the date is that of its event."""
    before, after = step.before, step.after
    first, second = requests.bps[before], requests.bps[after]
    medians = float(np.median(first)), float(np.median(second))
    rtts = (None, None) if facts is None else (median_of(facts.rtt_s[before]), median_of(facts.rtt_s[after]))
    window = None if facts is None else _unscaled_window(facts, before, after)
    return ChangePoint(
        step.size_bytes,
        step.direction,
        *dated_ns,
        step.unit,
        *medians,
        medians[1] / medians[0],
        cliffs_delta(first, second),
        step.p,
        len(first),
        len(second),
        *rtts,
        window,
        tuple(_changes(requests, facts, before, after)),
        _explained(step.size_bytes, medians, rtts, window),
    )


def median_of(values: Floats) -> float | None:
    """Of what is known."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def _unscaled_window(facts: PacketFacts, *sides: Ints) -> int | None:
    found = []
    for places in sides:
        scales, windows = facts.window_scale[places], facts.window_bytes[places]
        known = np.isfinite(scales) & np.isfinite(windows)
        if not known.any() or (scales[known] > 0).any():
            return None
        found.append(min(int(windows[known].max()), UNSCALED_WINDOW_BYTES))
    return found[-1]


def fills(size_bytes: int, rate_bps: float, rtt_s: float | None, window_bytes: float | None) -> bool:
    """Whether rate times RTT reaches the window, but for the round trips of a request that carry less."""
    if not rtt_s or not window_bytes or window_bytes <= 0 or size_bytes < _FEWEST_WINDOWS * window_bytes:
        return False
    windows, rounds = size_bytes / window_bytes, size_bytes / (rate_bps / 8 * rtt_s)
    return windows / _FASTER <= rounds <= max(windows + _MOST_ROUNDS_BESIDE, 2 * windows)


def _explained(
    size_bytes: int, rates: tuple[float, float], rtts: tuple[float | None, float | None], window: int | None
) -> str | None:
    """A window without scaling, where it is full on both sides, and predicts the step by its size over the RTT."""
    before_s, after_s = rtts
    if window is None or not before_s or not after_s or abs(after_s - before_s) < _SMALLEST_RTT_CHANGE_S:
        return None
    ratio, predicted, apart_s = rates[1] / rates[0], before_s / after_s, after_s - before_s
    if not all(fills(size_bytes, rate, rtt, window) for rate, rtt in zip(rates, rtts, strict=True)):
        return None
    if abs(ratio / predicted - 1) > _WITHIN:
        return None
    return (
        f"the RTT {'rose' if apart_s > 0 else 'fell'} by {abs(apart_s) * 1e3:.2g} ms ({before_s * 1e3:.3g} to"
        f" {after_s * 1e3:.3g} ms) and the window is at most {window:,} bytes (no window scale):"
        f" window / RTT predicts x {predicted:.2f}, seen x {ratio:.2f}"
    )


def _changes(requests: Requests, facts: PacketFacts | None, before: Ints, after: Ints) -> Iterator[Change]:
    yield from _addresses(requests, before, after)
    if facts is None:
        return
    first, second = (facts.rtt_s[side][np.isfinite(facts.rtt_s[side])] for side in (before, after))
    if min(len(first), len(second)) >= FEWEST_EACH_SIDE:
        medians = float(np.median(first)), float(np.median(second))
        apart_s = abs(medians[1] - medians[0])
        if apart_s >= max(_SMALLEST_RTT_CHANGE_S, SMALLEST_CHANGE * medians[0]):
            test = mannwhitneyu(first, second, method="asymptotic")
            if test.pvalue < LARGEST_P:
                yield Change("RTT", f"{medians[0] * 1e3:.3g} ms", f"{medians[1] * 1e3:.3g} ms")
    for what, values, unit in (
        ("window scale", facts.window_scale, ""),
        ("largest window", facts.window_bytes, " bytes"),
        ("segment size", facts.segment_bytes, " bytes"),
    ):
        usual = median_of if values is facts.window_bytes else _usual  # a window grows and differs with each connection
        low, high = usual(values[before]), usual(values[after])
        if low is not None and high is not None and abs(high - low) > SMALLEST_CHANGE * abs(low):
            yield Change(what, _shown(low, unit), _shown(high, unit))


def _addresses(requests: Requests, before: Ints, after: Ints) -> Iterator[Change]:
    sets = [set(np.unique(requests.front_end[side]).tolist()) - {-1} for side in (before, after)]
    if sets[0] and sets[1] and sets[0].isdisjoint(sets[1]):
        shown = [", ".join(sorted(requests.front_ends[code] for code in one)[:4]) for one in sets]
        yield Change("addresses", shown[0], shown[1])


def _usual(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    found, counts = np.unique(known, return_counts=True)
    return float(found[np.argmax(counts)])


def _shown(value: float, unit: str) -> str:
    return "none" if value <= 0 else f"{value:,.0f}{unit}"
