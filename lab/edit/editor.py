"""Puts faults into a capture, one after the other, from one seed. The kinds of faults are in the files beside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Protocol

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.truth import Truth


class Fault(Protocol):
    """Something that goes wrong while traffic is recorded."""

    def apply(self, capture: Capture, random: Random) -> tuple[Capture, Truth]:
        """The capture with the fault, and what was done."""
        ...


@dataclass(frozen=True, slots=True)
class Edited:
    """A capture with known faults."""

    capture: Capture
    truth: Truth
    seed: int


def edit(clean: Capture, *faults: Fault, seed: int = 1) -> Edited:
    """Applies the faults in order. The same capture, faults and seed give the same bytes."""
    return edit_all(clean, faults, seed)


def edit_all(clean: Capture, faults: Iterable[Fault], seed: int) -> Edited:
    """See `edit`."""
    random, capture, truth = Random(seed), clean, Truth()
    for fault in faults:
        capture, done = fault.apply(capture, random)
        truth += done
    return Edited(capture, truth, seed)
