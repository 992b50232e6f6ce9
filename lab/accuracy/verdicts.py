"""`python -m vmtrace.lab.accuracy.verdicts --out DIR`: what limited transfers of which that is known.

Three things are judged at the sender, in the middle and at the receiver: the verdict beside what limits the transfer by
construction, the limiting factor of every moment beside what kernel and emulator witnessed, and the token bucket beside
the one there was. Runs what is missing in the folder (root; user-mode-linux for stalls), reads what is there. Another
`--seed` draws other parameters: those of the rules' making are no measure of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import (
    demands,
    gap_runs,
    limit_score,
    limit_tables,
    limit_truth,
    limit_witnesses,
    readings,
    verdict_runs,
)
from vmtrace.lab.accuracy.gap_causes import analysis
from vmtrace.lab.accuracy.gap_runs import Made
from vmtrace.lab.accuracy.limit_score import TimeScore
from vmtrace.lab.accuracy.limit_truth import Known, Witnesses, bucket_seen_behind_it
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.accuracy.verdict_runs import Labelled

UNDETERMINED, NONE = "undetermined", "none"
_SURE = 0.8
PLACES = ("sender", "middle", "receiver")


@dataclass(slots=True)
class Tally:
    """Verdicts at one place: label and verdict with their number, and those that were wrong."""

    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    right: int = 0
    undetermined: int = 0
    wrong: list[str] = field(default_factory=list)
    wrong_and_sure: list[str] = field(default_factory=list)

    def add(self, name: str, factors: tuple[str, ...], verdict: Mapping[str, Any] | None) -> str:
        """Counts one verdict; returns how it is called."""
        shown = NONE if verdict is None else str(verdict["factor"])
        if verdict is not None and verdict["undetermined_between"]:
            shown = UNDETERMINED
        self.verdicts[factors[0], shown] += 1
        if shown in factors:
            self.right += 1
        elif shown == UNDETERMINED:
            self.undetermined += 1
        else:
            self.wrong.append(name)
            if verdict is not None and verdict["confidence"] > _SURE:
                self.wrong_and_sure.append(name)
        return shown

    @property
    def all(self) -> int:
        """Verdicts counted."""
        return sum(self.verdicts.values())

    @property
    def score(self) -> float | None:
        """Share of right verdicts, those left open counted as half; none without any."""
        return (self.right + self.undetermined / 2) / self.all if self.all else None


def table(tally: Tally) -> str:
    """The confusion matrix in Markdown: labels down, verdicts across."""
    columns = sorted({shown for _, shown in tally.verdicts})
    labels = sorted({label for label, _ in tally.verdicts})
    lines = [f"| limited by | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
    for label in labels:
        cells = (str(tally.verdicts.get((label, shown), "")) for shown in columns)
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def direction_of(document: Mapping[str, Any], sender: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The connection that carried most of an address's data, and that data's direction."""

    def way(connection: Mapping[str, Any]) -> Mapping[str, Any]:
        from_client = connection["client"].rpartition(":")[0].strip("[]") == sender
        found: Mapping[str, Any] = connection["client_to_server" if from_client else "server_to_client"]
        return found

    most: Mapping[str, Any] = max(document["connections"], key=lambda connection: int(way(connection)["payload_bytes"]))
    return most, way(most)


@dataclass(frozen=True, slots=True)
class Seen:
    """What vmtrace told of one transfer at one place."""

    verdict: Mapping[str, Any] | None
    time: TimeScore
    bucket: Mapping[str, Any] | None
    by_trigger: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Judged:
    """One transfer with what was told at every place."""

    labelled: Labelled
    witnesses: Witnesses
    seen: Mapping[str, Seen]
    triggers: limit_tables.Triggers | None = None
    witnessed: float = 1.0
    """Share of the time in which the factors of the label are right by what the kernel and the emulator tell."""


@dataclass(slots=True)
class Measured:
    """All transfers that could be judged; those that could not, with the reason."""

    judged: list[Judged] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def tally(self, place: str) -> Tally:
        """The verdicts at a place."""
        tally = Tally()
        for one in self.judged:
            if place in one.seen:
                tally.add(one.labelled.name, one.labelled.factors, one.seen[place].verdict)
        return tally

    def time(self, place: str) -> TimeScore:
        """The limiting factors over time at a place."""
        score = TimeScore()
        for one in self.judged:
            if place in one.seen:
                score.add(one.seen[place].time)
        return score


def study(options: Options) -> Outcome:
    """Verdicts, limiting factors over time, token buckets and causes, at each place."""
    drawn = options.chosen(verdict_runs.draw(options.seed, options.each))
    measured = measure(drawn, options.out, options.seed, no_runs=options.no_runs)
    wrong = any(measured.tally(place).wrong_and_sure for place in PLACES)
    count = f"{len(measured.judged)} transfers, {options.each} of each kind"
    return Outcome(count, sections(measured), failed=wrong)


