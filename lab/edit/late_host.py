"""A host whose packets were recorded late by a constant: the clock of its tap differs from that of the other one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from vmtrace.lab.edit.capture import Capture
from vmtrace.lab.edit.segment import segment_of
from vmtrace.lab.edit.truth import Truth


@dataclass(frozen=True, slots=True)
class LateHost:
    """Packets of the host that sent the first frame, or of the others, are stamped late and stored in that order."""

    late_ns: int
    sent_the_first: bool = True

    def apply(self, capture: Capture, _: Random) -> tuple[Capture, Truth]:
        """See `Fault`."""
        first = segment_of(capture.frames[0], capture.link_type)
        late, moved = [], []
        for frame in capture.frames:
            segment = segment_of(frame, capture.link_type)
            is_late = first is not None and segment is not None and self._is_late(segment.source[0], first.source[0])
            late += [frame.number] if is_late else []
            moved.append(replace(frame, time_ns=frame.time_ns + self.late_ns) if is_late else frame)
        return capture.with_frames(sorted(moved, key=lambda frame: frame.time_ns)), Truth(late=tuple(late))

    def _is_late(self, address: bytes, first: bytes) -> bool:
        return (address == first) == self.sent_the_first
