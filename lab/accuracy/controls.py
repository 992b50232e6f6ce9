"""What the sender's captures say of the congestion control, beside the one that the lab has set.

`python -m vmtrace.lab.accuracy --parts controls`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import control_runs, gap_runs
from vmtrace.lab.accuracy.control_runs import CONTROLS, Controlled
from vmtrace.lab.accuracy.gap_causes import analysis
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.accuracy.verdicts import direction_of

UNKNOWN, NONE = "unknown", "null"
_SURE = 0.8


@dataclass(frozen=True, slots=True)
class Told:
    """A transfer, the name that was told of its congestion control, and how sure that was."""

    transfer: Controlled
    name: str
    confidence: float

    @property
    def is_named(self) -> bool:
        """There is a name, right or wrong."""
        return self.name not in (UNKNOWN, NONE)

    @property
    def is_right(self) -> bool:
        """It is the one that the lab has set."""
        return self.name == self.transfer.control


@dataclass(slots=True)
class Measured:
    """All transfers that could be judged; those that could not."""

    told: list[Told] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def wrong_and_sure(self) -> list[Told]:
        """Names that are wrong above 0.8."""
        return [one for one in self.told if one.is_named and not one.is_right and one.confidence > _SURE]


def told_of(transfer: Controlled, found: Mapping[str, Any] | None) -> Told:
    """What a direction's `congestion_control` tells of a transfer."""
    if found is None:
        return Told(transfer, NONE, 0.0)
    return Told(transfer, str(found["name"]), float(found["confidence"] or 0.0))


def study(options: Options) -> Outcome:
    """Names of congestion controls, beside those that the lab has set."""
    drawn = options.chosen(control_runs.draw(options.seed, options.each))
    measured = measure(drawn, options.out, options.seed, no_runs=options.no_runs)
    return Outcome(f"{len(measured.told)} transfers", sections(measured), failed=bool(measured.wrong_and_sure))


def measure(wanted: Iterable[Controlled], out: Path, seed: int, *, no_runs: bool = False) -> Measured:
    """Makes the transfers that are missing, and judges all; prints a line for each."""
    measured = Measured()
    for transfer, made in gap_runs.each_made(wanted, out, seed, measured.refused, no_runs=no_runs):
        _, way = direction_of(analysis(made.captures["sender"], None), made.data_sender)
        shown = told_of(transfer, way["congestion_control"])
        measured.told.append(shown)
        print(f"{transfer.name:24} {shown.name:8} {shown.confidence:.2f} {transfer.told}", flush=True)
    return measured


def sections(measured: Measured) -> list[str]:
    """The tables in Markdown, line by line."""
    named = [one for one in measured.told if one.is_named]
    right = sum(one.is_right for one in named)
    story = f"{right} of {len(named)} names right; {len(measured.wrong_and_sure)} wrong above {_SURE}."
    lines = ["", story, "", *_table("congestion control", CONTROLS, measured, lambda one: one.transfer.control)]
    kinds = tuple(dict.fromkeys(one.transfer.kind for one in measured.told))
    lines += ["", *_table("path", kinds, measured, lambda one: one.transfer.kind)]
    if measured.refused:
        lines += ["", f"Not judged: {', '.join(measured.refused)}."]
    return lines


def _table(head: str, rows: Iterable[str], measured: Measured, row_of: Callable[[Told], str]) -> list[str]:
    columns = ("right", "wrong", UNKNOWN, NONE)
    counted = Counter((row_of(one), _column(one)) for one in measured.told)
    lines = [f"| {head} | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    return lines + [f"| {row} | {' | '.join(str(counted[row, column]) for column in columns)} |" for row in rows]


def _column(told: Told) -> str:
    if not told.is_named:
        return told.name
    return "right" if told.is_right else "wrong"
