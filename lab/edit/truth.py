"""What an edit did: the known answer. Frames are numbered from 1 as they stand in the clean capture."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class ClockStep:
    """From this frame on the clock is ahead by so much more (negative: set back)."""

    frame: int
    step_ns: int


@dataclass(frozen=True, slots=True)
class Truth:
    """Faults that were put in. A frame duplicated twice stands there twice; pairs are of frames that changed places."""

    dropped: tuple[int, ...] = ()
    duplicated: tuple[int, ...] = ()
    swapped: tuple[tuple[int, int], ...] = ()
    stepped: tuple[ClockStep, ...] = ()
    cut: tuple[int, ...] = ()
    rewritten: tuple[int, ...] = ()
    late: tuple[int, ...] = ()

    def __add__(self, other: Truth) -> Truth:
        """Both together."""
        return Truth(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Truth)))
