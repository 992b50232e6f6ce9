"""Transfers of real programs: a study of `make accuracy`.

iperf3, nginx, curl, wget, rsync, ssh and Python's servers do not send as the lab's own ends do: they write in their own
pieces, rest, negotiate and read when they like. Each transfer runs over the emulated path, and vmtrace's verdict from
three captures is judged by what the programs and the path were told. A program that is not installed is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import program_others, program_reported, program_runs, program_transfers
from vmtrace.lab.accuracy.program_commands import missing
from vmtrace.lab.accuracy.program_runs import PLACES, Made, NotMadeError
from vmtrace.lab.accuracy.program_transfers import ProgramTransfer
from vmtrace.lab.accuracy.strangers import read_document
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.hosts import ADDRESSES

RIGHT, OPEN, WRONG = "right", "open", "wrong"
_ATTEMPTS = 3
_PART_OF_THE_MOST = 5
"""Of several connections those count that carried at least such a part (one in so many) of what the largest did."""


@dataclass(frozen=True, slots=True)
class Told:
    """What vmtrace told at one place: the verdict of each connection that carried data, and the repeats of all."""

    verdicts: tuple[str, ...]
    """Factors; `open` for one that is left open, and where there is none."""
    retransmitted_segments: int
    ranked: tuple[tuple[str, float], ...] = ()
    """Of each verdict that there is: the factor that it names first, also where it is left open, and its confidence."""

    def result(self, factors: Sequence[str]) -> str:
        """Of all connections together: wrong if one is, open if one is and none is wrong."""
        if any(one not in factors and one != OPEN for one in self.verdicts):
            return WRONG
        return OPEN if OPEN in self.verdicts or not self.verdicts else RIGHT


@dataclass(frozen=True, slots=True)
class Judged:
    """A transfer, what the emulator knows of it, and what was told of it at each place."""

    transfer: ProgramTransfer
    made: Made
    told: Mapping[str, Told]


@dataclass(slots=True)
class Measured:
    """All transfers; those that were left out, with the reason."""

    judged: list[Judged] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def count(self, place: str, result: str) -> int:
        """Transfers with such a result at a place."""
        return sum(one.told[place].result(one.transfer.factors) == result for one in self.judged)


def draw(seed: int) -> list[ProgramTransfer]:
    """All transfers, with what a seed draws for each."""
    return [*program_transfers.draw(seed), *program_others.draw(seed), *program_reported.draw(seed)]


def told_of(document: Mapping[str, Any], sender: str) -> Told:
    """The answers in a document of `vmtrace analyze` on the data of an address."""
    ways = [(connection["verdict"], _way(connection, sender)) for connection in document["connections"]]
    most_bytes = max((way["unique_payload_bytes"] for _, way in ways), default=0)
    counting = [verdict for verdict, way in ways if way["unique_payload_bytes"] * _PART_OF_THE_MOST >= most_bytes > 0]
    verdicts = tuple(
        OPEN if verdict is None or verdict["undetermined_between"] else str(verdict["factor"]) for verdict in counting
    )
    ranked = tuple((str(verdict["factor"]), float(verdict["confidence"])) for verdict in counting if verdict)
    return Told(verdicts, sum(way["loss"]["retransmitted_segments"] for _, way in ways), ranked)


def _way(connection: Mapping[str, Any], sender: str) -> Mapping[str, Any]:
    from_client = connection["client"].rpartition(":")[0].strip("[]") == sender
    way: Mapping[str, Any] = connection["client_to_server" if from_client else "server_to_client"]
    return way


def study(options: Options) -> Outcome:
    """Verdicts on transfers of real programs."""
    drawn = options.chosen(draw(options.seed))
    measured = measure(drawn, options.out, options.seed, no_runs=options.no_runs)
    wrong = measured.count("sender", WRONG) > 0
    return Outcome(f"{len(measured.judged)} transfers", ["", *sections(measured)], failed=wrong)


def measure(
    transfers: Iterable[ProgramTransfer], out: Path, seed: int, *, no_runs: bool = False, attempts: int = _ATTEMPTS
) -> Measured:
    """Makes each transfer and judges it, with a line for each; with `no_runs` judges those that are there."""
    measured = Measured()
    for transfer in transfers:
        try:
            judged = _judged(transfer, out / f"{transfer.name}-seed{seed}", no_runs=no_runs, attempts=attempts)
        except NotMadeError as reason:
            measured.left_out.append(f"{transfer.name}: {reason}")
            print(f"{transfer.name} is left out: {reason}", flush=True)
            continue
        measured.judged.append(judged)
        print(_row(judged), flush=True)
    return measured


def _judged(transfer: ProgramTransfer, folder: Path, *, no_runs: bool, attempts: int) -> Judged:
    if no_runs:
        made = program_runs.load(folder)
        if made is None:
            raise NotMadeError("no run is there")
    elif absent := missing(transfer.server, transfer.client):
        raise NotMadeError(f"not installed: {', '.join(absent)}")
    else:
        made = program_runs.run(transfer, folder, attempts)
    sender = ADDRESSES[transfer.ip_version]["sender"]
    shown = {}
    for place in PLACES:
        document = read_document(folder / f"{place}.pcap")
        if document is None:
            raise NotMadeError(f"the capture at the {place} cannot be read")
        shown[place] = told_of(document, sender)
    return Judged(transfer, made, shown)


def sections(measured: Measured) -> list[str]:
    """The results in Markdown, line by line."""
    lines = [
        "| transfer | options | path and hosts | must be limited by | since | " + " | ".join(PLACES)
        + " | goodput, Mbit/s | repeated segments: log / vmtrace |",
        "|---|---|---|---|---|---|---|---|---:|---:|",
    ]  # fmt: skip
    lines += [_row(one) for one in measured.judged]
    counted = (
        f"{place} {measured.count(place, RIGHT)} of {len(measured.judged)} right, {measured.count(place, OPEN)} open"
        for place in PLACES
    )
    lines += ["", f"In all: {'; '.join(counted)}."]
    if any(one.made.problems for one in measured.judged):
        lines += ["", "(b): the machine was busy, so that delays were not those of the path."]
    if measured.left_out:
        lines += ["", f"Left out: {'; '.join(measured.left_out)}."]
    return lines


def _row(judged: Judged) -> str:
    transfer, made = judged.transfer, judged.made
    own = judged.told["sender"].retransmitted_segments
    # What the kernel dropped never reached the emulator's log.
    log = own if transfer.kernel_limit else made.retransmitted_segments
    cells = [
        f"{transfer.name}{' (b)' if made.problems else ''}",
        transfer.told,
        transfer.setting,
        " or ".join(f"`{factor}`" for factor in transfer.factors),
        transfer.why,
        *(_cell(judged.told[place], transfer.factors) for place in PLACES),
        f"{made.goodput_bps / 1e6:.1f}",
        f"{'-' if transfer.kernel_limit else log} / {own}" if log == own else f"{log} / **{own}**",
    ]
    return f"| {' | '.join(cells)} |"


def _cell(told: Told, factors: Sequence[str]) -> str:
    result = told.result(factors)
    if result != WRONG:
        return result
    wrong = sorted({one for one in told.verdicts if one not in factors and one != OPEN})
    return f"**{result}**: {', '.join(f'`{one}`' for one in wrong)}"
