"""What connections cost beyond the data they were for: sums of byte ledgers, and what was opened and resumed for it.

The byte ledger puts every byte on the wire in exactly one part (`docs/methods.md`), so the parts of a sum add up to
all of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

PARTS = (
    "link_bytes",
    "ip_bytes",
    "tcp_header_bytes",
    "tcp_option_bytes",
    "pure_ack_bytes",
    "retransmitted_bytes",
    "tls_handshake_bytes",
    "tls_record_bytes",
    "application_bytes",
)
"""The parts of the byte ledger, from the wire inwards."""

COLUMNS = (
    *(f"ledger_{part}" for part in PARTS),
    "handshake_complete",
    "handshake_syn_retransmissions",
    "tls_version",
    "tls_resumed",
    "server",
    "client_to_server_unique_payload_bytes",
    "server_to_client_unique_payload_bytes",
)
"""The columns of the connection table that `Overhead.add` wants, in this order."""


@dataclass(slots=True)
class Overhead:
    """Connections summed up."""

    connections: int = 0
    parts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(PARTS, 0))
    established: int = 0
    """Connections whose TCP handshake the capture shows to its end."""
    syn_retransmissions: int = 0
    tls_connections: int = 0
    tls_resumed: int = 0
    tls_full: int = 0
    """TLS connections with a full handshake; of the others too little was captured to tell."""
    server_addresses: set[str] = field(default_factory=set)
    tcp_payload_bytes: int = 0
    """What TCP carried, each byte once: the application's bytes and TLS around them, whatever segment brought them."""

    def add(self, row: tuple[object, ...]) -> None:
        """Add a connection: a row of `COLUMNS`."""
        sizes, rest = row[: len(PARTS)], row[len(PARTS) :]
        complete, syn_retransmissions, version, resumed, server, *payloads = rest
        self.connections += 1
        for part, size in zip(PARTS, sizes, strict=True):
            self.parts[part] += size if isinstance(size, int) else 0
        self.established += complete is True
        self.syn_retransmissions += syn_retransmissions if isinstance(syn_retransmissions, int) else 0
        self.tls_connections += version is not None
        self.tls_resumed += resumed is True
        self.tls_full += version is not None and resumed is False
        self.server_addresses.add(str(server).rpartition(":")[0])
        self.tcp_payload_bytes += sum(size for size in payloads if isinstance(size, int))

    def merge(self, other: "Overhead") -> None:
        """Add what another sum holds."""
        self.connections += other.connections
        for part in PARTS:
            self.parts[part] += other.parts[part]
        self.established += other.established
        self.syn_retransmissions += other.syn_retransmissions
        self.tls_connections += other.tls_connections
        self.tls_resumed += other.tls_resumed
        self.tls_full += other.tls_full
        self.server_addresses |= other.server_addresses
        self.tcp_payload_bytes += other.tcp_payload_bytes

    @property
    def wire_bytes(self) -> int:
        """All bytes on the wire."""
        return sum(self.parts.values())

    @property
    def application_bytes(self) -> int:
        """Plaintext of the application: what TLS protected, or TCP carried without TLS."""
        return self.parts["application_bytes"]

    @property
    def brought_by_retransmissions_bytes(self) -> int:
        """Payload that only retransmissions brought to where was captured: its first copy was lost before. The ledger
        has it among what was retransmitted."""
        first = sum(self.parts[part] for part in ("application_bytes", "tls_record_bytes", "tls_handshake_bytes"))
        return min(max(self.tcp_payload_bytes - first, 0), self.parts["retransmitted_bytes"])

    @property
    def overhead_ratio(self) -> float | None:
        """Bytes on the wire beyond the application's, over those; none without application bytes."""
        application = self.application_bytes
        return (self.wire_bytes - application) / application if application else None

    @property
    def tcp_payload_ratio(self) -> float | None:
        """Bytes carried by TCP over application bytes; none without application bytes."""
        return self.tcp_payload_bytes / self.application_bytes if self.application_bytes else None

    def shares(self) -> Iterator[tuple[str, float]]:
        """Each part's share of the wire bytes; the shares sum to 1. Nothing without bytes."""
        whole = self.wire_bytes
        if whole:
            yield from ((part, size / whole) for part, size in self.parts.items())
