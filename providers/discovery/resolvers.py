"""The resolvers that a run asks: read from a file, or those of this host. Nothing is asked here."""

import ipaddress
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.errors import UsageError

PORT = 53
_MOST_RESOLVERS = 20_000
_LARGEST_FILE_BYTES = 8 << 20
_POSITION = re.compile(r"[+-]?\d+(?:\.\d+)?,[+-]?\d+(?:\.\d+)?")
_COUNTRY = re.compile(r"[A-Za-z]{2}")


@dataclass(frozen=True, slots=True)
class Position:
    """On the globe, in degrees; north and east are positive."""

    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Resolver:
    """Where it answers, and what its owner says of it."""

    address: str
    port: int = PORT
    country: str | None = None
    network: str | None = None
    position: Position | None = None

    @property
    def label(self) -> str:
        """Short and its own: the address, with a port that is not 53."""
        return self.address if self.port == PORT else f"{self.address}#{self.port}"

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        position = None if self.position is None else asdict(self.position)
        return {"resolver": self.label, "country": self.country, "network": self.network, "position": position}


def read_resolvers(path: Path) -> list[Resolver]:
    """The resolvers of a file, each once; raises `UsageError` with the line that is wrong, `OSError` if unreadable."""
    with path.open("rb") as file:
        content = file.read(_LARGEST_FILE_BYTES + 1)
    if len(content) > _LARGEST_FILE_BYTES:
        raise UsageError(f"{path}: too large for a list of resolvers (at most {_LARGEST_FILE_BYTES >> 20} MiB)")
    found = {one.label: one for one in _parsed(content.decode("utf-8", "replace").splitlines(), path)}
    if not found:
        raise UsageError(f"{path}: there is no resolver in it (a line each: address or address#port)")
    if len(found) > _MOST_RESOLVERS:
        raise UsageError(f"{path}: {len(found):,} resolvers are more than the {_MOST_RESOLVERS:,} that a run may ask")
    return list(found.values())


def own_resolvers() -> list[Resolver]:
    """This host's (/etc/resolv.conf); raises `UsageError` where there are none."""
    import dns.exception
    import dns.resolver

    try:
        addresses = [str(address) for address in dns.resolver.Resolver(configure=True).nameservers]
    except (dns.exception.DNSException, OSError) as error:
        raise UsageError(f"this host names no resolver ({error}): give --resolvers FILE") from error
    return [Resolver(address) for address in dict.fromkeys(addresses)]


def parse_position(text: str) -> Position:
    """`46.52,6.57`: latitude, longitude in degrees. Raises `ValueError`."""
    lat, _, lon = text.partition(",")
    try:
        position = Position(float(lat), float(lon))
    except ValueError:
        raise ValueError(f"{text!r}: a position is LAT,LON in degrees, as 46.52,6.57") from None
    if not (math.isfinite(position.lat) and math.isfinite(position.lon)):
        raise ValueError(f"{text!r}: a position is LAT,LON in degrees, as 46.52,6.57")
    if abs(position.lat) > 90 or abs(position.lon) > 180:
        raise ValueError(f"{text!r}: out of range: latitude is -90 to 90 and longitude -180 to 180")
    return position


def _parsed(lines: Iterable[str], path: Path) -> Iterator[Resolver]:
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            yield _resolver(words)
        except ValueError as error:
            raise UsageError(f"{path}:{number}: {error}") from None


def _resolver(words: list[str]) -> Resolver:
    address, port = _endpoint(words[0])
    country = network = position = None
    for word in words[1:]:
        if _POSITION.fullmatch(word):
            position = parse_position(word)
        elif _COUNTRY.fullmatch(word) and country is None:
            country = word.upper()
        elif word != "-":
            network = word if network is None else f"{network} {word}"
    return Resolver(address, port, country, network, position)


def _endpoint(word: str) -> tuple[str, int]:
    text, _, port = word.partition("#")
    try:
        address = str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not an IP address") from None
    if not port and "#" not in word:
        return address, PORT
    if not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise ValueError(f"{word[:60]!r}: a port is a number from 1 to 65535")
    return address, int(port)
