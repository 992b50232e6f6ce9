"""Frames that prove a verdict on several transfers: each piece names pair, transfer and the capture it is of.

Rule: docs/verdict.md, "Frames of the evidence on a run".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Annotated

from vmtrace.analyze.read.records.run import Role, Run, Side
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.judged import Judged, Proof, of_json
from vmtrace.analyze.tables.schema.typed import Count, bounds

MOST = 10
FEWEST = 3
_MOST_TRANSFERS = 5


@dataclass(frozen=True, slots=True)
class Evidence:
    """Frames that show something, of the capture `file`, named as seen from the run folder."""

    sequence: Count
    index: str
    role: Role
    file: str | None
    text: str
    frames: Annotated[tuple[Count, ...], bounds(maxItems=10)]
    display_filter: str


def judged(one: MeasuredTransfer) -> Judged | None:
    """The verdict on a transfer."""
    return of_json(one.measures.verdict)


def of_transfer(run: Run, one: MeasuredTransfer, found: Judged) -> list[Evidence]:
    """All pieces of a transfer's verdict."""
    return [_piece(run, one, proof) for proof in found.evidence]


def of_transfers(
    run: Run, chosen: Sequence[tuple[MeasuredTransfer, Judged]], most: int = _MOST_TRANSFERS
) -> list[Evidence]:
    """The first piece of each of these transfers; of a few transfers more than one, so that there are three."""
    pieces = [of_transfer(run, one, found) for one, found in chosen[:most]]
    made = list[Evidence]()
    for rank in zip_longest(*pieces):
        if len(made) >= FEWEST:
            break
        made += [piece for piece in rank if piece is not None]
    return made


def distinct(pieces: Iterable[Evidence]) -> tuple[Evidence, ...]:
    """No piece twice, and no more than people look at."""
    return tuple(dict.fromkeys(pieces))[:MOST]


def _piece(run: Run, one: MeasuredTransfer, proof: Proof) -> Evidence:
    side: Side = "sender" if proof.side == "sender" else "receiver"
    path = one.files.get(side)
    file = None
    if path is not None:
        file = str(path.relative_to(run.folder)) if path.is_relative_to(run.folder) else path.name
    return Evidence(
        one.pair.sequence, one.pair.index, one.transfer.role, file, proof.text, proof.frames, proof.display_filter
    )
