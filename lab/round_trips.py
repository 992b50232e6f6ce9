"""Round trips as the emulator saw them: an independent reference for an analyzer's RTT samples at the sender.

A sample is the time from a data segment's entry into the path to the exit, towards its sender, of the first
acknowledgement that covers its end. Only clean ones count: the segment is the last sent of those the acknowledgement
newly covers, and none of them was ever sent twice (Karn, RFC 6298 section 3; a repeated one means the acknowledgement
waited for a hole to be filled). Times lack the few microseconds between host and emulator, see `timing` in the truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vmtrace.lab.fate_log import FLAG_ACK, PacketFate

_WRAP = 1 << 32


@dataclass(slots=True)
class _Segment:
    end: int
    entered_ns: int
    repeated: bool = False


def clean_samples_s(rows: Iterable[PacketFate], direction: str) -> list[float]:
    """Clean samples of data sent in `direction`, over all connections, in seconds."""
    flows: dict[tuple[int, int], list[tuple[int, bool, PacketFate]]] = {}
    for row in rows:
        if row.source_port and row.direction == direction and row.fate != "duplicate":
            key = (row.source_port, row.destination_port)
            flows.setdefault(key, []).append((row.time_in_ns, True, row))
        elif row.source_port and row.direction != direction and not row.lost and row.fate != "corrupted":
            key = (row.destination_port, row.source_port)
            flows.setdefault(key, []).append((row.time_out_ns, False, row))
    return [sample for events in flows.values() for sample in _flow_samples(events)]


def _flow_samples(events: Sequence[tuple[int, bool, PacketFate]]) -> list[float]:
    waiting: list[_Segment] = []
    samples: list[float] = []
    highest: int | None = None
    for time_ns, sent, row in sorted(events, key=lambda event: event[0]):
        if sent:
            start = row.seq if highest is None else _unwrap(row.seq, highest)
            if row.payload_bytes:
                _send(waiting, start, start + row.payload_bytes, time_ns, highest)
            highest = max(start + row.payload_bytes, start if highest is None else highest)
        elif highest is not None and row.flags & FLAG_ACK:
            waiting = _acknowledge(waiting, _unwrap(row.ack, highest), time_ns, samples)
    return samples


def _send(waiting: list[_Segment], start: int, end: int, time_ns: int, highest: int | None) -> None:
    if highest is None or start >= highest:
        waiting.append(_Segment(end, time_ns))
        return
    for segment in waiting:
        if start < segment.end <= end:
            segment.repeated = True


def _acknowledge(waiting: list[_Segment], ack: int, time_ns: int, samples: list[float]) -> list[_Segment]:
    covered = [segment for segment in waiting if segment.end <= ack]
    if covered and not any(segment.repeated for segment in covered):
        samples.append((time_ns - covered[-1].entered_ns) / 1e9)
    return waiting[len(covered) :]


def _unwrap(value: int, near: int) -> int:
    return near + ((value - near + _WRAP // 2) % _WRAP) - _WRAP // 2
