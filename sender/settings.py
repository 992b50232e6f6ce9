"""How a campaign is run and recorded, beside its plan. Kept in `run.json`: `--resume` needs none of it again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Settings:
    """What `vmtrace send` was asked for."""

    capture: bool = True
    interface: Optional[str] = None
    """To capture on; None: the one that the route to the receiver uses."""
    snaplen: Optional[int] = None
    """None: headers, and complete TLS handshakes."""
    capture_buffer_bytes: Optional[int] = None
    """Kernel buffer of a capture; None: sized for the link."""
    tcp_info_interval_s: Optional[float] = 0.01
    """None: TCP_INFO is not sampled."""
    host_counters: bool = True
    instance_metadata: bool = True
    ping: bool = True
    ping_interval_s: float = 0.2
    stall_s: float = 60.0
    """A transfer in which no byte moves for so long has failed."""
    patience_s: float = 3600.0
    """For how long the receiver may be away."""
    attempts: int = 5
    """For each pair; a receiver that is away is not counted."""