def measure(wanted: Iterable[Labelled], out: Path, seed: int, *, no_runs: bool = False) -> Measured:
    """Makes the transfers that are missing, and judges all; prints a line for each place."""
    measured = Measured()
    for labelled, _ in gap_runs.each_made(wanted, out, seed, measured.refused, no_runs=no_runs):
        judged = judge(labelled, out / f"{labelled.name}-seed{seed}")
        if judged.witnessed < labelled.witnessed:
            seen_for = f"its factor was seen for {judged.witnessed:.0%} of the time only"
            measured.refused.append(f"{labelled.name} ({seen_for})")
            print(f"{labelled.name}: {seen_for}", flush=True)
            continue
        measured.judged.append(judged)
        for place, seen in judged.seen.items():
            print(_line(judged, place, seen), flush=True)
    return measured


def judge(labelled: Labelled, folder: Path) -> Judged:
    """What vmtrace tells of the transfer in a folder."""
    made = gap_runs.load(folder)
    witnesses = limit_witnesses.of(folder, made)
    known = limit_truth.known(witnesses)
    seen = {place: _seen(made, place, witnesses, known) for place in PLACES if place in made.captures}
    witnessed = limit_truth.share(known, labelled.factors)
    return Judged(labelled, witnesses, seen, _triggers(folder, made, seen["sender"]), witnessed)


def _triggers(folder: Path, made: Made, seen: Seen) -> limit_tables.Triggers | None:
    """Causes of retransmissions, where the kernel's counters are known (no guest)."""
    if not (folder / "truth.json").exists():
        return None
    kernel = demands.kernel_triggers(json.loads((folder / "truth.json").read_text()))
    if not any(kernel.values()):
        return None
    tshark = readings.of_tshark(made.captures["sender"], made.data_sender)
    own, other = demands.own_triggers(seen.by_trigger), demands.tshark_triggers(tshark.triggers)
    return limit_tables.Triggers(kernel, {"vmtrace": own, "tshark": other})


def _seen(made: Made, place: str, witnesses: Witnesses, known: list[Known]) -> Seen:
    connection, way = direction_of(analysis(made.captures[place], None), made.data_sender)
    # What the sender does is seen so much later.
    later_s = {"sender": 0.0, "middle": witnesses.path.delay_s / 2, "receiver": witnesses.path.delay_s}[place]
    shown = limit_score.told_of(way, round(later_s * 1e9))
    time = limit_score.score(known, shown, round(witnesses.round_trip_s * 1e9))
    return Seen(connection["verdict"], time, way.get("token_bucket"), way["loss"]["by_trigger"])


def _line(judged: Judged, place: str, seen: Seen) -> str:
    shown = Tally().add(judged.labelled.name, judged.labelled.factors, seen.verdict)
    sure = "" if seen.verdict is None else f" {seen.verdict['confidence']:.2f} {seen.verdict['sentence']}"
    right = "-" if seen.time.share is None else f"{seen.time.share:.0%}"
    return f"{judged.labelled.name} ({judged.labelled.crossed}) at the {place}: {shown}, time right {right};{sure}"


def sections(measured: Measured) -> list[str]:
    """The tables in Markdown, line by line."""
    lines = []
    for place in PLACES:
        tally = measured.tally(place)
        if tally.score is not None:
            lines += ["", f"#### Verdicts, at the {place}", "", _story(tally), "", table(tally)]
    for place in PLACES:
        time = measured.time(place)
        if time.share is not None:
            strict = time.strictly_right_ns / time.all_ns
            story = (
                f"{time.share:.1%} of {time.all_ns / 1e9:.0f} s right ({strict:.1%} without the round trip's grace)."
            )
            lines += ["", f"#### Limiting factor over time, at the {place}", "", story, "", limit_score.table(time)]
    found = [
        limit_tables.Bucket(
            one.labelled.name,
            bucket_seen_behind_it(one.witnesses),
            {place: one.seen[place].bucket if place in one.seen else None for place in PLACES},
        )
        for one in measured.judged
    ]
    lines += ["", "#### Token buckets", "", *limit_tables.buckets(found)]
    triggers = [one.triggers for one in measured.judged if one.triggers]
    lines += [
        "",
        "#### Causes of retransmissions",
        "",
        limit_tables.TRIGGERS_STORY,
        "",
        *limit_tables.triggers(triggers),
    ]
    if measured.refused:
        lines += ["", f"Not judged: {', '.join(measured.refused)}."]
    return lines


def _story(tally: Tally) -> str:
    wrong = f"; wrong: {', '.join(tally.wrong)}" if tally.wrong else ""
    sure = (
        f"; wrong above {_SURE}: {', '.join(tally.wrong_and_sure)}"
        if tally.wrong_and_sure
        else f"; none wrong above {_SURE}"
    )
    return f"{tally.right} of {tally.all} right, {tally.undetermined} left open, score {tally.score:.3f}{wrong}{sure}."
