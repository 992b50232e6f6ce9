"""Verdicts on the kinds of `field_runs`, at the sender, in the middle and at the receiver: part `field`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from vmtrace.lab.accuracy import field_runs, gap_runs
from vmtrace.lab.accuracy.programs import OPEN, RIGHT, WRONG, told_of
from vmtrace.lab.accuracy.strangers import read_document
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.accuracy.verdict_runs import Labelled

PLACES = ("sender", "middle", "receiver")


@dataclass(slots=True)
class Measured:
    """Results by kind and place; what was wrong, in words; transfers that could not be made."""

    results: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    transfers: int = 0

    def count(self, place: str, result: str, kind: str | None = None) -> int:
        """Transfers with such a result at a place, of one kind or of all."""
        return sum(
            number
            for (of_kind, at, shown), number in self.results.items()
            if (at, shown) == (place, result) and kind in {None, of_kind}
        )

    def judged(self, place: str) -> int:
        """Transfers that were judged at a place."""
        return sum(self.count(place, result) for result in (RIGHT, OPEN, WRONG))

    @property
    def kinds(self) -> list[str]:
        """In the order in which they were drawn."""
        return list(dict.fromkeys(kind for kind, _, _ in self.results))


def study(options: Options) -> Outcome:
    """Verdicts on transfers of the field's kinds."""
    drawn = options.chosen(field_runs.draw(options.seed, options.each))
    measured = measure(drawn, options.out, options.seed, no_runs=options.no_runs)
    return Outcome(
        f"{measured.transfers} transfers, {options.each} of each kind", ["", *sections(measured)], failed=False
    )


def measure(drawn: Iterable[Labelled], out: Path, seed: int, *, no_runs: bool = False) -> Measured:
    """Makes the transfers that are missing, and judges all; prints a line for each place."""
    measured = Measured()
    for labelled, made in gap_runs.each_made(drawn, out, seed, measured.refused, no_runs=no_runs):
        measured.transfers += 1
        for place in PLACES:
            if place in made.captures and place in labelled.places:
                _judge(measured, labelled, place, made.captures[place], made.data_sender)
    return measured


def _judge(measured: Measured, labelled: Labelled, place: str, capture: Path, sender: str) -> None:
    shown = told_of(read_document(capture) or {"connections": []}, sender)
    result = shown.result(labelled.factors)
    measured.results[labelled.name.rpartition("-")[0], place, result] += 1
    said = ", ".join(f"{factor} {confidence:.2f}" for factor, confidence in shown.ranked) or "nothing"
    print(f"{labelled.name} ({labelled.crossed}) at the {place}: {result}, {said}", flush=True)
    if result == WRONG:
        measured.wrong.append(f"{labelled.name} at the {place}: {said}")


def sections(measured: Measured) -> list[str]:
    """The table in Markdown, line by line."""
    lines = [f"| kind | {' | '.join(PLACES)} |", "|---|---|---|---|"]
    for kind in measured.kinds:
        cells = (_cell([measured.count(place, result, kind) for result in (RIGHT, OPEN, WRONG)]) for place in PLACES)
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    counted = (
        f"{place} {measured.count(place, RIGHT)} of {measured.judged(place)} right, {measured.count(place, OPEN)} open"
        for place in PLACES
    )
    lines += ["", f"In all: {'; '.join(counted)}. Wrong: {'; '.join(measured.wrong) or 'none'}."]
    return lines + ([f"Not judged: {', '.join(measured.refused)}."] if measured.refused else [])


def _cell(counts: list[int]) -> str:
    right, open_, wrong = counts
    return f"{right} right" + (f", {open_} open" if open_ else "") + (f", **{wrong} wrong**" if wrong else "")
