"""What a user asks of a swarm run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vmtrace.providers.swarm.peers import Peer
from vmtrace.providers.swarm.torrent import Torrent
from vmtrace.providers.swarm.web_seed import WebSeed


@dataclass(frozen=True, slots=True)
class SwarmOrder:
    """All of it, checked."""

    torrent: Torrent
    out: Path
    seeds: tuple[int, ...]
    cases: tuple[str, ...]
    repeats: int
    peers: tuple[Peer, ...]
    """Seeds by name; empty: the trackers are asked."""
    trackers: tuple[str, ...]
    web_seed: WebSeed | None
    forbidden: WebSeed | None
    """The object as it is asked for where it is forbidden."""
    ca_bundle: Path | None
    interface: str | None
    capture: bool
    snaplen: int | None
    capacity: bool
    """Whether each source is measured alone first."""
    capacity_s: float
    timeout_s: float
    stall_s: float
    web_request_bytes: int | None
    sha256: str | None
    """What the file's digest must be; None: that of the first download."""
    name: str | None
    command: str
