"""Which captures belong together: parts of one run are read as one, in time order; other captures are kept apart.

Rotated files and the interfaces of one host are one run. Two captures of the same traffic at two points (both ends of
a transfer) are not: each packet would be there twice. They are told by comparing the frames where both run.
"""

from collections.abc import Sequence
from enum import Enum
from itertools import combinations
from pathlib import Path

from vmtrace.analyze import _engine
from vmtrace.analyze.read.sources import Data, can_be_read_again
from vmtrace.analyze.read.stores.remote import RemoteObject

_SAME_TRAFFIC = 0.3
"""Of the frames of the shorter sample. Two ends of one transfer share nearly all, two interfaces of a host none (but
for a router's, which are two points as well)."""
_COMPARED_AT_MOST = 64
"""Comparing every pair of many files would take longer than analysing them: of more files than this, those of one
folder and those of one name are compared, each time the first ones only."""
_READ_FURTHER_AT_MOST = 28
"""Pairs of which one is read from its beginning to where the other starts."""


class Grouping(Enum):
    """How to treat several captures."""

    AUTO = "auto"
    MERGE = "merge"
    SEPARATE = "separate"


def group(inputs: Sequence[Data], how: Grouping) -> list[list[int]]:
    """The positions of the inputs in groups that are each one capture, in the order given.

    Inputs that can be read only once are not compared with others: that would take their beginning away.
    Nothing is raised for an input that cannot be read: the analysis will say what is wrong with it.
    """
    positions = list(range(len(inputs)))
    if how is Grouping.SEPARATE:
        return [[position] for position in positions]
    one = how is Grouping.MERGE or len(inputs) < 2
    if one or not all(map(can_be_read_again, inputs)):
        return [positions]
    groups: list[list[int]] = []
    group_of: dict[int, int] = {}
    rivals_of, frames = _rivals(inputs), _Frames(inputs)
    for position in positions:
        rivals = sorted(rivals_of.get(position, ()))
        for number, members in enumerate(groups):
            own = [rival for rival in rivals if group_of[rival] == number]
            if not any(frames.are_same(rival, position) for rival in own):
                members.append(position)
                group_of[position] = number
                break
        else:
            group_of[position] = len(groups)
            groups.append([position])
    return groups


def _rivals(inputs: Sequence[Data]) -> dict[int, set[int]]:
    """For each input those before it that may be the same traffic at another point."""
    kin: dict[object, list[int]] = {}
    for position, source in enumerate(inputs):
        path = _path_of(source)
        for relation in ("all",) if len(inputs) <= _COMPARED_AT_MOST or path is None else (path.parent, path.name):
            kin.setdefault(relation, []).append(position)
    rivals: dict[int, set[int]] = {}
    for positions in kin.values():
        for earlier, later in combinations(positions[:_COMPARED_AT_MOST], 2):
            rivals.setdefault(later, set()).add(earlier)
    return rivals


def _path_of(source: Data) -> Path | None:
    if isinstance(source, bytes):
        return None
    return Path(source.place.key if isinstance(source, RemoteObject) else source)


class _Frames:
    """The first frames of each input, read once, when they are first asked for."""

    def __init__(self, inputs: Sequence[Data]) -> None:
        self._inputs = inputs
        self._first: dict[int, _engine.FirstFrames | None] = {}
        self._read_further = 0

    def are_same(self, one: int, other: int) -> bool:
        """Whether two inputs show the same traffic."""
        frames, others = self._of(one), self._of(other)
        if frames is None or others is None:
            return False
        is_told, share = frames.shared(others)
        if not is_told and self._read_further < _READ_FURTHER_AT_MOST:
            self._read_further += 1
            share = self._share_further_on(one, other)
        return share is not None and share >= _SAME_TRAFFIC

    def _of(self, position: int) -> _engine.FirstFrames | None:
        if position not in self._first:
            try:
                self._first[position] = _engine.FirstFrames(self._inputs[position])
            except (OSError, _engine.TraceError):
                self._first[position] = None
        return self._first[position]

    def _share_further_on(self, one: int, other: int) -> float | None:
        try:
            return _engine.shared_frames(self._inputs[one], self._inputs[other])
        except (OSError, _engine.TraceError):
            return None
