"""What a capture says of itself: what was asked, what the kernel gave and lost, what is in the file."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Optional, Union

from vmtrace.capture.offload import Offload
from vmtrace.formats.durable import write_all, write_aside

SCHEMA = "vmtrace.capture/1"
HEALTH_SUFFIX = ".capture.json"
# Room that is taken when a recording begins, so that its health can be written on a disk that has become full.
RESERVED_BYTES = 4096

_Value = Union[None, bool, int, float, str, list[str], dict[str, Optional[bool]]]


@dataclass(frozen=True)
class CaptureHealth:
    """One capture file. None is what was not measured; times are Unix nanoseconds of this host's clock."""

    file: str
    interface: str
    filter: str
    direction: str
    snaplen: int | None
    buffer_bytes: int | None
    link_type: str
    time_source: str
    time_resolution_s: float
    received: int
    dropped_by_kernel: int
    dropped_by_interface: int
    written: int
    captured_bytes: int | None
    wire_bytes: int | None
    first_packet_ns: int | None
    last_packet_ns: int | None
    start_ns: int
    end_ns: int | None
    offload: Offload
    warnings: tuple[str, ...] = ()
    error: str | None = None

    @property
    def dropped(self) -> int:
        """Packets that should be in the file and are not: the kernel's buffer was full, or the card's."""
        return self.dropped_by_kernel + self.dropped_by_interface

    def as_record(self) -> dict[str, _Value]:
        """For a JSON file."""
        record: dict[str, _Value] = {"schema": SCHEMA}
        for field in fields(self):
            record[field.name] = getattr(self, field.name)
        return {**record, "warnings": list(self.warnings), "offload": self.offload.as_record()}


def sum_of(healths: Sequence[CaptureHealth], file: str) -> CaptureHealth:
    """The health of a recording that was rotated: sums, the first and the last time, the first error."""
    if len(healths) == 1:
        return healths[0]
    firsts = [one.first_packet_ns for one in healths if one.first_packet_ns is not None]
    lasts = [one.last_packet_ns for one in healths if one.last_packet_ns is not None]
    return replace(
        healths[0],
        file=file,
        received=sum(one.received for one in healths),
        dropped_by_kernel=sum(one.dropped_by_kernel for one in healths),
        dropped_by_interface=sum(one.dropped_by_interface for one in healths),
        written=sum(one.written for one in healths),
        captured_bytes=_sum([one.captured_bytes for one in healths]),
        wire_bytes=_sum([one.wire_bytes for one in healths]),
        first_packet_ns=firsts[0] if firsts else None,
        last_packet_ns=lasts[-1] if lasts else None,
        end_ns=healths[-1].end_ns,
        error=next((one.error for one in healths if one.error is not None), None),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    """None if one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def health_path(capture: Path) -> Path:
    """Where the health of a capture file stands."""
    return capture.with_suffix(HEALTH_SUFFIX)


def write_health(path: Path, health: CaptureHealth) -> None:
    """Write `health`, aside and renamed; on a full disk over what `reserve` took.

    Raises:
        OSError: neither is possible.
    """
    text = _text(health)
    try:
        write_aside(path, text)
    except OSError:
        _overwrite(path, text)


def reserve(path: Path, health: CaptureHealth) -> None:
    """Write what holds should this program be killed, padded so that what comes instead has room.

    Raises:
        OSError: it cannot be written.
    """
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(descriptor, _padded(_text(health)))
    finally:
        os.close(descriptor)


def _overwrite(path: Path, text: bytes) -> None:
    with path.open("r+b") as file:
        file.write(_padded(text))


def _text(health: CaptureHealth) -> bytes:
    return json.dumps(health.as_record(), indent=1).encode() + b"\n"


def _padded(text: bytes) -> bytes:
    """White space after a JSON document means nothing."""
    return text.ljust(RESERVED_BYTES, b"\n")
