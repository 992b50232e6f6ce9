"""Stalls of a guest that nobody ordered: its machine was busy, and what the path had delivered waited.

Pure: deliveries and stamps in, stalls out. The emulator logs when it handed a packet to the guest's device, the capture
inside when the guest took it in; between the two stands nothing but the guest. A packet that waited longer than the
guest's timer tick shows that it stood still. Where no packet was under way nothing shows, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vmtrace.lab.accuracy.gap_truth import Event, Truth

LEAST_NS = 12_000_000
"""A tick of the guest's kernel (10 ms) and the time to take a packet in."""
_TOGETHER_NS = 2_000_000


@dataclass(frozen=True, slots=True)
class Passage:
    """A packet on its way into the guest: which one it is, and when it passed."""

    seq: int
    payload_bytes: int
    time_ns: int


def waits(delivered: Sequence[Passage], taken_in: Sequence[Passage]) -> list[tuple[int, int]]:
    """When each packet that the guest took in had been handed over, and when it was taken in (both in order of time).

    What the device dropped has no partner and is left out.
    """
    found, at = [], 0
    for passage in delivered:
        if at == len(taken_in):
            break
        taken = taken_in[at]
        if (taken.seq, taken.payload_bytes) == (passage.seq, passage.payload_bytes):
            found.append((passage.time_ns, taken.time_ns))
            at += 1
    return found


def unplanned(waited: Iterable[tuple[int, int]], planned: Sequence[Event], truth: Truth) -> list[Event]:
    """The stalls that these waits show and that are not among the planned ones."""
    shown: list[Event] = []
    for delivered_ns, taken_ns in waited:
        waiting = Event(delivered_ns, taken_ns, truth)
        if taken_ns - delivered_ns < LEAST_NS or any(_overlap(waiting, each) for each in planned):
            continue
        if shown and delivered_ns <= shown[-1].end_ns + _TOGETHER_NS:
            shown[-1] = Event(shown[-1].start_ns, max(shown[-1].end_ns, taken_ns), truth)
        else:
            shown.append(waiting)
    return shown


def _overlap(one: Event, other: Event) -> bool:
    # What was delivered while a planned stall lasted may be taken in a little after it. Right before one the guest may
    # have stood still for another reason: that is a stall of its own.
    return one.start_ns < other.end_ns + _TOGETHER_NS and other.start_ns < one.end_ns
