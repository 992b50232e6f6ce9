"""Which captures belong together: parts of one run are read as one, in time order; other captures are kept apart.

Rotated files and the interfaces of one host are one run. Two captures of the same traffic at two points (both ends of
a transfer) are not: each packet would be there twice. They are told by comparing the frames where both run.
"""

from collections.abc import Sequence
from enum import Enum
from os import PathLike

from analyze import _engine
from analyze.capture_files import STANDARD_INPUT

Input = str | PathLike[str] | bytes

_SAME_TRAFFIC = 0.3
"""Of the frames of the shorter sample. Two ends of one transfer share nearly all, two interfaces of a host none (but
for a router's, which are two points as well)."""
_COMPARED_AT_MOST = 8
"""Every pair is compared: of more files than this only the first ones are, and the others taken as parts of the run."""


class Grouping(Enum):
    """How to treat several captures."""

    AUTO = "auto"
    MERGE = "merge"
    SEPARATE = "separate"


def group(inputs: Sequence[Input], how: Grouping) -> list[list[int]]:
    """The positions of the inputs in groups that are each one capture, in the order given.

    Nothing is raised for an input that cannot be read: the analysis will say what is wrong with it.
    """
    positions = list(range(len(inputs)))
    if how is Grouping.SEPARATE:
        return [[position] for position in positions]
    if how is Grouping.MERGE or len(inputs) < 2 or STANDARD_INPUT in inputs:
        return [positions]
    groups: list[list[int]] = []
    for position in positions:
        compared = position < _COMPARED_AT_MOST
        for members in groups:
            if not (compared and any(_same_traffic(inputs[position], inputs[member]) for member in members)):
                members.append(position)
                break
        else:
            groups.append([position])
    return groups


def _same_traffic(one: Input, other: Input) -> bool:
    try:
        share = _engine.shared_frames(one, other)
    except (OSError, _engine.TraceError):
        return False
    return share is not None and share >= _SAME_TRAFFIC
