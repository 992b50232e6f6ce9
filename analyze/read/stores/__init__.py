"""Captures in object stores, read and written where a file is: `s3://`, `gs://`, `az://`, `http(s)://`.

What is a name of an object stands here, because every command asks: nothing heavy is imported. `remote` is an object
as an input of the engine, `store` opens a store with its own conventions for credentials, `listing` finds
objects by patterns, `reader` feeds the engine with ranges, `upload` writes results. The clients are obstore's.
"""

import re
from pathlib import Path
from typing import NamedTuple

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
