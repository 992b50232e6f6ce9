"""When a recording goes on in a new file, and what it is called. The handle stays, so no packet is lost between."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmtrace.capture.errors import CaptureError


@dataclass(frozen=True)
class Rotation:
    """A new file after so many bytes or seconds, whichever comes first; None does not limit."""

    size_bytes: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuses what cannot be meant."""
        if self.size_bytes is not None and self.size_bytes < 1:
            raise CaptureError(f"rotation after {self.size_bytes} bytes: must be at least 1")
        if self.seconds is not None and self.seconds <= 0:
            raise CaptureError(f"rotation after {self.seconds} s: must be more than 0")

    @property
    def active(self) -> bool:
        """Whether there is more than one file at all."""
        return self.size_bytes is not None or self.seconds is not None

    def due(self, size_bytes: int, age_s: float) -> bool:
        """Whether a file of that size and age is to be closed."""
        too_large = self.size_bytes is not None and size_bytes >= self.size_bytes
        return too_large or (self.seconds is not None and age_s >= self.seconds)

    def packets_until_due(self, size_bytes: int, packets: int, most: int) -> int:
        """How many packets like those that came may be written before the size is looked at again."""
        if self.size_bytes is None or packets == 0:
            return most if self.size_bytes is None else min(most, 64)
        mean_bytes = max(1, size_bytes // packets)
        return max(1, min(most, (self.size_bytes - size_bytes) // mean_bytes))

    def path(self, path: Path, number: int) -> Path:
        """`trace.pcap` is the file of a recording without rotation, `trace-0001.pcap` the first of several."""
        return path.with_name(f"{path.stem}-{number:04d}{path.suffix}") if self.active else path
