"""What the user of a receiver decides: where it listens, where it writes, and what it allows a client."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from vmtrace.sender.wire.endpoint import DEFAULT_PORT
from vmtrace.sender.wire.records import Limits

_GIB = 1 << 30


@dataclass(frozen=True)
class AdmissionLimits:
    """What anybody on the network may cost the receiver before the key is proven."""

    introduction_s: float = 5.0
    """A connection that has not proven the key by then is closed."""
    unproven: int = 8192
    """Connections without proof at a time; a further one ends the oldest of the most crowded network (places.py)."""
    unproven_of_address: int = 96
    """Of them, from one origin (admission.py), besides the streams of a transfer that was prepared for it."""
    connections_per_s: float = 50.0
    """From one origin, on average."""
    connection_burst: int = 200
    wrong_keys: int = 10
    """From one origin; after these it has to wait."""
    wrong_key_pause_s: float = 60.0
    origins: int = 4096
    """Origins that are remembered."""
    proven_origins: int = 256
    """Of those, the last that have proved the key: a crowd does not make the receiver forget them."""


@dataclass(frozen=True)
class ReceiverSettings:
    """All settings of a receiver."""

    folder: Path
    bind: str | None = None
    """None: all addresses, IPv4 and IPv6."""
    port: int = DEFAULT_PORT
    """0: any that is free."""
    capture: bool = True
    interface: str | None = None
    """None: the one towards each client."""
    sessions: int = 4
    """Clients served at a time."""
    limits: Limits = field(default_factory=lambda: Limits(64 * _GIB, 4096 * _GIB, 3600.0, 7 * 86400.0, 64))
    admission: AdmissionLimits = field(default_factory=AdmissionLimits)
    certificate: Path | None = None
    """PEM file with certificate and key for TLS; None: one is made with openssl."""
    host_counters: bool = True
