"""Predictions of a change, beside what happened when the change was made: part `what-if` of `make accuracy`.

A prediction is a hit where the median of the changed transfers lies in its interval, and near where its middle is
within 30 % of that. A verdict that offers another change says nothing of this one; so does one that gives a reason
instead of a rate. Where a change is not offered though it would have brought much, that is counted, too.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import what_if_runs
from vmtrace.lab.accuracy.gap_causes import analysis
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.accuracy.what_if_runs import Done, Pair

PLACES = ("sender", "receiver")
_NEAR = 0.3
_FAR = 2.0
_MUCH = 1.3


@dataclass(frozen=True, slots=True)
class Judged:
    """One pair at one place; rates in bit/s. Without a prediction `middle_bps` is None."""

    name: str
    kind: str
    base_bps: float
    true_bps: float
    middle_bps: float | None = None
    low_bps: float | None = None
    high_bps: float | None = None
    reason: str = ""

    @property
    def is_inside(self) -> bool:
        """The truth lies in the interval; an end that is not known bounds nothing."""
        return (self.low_bps or 0.0) <= self.true_bps <= (self.high_bps or float("inf"))

    @property
    def ratio(self) -> float:
        """Predicted over true."""
        return (self.middle_bps or 0.0) / self.true_bps

    @property
    def is_near(self) -> bool:
        """The middle is within 30 % of the truth."""
        return abs(self.ratio - 1) <= _NEAR

    @property
    def is_far(self) -> bool:
        """It is wrong by more than a factor of two."""
        return not 1 / _FAR <= self.ratio <= _FAR


@dataclass(slots=True)
class Measured:
    """All that was judged by place, and pairs that could not be made."""

    judged: dict[str, list[Judged]] = field(default_factory=lambda: {place: [] for place in PLACES})
    refused: list[str] = field(default_factory=list)

    @property
    def transfers(self) -> int:
        """Pairs."""
        return len(self.judged[PLACES[0]])


def study(options: Options) -> Outcome:
    """Predictions of the first transfer, beside those with exactly that change."""
    pairs = options.chosen(what_if_runs.draw(options.seed, options.each + 1))
    measured = measure(pairs, options.out, options.seed, options.times, no_runs=options.no_runs)
    wrong = any(one.is_far for one in measured.judged["sender"] if one.middle_bps is not None)
    count = f"{measured.transfers} pairs, each change made {options.times} times"
    return Outcome(count, sections(measured), failed=wrong)


def measure(pairs: Iterable[Pair], out: Path, seed: int, times: int, *, no_runs: bool = False) -> Measured:
    """Makes the pairs that are missing, and judges all; prints a line for each."""
    measured = Measured()
    for pair in pairs:
        folder = out / f"{pair.name}-seed{seed}"
        if not no_runs:
            what_if_runs.make(pair, folder, times)
        if not all((folder / name / "done.json").exists() for name in what_if_runs.names(times)):
            measured.refused.append(pair.name)
            print(f"{pair.name}: not there, or no run to rely on", flush=True)
            continue
        for place in PLACES:
            judged = judge(pair, folder, times, place)
            measured.judged[place].append(judged)
            print(line(judged, place), flush=True)
    return measured


def judge(pair: Pair, folder: Path, times: int, place: str) -> Judged:
    """What the verdict at a place predicts of a pair."""
    base, *changed = (what_if_runs.load(folder / name) for name in what_if_runs.names(times))
    true_bps = statistics.median(one.goodput_bps for one in changed)
    known = Judged(pair.name, pair.kind, base.goodput_bps, true_bps)
    return with_prediction(known, _verdict(base, place), pair.change)


def with_prediction(known: Judged, verdict: Mapping[str, Any] | None, change: str) -> Judged:
    """The same with what a verdict says of the change."""
    if verdict is None:
        return _without(known, "no verdict")
    found = next((one for one in verdict["what_if"] if one["change"] == change), None)
    if found is None:
        offered = ", ".join(one["change"] for one in verdict["what_if"]) or "no change"
        return _without(known, f"{verdict['factor']}: {offered}")
    if found["goodput_bps"] is None:
        return _without(known, found["reason"])
    ends = (found["goodput_bps"], found["low_bps"], found["high_bps"])
    return Judged(known.name, known.kind, known.base_bps, known.true_bps, *ends)


def _without(known: Judged, reason: str) -> Judged:
    return Judged(known.name, known.kind, known.base_bps, known.true_bps, reason=reason)


def _verdict(done: Done, place: str) -> Mapping[str, Any] | None:
    document = analysis(done.sender_pcap if place == "sender" else done.receiver_pcap, None)

    def payload(connection: Mapping[str, Any]) -> int:
        return sum(int(connection[way]["payload_bytes"]) for way in ("client_to_server", "server_to_client"))

    most: Mapping[str, Any] = max(document["connections"], key=payload)
    found: Mapping[str, Any] | None = most["verdict"]
    return found


def line(one: Judged, place: str) -> str:
    """For people who wait."""
    base, true = _mbps(one.base_bps), _mbps(one.true_bps)
    if one.middle_bps is None:
        return f"{one.name} at the {place}: {base} -> {true}, not predicted ({one.reason})"
    marks = "".join(
        word
        for word, holds in ((" OUTSIDE", not one.is_inside), (" FAR", not one.is_near), (" WRONG", one.is_far))
        if holds
    )
    interval = f"{_mbps(one.low_bps)} to {_mbps(one.high_bps)}"
    return f"{one.name} at the {place}: {base} -> {true}, predicted {_mbps(one.middle_bps)} ({interval}){marks}"


def _mbps(rate_bps: float | None) -> str:
    return "-" if rate_bps is None else f"{rate_bps / 1e6:.2f}"


def sections(measured: Measured) -> list[str]:
    """The tables in Markdown, line by line."""
    lines: list[str] = []
    for place in PLACES:
        judged = measured.judged[place]
        if judged:
            lines += ["", f"#### Predicted and true, at the {place}", "", _story(judged), "", *_table(judged)]
    lines += ["", "#### Every pair, at the sender", "", *_pairs(measured.judged["sender"])]
    if measured.refused:
        lines += ["", f"Not judged: {', '.join(measured.refused)}."]
    return lines


def _story(judged: list[Judged]) -> str:
    given = [one for one in judged if one.middle_bps is not None]
    inside, near = sum(one.is_inside for one in given), sum(one.is_near for one in given)
    far = [one.name for one in given if one.is_far]
    wrong = (
        f"wrong by more than a factor of two: {', '.join(far)}" if far else "none wrong by more than a factor of two"
    )
    return (
        f"{len(given)} of {len(judged)} predicted; {inside} inside the interval ({_share(inside, given)}), middle"
        f" within 30 % in {near} ({_share(near, given)}), {wrong}."
    )


def _share(count: int, given: list[Judged]) -> str:
    return f"{count / len(given):.0%}" if given else "-"


def _table(judged: list[Judged]) -> list[str]:
    head = (
        "| kind | pairs | predicted | inside | within 30 % | median of predicted over true | not offered, brings much |"
    )
    lines = [head, "|---|---:|---:|---:|---:|---:|---:|"]
    for kind in dict.fromkeys(one.kind for one in judged):
        of_kind = [one for one in judged if one.kind == kind]
        given = [one for one in of_kind if one.middle_bps is not None]
        ratio = f"{statistics.median(one.ratio for one in given):.2f}" if given else ""
        missed = sum(one.middle_bps is None and one.true_bps >= _MUCH * one.base_bps for one in of_kind)
        counts = (len(of_kind), len(given), sum(one.is_inside for one in given), sum(one.is_near for one in given))
        lines.append(f"| {kind} | {' | '.join(map(str, counts))} | {ratio} | {missed or ''} |")
    return lines


def _pairs(judged: list[Judged]) -> list[str]:
    lines = ["| pair | was | true | predicted | low | high | instead |", "|---|---:|---:|---:|---:|---:|---|"]
    for one in judged:
        rates = (one.base_bps, one.true_bps, one.middle_bps, one.low_bps, one.high_bps)
        lines.append(f"| {one.name} | {' | '.join(map(_mbps, rates))} | {one.reason} |")
    return lines
