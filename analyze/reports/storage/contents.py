"""What a client saves on content that it could save on: bytes that TCP carried against those of the workload.

Files of text show whether it compresses, files all alike whether it sends the same content once, files that each differ
from the last by a hundredth whether it sends changes alone. Random files of the same size show what it costs otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.reports.storage.overhead import OverheadRow
from vmtrace.analyze.reports.storage.records import RANDOM, Direction
from vmtrace.analyze.tables.schema.typed import Positive, one_of
from vmtrace.analyze.words.units import ratio

SAVED_SHARE = 0.1
"""So much less than random files take is a saving; framing and headers are far below it for files of a kilobyte on."""
_SAVING = {
    "compressible": ("it compresses", "it does not compress"),
    "repeated": ("it sends the same content once", "it sends the same content every time"),
    "changed": ("it sends what is new alone", "it sends changed files whole"),
}


@dataclass(frozen=True, slots=True)
class ContentRow:
    """One workload of files that are not random, in one direction."""

    workload: str
    direction: Direction
    content: Annotated[str, one_of("compressible", "repeated", "changed")]
    carried_ratio: Positive
    """Payload that TCP carried, each byte once, over the workload's."""
    random_ratio: Positive | None
    """The same of random files, as many and as large."""
    saves: bool
    """A tenth less than random files took."""
    sentence: str


def content_rows(run: MeasuredRun, overhead: Sequence[OverheadRow]) -> list[ContentRow]:
    """A row for each workload and direction whose bytes are known."""
    about = {kind: found[0].transaction for kind, found in run.kinds().items()}
    carried = {(row.workload, row.direction): row.tcp_payload_ratio for row in overhead}
    plain = {
        (about[kind].files, about[kind].bytes, kind[1]): value
        for kind, value in carried.items()
        if about[kind].content == RANDOM
    }
    rows = []
    for kind, value in carried.items():
        one = about[kind]
        if one.content in _SAVING and value is not None:
            rows.append(_row(kind, one.content, value, plain.get((one.files, one.bytes, kind[1]))))
    return rows


def _row(kind: tuple[str, str], content: str, carried: float, random: float | None) -> ContentRow:
    saves = carried <= (1 - SAVED_SHARE) * (1.0 if random is None else random)
    against_random = "" if random is None else f", random ones {ratio(random)}"
    does = _SAVING[content][0 if saves else 1]
    sentence = f"{kind[0]}, {kind[1]}: TCP carried {ratio(carried)} of {content} files{against_random}: {does}"
    return ContentRow(*kind, content, carried, random, saves, sentence)
