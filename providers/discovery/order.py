"""What a discovery run is asked to do: the command line in types. How it is done is `running`'s business."""

from dataclasses import dataclass, field
from pathlib import Path

from vmtrace.providers.discovery.distances import Spacing
from vmtrace.providers.discovery.names import Target
from vmtrace.providers.discovery.resolvers import Position, Resolver
from vmtrace.providers.discovery.resolving import Asking


@dataclass(frozen=True, slots=True)
class Landmark:
    """A host whose place is known: round trips to it calibrate those of this vantage point."""

    address: str
    position: Position
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Rounds: one, or one each `every_s` for `for_s`."""

    every_s: float | None = None
    for_s: float | None = None


@dataclass(frozen=True, slots=True)
class DiscoveryOrder:
    """All of it; see `vmtrace discover run --help`."""

    targets: tuple[Target, ...]
    resolvers: tuple[Resolver, ...]
    out: Path
    vantage: str
    position: Position | None = None
    kinds: tuple[str, ...] = ("A", "AAAA")
    client_subnets: tuple[str | None, ...] = (None,)
    asking: Asking = field(default_factory=Asking)
    repeats: Repeats = field(default_factory=Repeats)
    port: int = 443
    ca_bundle: Path | None = None
    spacing: Spacing = field(default_factory=Spacing)
    traceroute: bool = True
    landmarks: tuple[Landmark, ...] = ()
    capture: bool = True
    interface: str | None = None
    most_measured: int = 2000
    """Addresses of which certificates, round trips and routes are looked at."""
    command: str = ""
