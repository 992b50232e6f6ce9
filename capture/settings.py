"""What a capture is asked for. How it is done is `recorder`'s business."""

from __future__ import annotations

from dataclasses import dataclass

from vmtrace.capture import buffer_size
from vmtrace.capture.errors import CaptureError

ANY = "any"
DIRECTIONS = ("both", "in", "out")
LARGEST_SNAPLEN = 262_144  # libpcap's own limit
LARGEST_BUFFER_BYTES = (1 << 31) - 1  # libpcap takes an int


@dataclass(frozen=True)
class CaptureSettings:
    """An interface and how to record it. `snaplen` None keeps headers, and complete TLS handshakes (see `kept_bytes`).

    `also_tagged`: the filter holds for packets with a VLAN tag, too, where the interface may carry some. libpcap's own
    `tcp` and the like find only those whose tag the kernel keeps beside the packet.
    """

    interface: str
    filter: str = ""
    snaplen: int | None = None
    buffer_bytes: int | None = None
    direction: str = "both"
    promiscuous: bool = False
    nanoseconds: bool = True
    also_tagged: bool = False

    def __post_init__(self) -> None:
        """Refuses what cannot be meant."""
        if not self.interface:
            raise CaptureError("the name of the interface is empty")
        if self.direction not in DIRECTIONS:
            raise CaptureError(f"direction {self.direction!r}: must be one of {', '.join(DIRECTIONS)}")
        if self.snaplen is not None and not 1 <= self.snaplen <= LARGEST_SNAPLEN:
            raise CaptureError(f"snap length {self.snaplen}: must be between 1 and {LARGEST_SNAPLEN} bytes")
        if self.buffer_bytes is not None and not 1 <= self.buffer_bytes <= LARGEST_BUFFER_BYTES:
            raise CaptureError(f"buffer of {self.buffer_bytes} bytes: must be between 1 and {LARGEST_BUFFER_BYTES}")
        if "\0" in self.filter or "\0" in self.interface:
            raise CaptureError("a filter and the name of an interface have no zero bytes")

    def buffer_wanted_bytes(self) -> int:
        """The buffer that is asked for: the one named, or one sized for the link."""
        if self.buffer_bytes is not None:
            return self.buffer_bytes
        return buffer_size.for_link(self.interface, self.snaplen)
