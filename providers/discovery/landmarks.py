"""Landmarks: hosts whose place is known, read from a file: a line each with address, LAT,LON and, if any, a name."""

import ipaddress
from pathlib import Path

from vmtrace.providers.discovery.order import Landmark
from vmtrace.providers.discovery.resolvers import parse_position
from vmtrace.providers.errors import UsageError

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
