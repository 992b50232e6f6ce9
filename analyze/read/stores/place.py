"""Names of objects: what is a URL, its parts, and an object as an input. Imports nothing heavy: every command asks."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from vmtrace.analyze.read.stores.listing import ObjectUrl
    from vmtrace.analyze.read.stores.reader import ObjectReader

_URL = re.compile(r"^(s3|gs|az|https?)://", re.IGNORECASE)
_PATH_OF_URL = re.compile(r"^(s3|gs|az|https?):/(?!/)", re.IGNORECASE)


class PlaceError(ValueError):
    """A name that is no object's; the text says what is wrong."""


class Place(NamedTuple):
    """An object, a prefix or a pattern. No dataclass: importing those takes longer than all else here."""

    root: str
    """The URL of the store: `s3://bucket`, `https://host`."""
    key: str

    @property
    def url(self) -> str:
        """All of it."""
        return f"{self.root}/{self.key}" if self.key else self.root

    @property
    def is_pattern(self) -> bool:
        """True if the key has wildcards. A web server has no list to look them up in."""
        return not self.root.startswith("http") and any(letter in self.key for letter in "*?[")


def is_url(name: object) -> bool:
    """True for the name of an object in a store."""
    return isinstance(name, str) and _URL.match(name) is not None


def url_of(place: str | Path) -> str | None:
    """The URL that an output option gives; None for a file. A `Path` of a URL has lost one of its slashes."""
    if isinstance(place, str):
        return place if is_url(place) else None
    text = str(place)
    return _PATH_OF_URL.sub(lambda found: f"{found[1].lower()}://", text) if _PATH_OF_URL.match(text) else None


def parsed(url: str) -> Place:
    """The parts of a URL. Raises `PlaceError` for one without a bucket or host."""
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket:
        what = "host" if scheme.lower().startswith("http") else "bucket"
        raise PlaceError(f"{url}: this names no {what}: {scheme}://{what.upper()}/...")
    return Place(f"{scheme.lower()}://{bucket}", key)


class RemoteObject:
    """What the engine opens, as often as it wants; nothing is asked of the store before."""

    __slots__ = ("url",)

    def __init__(self, url: "ObjectUrl") -> None:
        self.url = url

    @property
    def place(self) -> Place:
        """Where it lies."""
        return parsed(self.url)

    def open(self) -> "ObjectReader":
        """A reader from the beginning, whose first range is on its way."""
        from vmtrace.analyze.read.stores.reader import ObjectReader

        return ObjectReader(self.url)

    def open_ranges(self, ranges: list[tuple[int, int]]) -> "ObjectReader":
        """A reader of these parts (offset, length), one behind the other."""
        from vmtrace.analyze.read.stores.reader import ObjectReader

        return ObjectReader(self.url, ranges)
