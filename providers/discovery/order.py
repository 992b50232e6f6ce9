"""What a discovery run is asked to do: the command line in types. How it is done is `running`'s business."""

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from vmtrace.providers.discovery.distances import Spacing
from vmtrace.providers.discovery.names import Target
from vmtrace.providers.discovery.resolvers import Position, Resolver, parse_position
from vmtrace.providers.discovery.resolving import Asking
from vmtrace.providers.errors import UsageError


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


_MOST = 500
_LARGEST_FILE_BYTES = 1 << 20


def read_landmarks(path: Path) -> tuple[Landmark, ...]:
    """Raises `UsageError` with the line that is wrong, `OSError` if the file cannot be read."""
    with path.open("rb") as file:
        lines = file.read(_LARGEST_FILE_BYTES).decode("utf-8", "replace").splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        words = line.split(maxsplit=2)
        if not words or words[0].startswith("#"):
            continue
        try:
            found.append(_landmark(words))
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from None
    if len(found) > _MOST:
        raise UsageError(f"{path}: {len(found)} landmarks are more than {_MOST}")
    return tuple(found)


def _landmark(words: list[str]) -> Landmark:
    if len(words) < 2:
        raise ValueError("a landmark is an address and its position LAT,LON")
    try:
        address = str(ipaddress.ip_address(words[0]))
    except ValueError:
        raise ValueError(f"{words[0][:60]!r} is not an IP address") from None
    return Landmark(address, parse_position(words[1]), words[2].strip() if len(words) > 2 else None)
