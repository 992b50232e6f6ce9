"""What sender and receiver tell each other, as typed records; `vmtrace.sender.wire.fields` makes JSON of them and back.

A record that came from the other side was checked on its way in: types, ranges and lengths hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Tuple

from vmtrace.sender.wire.socket_options import SocketOptions

UPLOAD = "upload"
DOWNLOAD = "download"
BOTH = "both"
DIRECTIONS = (UPLOAD, DOWNLOAD, BOTH)
PROBE = "probe"
DATA = "data"
PARTS = (PROBE, DATA)


DEFAULT_RANDOM_BYTES = 8 << 20
"""Fresh random bytes of a transfer; a longer one repeats them."""
BULK_BYTES = 64 << 20
BULK_RANDOM_BYTES = 512 << 10
"""Of a transfer beyond `BULK_BYTES`: with the copy that arrives they stay in a processor's own cache, which is worth a
fifth of the throughput where nothing but the processors limits it (docs/performance.md)."""


def directions_of(direction: str) -> Tuple[str, ...]:
    """The one or two ways that a transfer's bytes go."""
    return (UPLOAD, DOWNLOAD) if direction == BOTH else (direction,)


def random_bytes_for(transfer_bytes: int) -> int:
    """Fresh random bytes for a transfer of this size."""
    return DEFAULT_RANDOM_BYTES if transfer_bytes <= BULK_BYTES else BULK_RANDOM_BYTES


@dataclass(frozen=True)
class TransferRequest:
    """One transfer that the sender asks for."""

    number: int
    """Counts up within a control connection; an attempt that is repeated has a new one."""
    sequence: int
    """Of the pair in the run, from 1: names the files."""
    part: str
    """`probe` or `data`."""
    bytes: int
    """Of each direction, over all its streams; at least 1."""
    direction: str = UPLOAD
    streams: int = 1
    """In each direction."""
    tls: bool = False
    random_bytes: int = DEFAULT_RANDOM_BYTES
    tcp_info_interval_s: Optional[float] = 0.01
    options: SocketOptions = field(default_factory=SocketOptions)
    capture_buffer_bytes: Optional[int] = None
    """Kernel buffer of the receiver's capture; None: sized for the link. Raised after a capture that dropped."""


@dataclass(frozen=True)
class RunRequest:
    """What the sender wants of a run."""

    run_id: Optional[str] = None
    """32 hexadecimal digits of a run to go on with; None: a new one."""
    capture: bool = True
    """The receiver records packets, if it may."""
    capture_snaplen: Optional[int] = None
    """None: headers, and complete TLS handshakes."""


@dataclass(frozen=True)
class Limits:
    """What the receiver allows a client."""

    transfer_bytes: int
    session_bytes: int
    transfer_s: float
    session_s: float
    streams: int


@dataclass(frozen=True)
class RunAccepted:
    """The receiver's answer to a `RunRequest`."""

    run_id: str
    limits: Limits
    vmtrace: str
    python: str
    host: str
    capture_interface: Optional[str]
    """None: the receiver does not record."""
    capture_refusal: Optional[str]
    """Why it does not, if it was asked to."""
    tls: bool
    """TLS transfers are possible there."""


@dataclass(frozen=True)
class Prepared:
    """The receiver is ready for the data connections of a transfer; its capture runs, if there is one."""

    number: int
    capture_error: Optional[str]
    """Why this transfer is not recorded at the receiver though the run is, or None."""
    certificate_sha256: Optional[str]
    """Of the certificate that the receiver shows in TLS, 64 hexadecimal digits."""


@dataclass(frozen=True)
class TcpSummary:
    """Of the connections that carried data from one side: TCP_INFO's last sample, summed over streams."""

    congestion_control: Optional[str]
    retransmitted_segments: Optional[int]
    segments_out: Optional[int]
    min_rtt_s: Optional[float]
    srtt_s: Optional[float]
    delivery_rate_bps: Optional[int]


@dataclass(frozen=True)
class Arrival:
    """What arrived at one end, in one direction, by that end's clock."""

    bytes: int
    first_byte_ns: Optional[int]
    last_byte_ns: Optional[int]
    verified: bool
    """All bytes are those that were sent: length, digest and repetition."""


@dataclass(frozen=True)
class Sent:
    """What one end sent in one direction, a stream at each place: enough for the other end to know that it has all of
    it."""

    bytes: Tuple[int, ...]
    sha256: Tuple[str, ...]
    """Of the stream's fresh bytes (the first `random_bytes`); what follows repeats them."""


@dataclass(frozen=True)
class CaptureCounts:
    """What a side's capture of one transfer recorded and missed."""

    received: Optional[int]
    dropped: Optional[int]
    error: Optional[str]


@dataclass(frozen=True)
class FarEnd:
    """The receiver's account of a transfer that is over."""

    arrival: Optional[Arrival]
    """Of an upload; None when nothing was sent to the receiver."""
    sent: Optional[Sent]
    """Of a download; None when the receiver sent nothing."""
    tcp: Optional[TcpSummary]
    """Of a download; None when the receiver sent nothing."""
    capture: Optional[CaptureCounts]
    error: Optional[str]
    """Why the transfer is not whole, or None."""


@dataclass(frozen=True)
class RemoteFile:
    """A file of the receiver's half of a run. Names are made at each side from these words, never sent."""

    number: int
    kind: str
    """One of `FILE_KINDS`."""
    sequence: int
    """0 for a file that belongs to no pair."""
    part: str
    """`probe`, `data`, or empty."""
    bytes: int
    sha256: str


FILE_KINDS = ("packets", "capture", "tcpinfo", "host", "facts", "transfers")
"""packets/receiver/NNNN-PART.pcap, its .capture.json, tcpinfo/receiver/NNNN-PART.csv, host/receiver.csv (sequence 2,
3, ...: of later sessions, receiver-2.csv ...), host/receiver.facts.json, and receiver.jsonl, the receiver's own log of
transfers."""


@dataclass(frozen=True)
class FileListing:
    """How many files the receiver's half of the run has just now."""

    count: int


@dataclass(frozen=True)
class FileDescriptions:
    """Some of them, in order of their numbers: as many as could be described in a moment."""

    files: Tuple[RemoteFile, ...]


@dataclass(frozen=True)
class ClockOffset:
    """Receiver's clock minus sender's, with the bound that half the shortest round trip gives."""

    offset_s: float
    error_s: float
