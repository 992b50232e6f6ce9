"""`python -m vmtrace.lab.accuracy.gap_stalls --out DIR --seed N`: precision and recall for stalls longer than a probe.

Runs what is missing in the folder (root, user-mode-linux), then reads every transfer that is there, so that it can be
repeated with another engine. Each miss and each false alarm is listed. Another `--seed` draws other parameters: those
of the rules' making are no measure of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab import tcp_info
from vmtrace.lab.accuracy import gap_runs, gap_stall_runs
from vmtrace.lab.accuracy.gap_causes import analysis
from vmtrace.lab.accuracy.gap_runs import Made
from vmtrace.lab.accuracy.gap_stall_score import FalseAlarm, SenderState, StallTally, states, table
from vmtrace.lab.accuracy.gap_truth import HOSTS, STALLS, Gap, Place, gaps_of
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.hosts import ADDRESSES

_LIMIT_MS = 10.0
"""Gaps longer than this are listed; the engine judges no shorter ones."""


def directions(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Address of the sender, and the direction, of every connection."""
    for connection in document["connections"]:
        for end, way in (("client", "client_to_server"), ("server", "server_to_client")):
            yield connection[end].rpartition(":")[0], connection[way]


def sender_states(made: Made, folder: Path) -> list[SenderState]:
    """What the kernel of the data's sender knew, from its samples of TCP_INFO."""
    role = "sender" if made.data_sender == ADDRESSES[4]["sender"] else "receiver"
    return states(tcp_info.read_table(folder / f"tcp_info.{role}.csv"))


@dataclass(slots=True)
class Measured:
    """What was told of the transfers, by whose stall and where captured; those that could not be judged, and why."""

    tallies: dict[str, StallTally] = field(default_factory=dict)
    transfers: int = 0
    refused: list[str] = field(default_factory=list)

    @property
    def false_kinds(self) -> set[str]:
        """The transfers without any stall of which one was told."""
        without = (tally for name, tally in self.tallies.items() if name.startswith(_WITHOUT))
        return {alarm.name for tally in without for alarm in tally.false_alarms}


_WITHOUT = "no stall"


def add_transfer(measured: Measured, folder: Path) -> None:
    """Count one transfer: its stalls, if it has any, else whatever is told as one."""
    made = gap_runs.load(folder)
    hosts = {event.truth for event in made.events} & HOSTS
    if hosts and (stood_ns := gap_runs.longest_standstill_ns(folder)) > gap_runs.LONGEST_STANDSTILL_NS:
        measured.refused.append(f"{made.name} (the emulator paused for {stood_ns / 1e6:.0f} ms)")
        return
    measured.transfers += 1
    events = [*made.events, *gap_runs.unplanned_stalls(made, folder)]
    known = sender_states(made, folder) if hosts else []
    kind = f"{next(iter(hosts))}" if hosts else _WITHOUT
    for place in Place:
        tally = measured.tallies.setdefault(f"{kind}, at the {place}", StallTally())
        for sender, direction in directions(analysis(made.captures[place], _LIMIT_MS)):
            gaps = gaps_of(direction)
            _check_listed(gaps, direction)
            if sender == made.data_sender:
                tally.add(folder.name, place, gaps, events, known)
            else:
                false = [gap for gap in gaps if gap.cause in STALLS]
                tally.told += len(false)
                tally.false_alarms += [FalseAlarm(folder.name, gap) for gap in false]


def _check_listed(gaps: list[Gap], direction: Mapping[str, Any]) -> None:
    shown, summed = sum(gap.cause in STALLS for gap in gaps), direction["spacing"].get("stalls") or 0
    if shown != summed:
        raise RuntimeError(
            f"{summed} stalls are counted and {shown} listed: the transfer has too many gaps for the list"
        )


def study(options: Options) -> Outcome:
    """Stalls longer than the probe, and what is reported of transfers without any; prints each miss and false alarm."""
    drawn = options.chosen(gap_runs.Runner(*one) for one in gap_stall_runs.draw(options.seed, options.each).items())
    measured = measure(drawn, options)
    print("\n".join(listed(measured)), flush=True)
    count = f"{measured.transfers} transfers, {options.each} with a guest at either end"
    return Outcome(count, sections(measured), failed=bool(measured.false_kinds))


def measure(drawn: Iterable[gap_runs.Wanted], options: Options) -> Measured:
    """Makes the transfers that are missing, and judges those that are there."""
    measured = Measured()
    made = gap_runs.each_made(drawn, options.out, options.seed, measured.refused, no_runs=options.no_runs)
    for one, _ in made:
        add_transfer(measured, options.out / f"{one.name}-seed{options.seed}")
    return measured


def sections(measured: Measured) -> list[str]:
    """The table in Markdown, line by line, and what was told where nothing stood still."""
    lines = ["", *table(dict(sorted(measured.tallies.items()))).splitlines()]
    kinds = ", ".join(sorted(measured.false_kinds)) or "none"
    lines += ["", f"Transfers without a stall of which one is reported: {kinds}."]
    if measured.refused:
        lines += ["", f"Not judged: {', '.join(measured.refused)}."]
    return lines


def listed(measured: Measured) -> list[str]:
    """Each miss and each false alarm."""
    found = []
    for name, tally in sorted(measured.tallies.items()):
        each = [str(one) for one in (*tally.missed, *tally.false_alarms)]
        found += ["\n  ".join((f"{name}:", *each))] if each else []
    return found
