"""Which objects to read: a name, a prefix that ends with a slash, or a pattern over keys. ETags pin their versions."""

import re
from collections.abc import Iterator
from typing import Any, Self

from vmtrace.analyze.read.stores import Place, parsed, store

MOST_OBJECTS = 1_000_000
"""More of them under one prefix are refused: the pattern was meant to be narrower."""
_LISTED_AT_ONCE = 1000


class ObjectUrl(str):
    """The URL of an object, with what is known of it: it goes wherever a file's name does."""

    __slots__ = ("endpoint_url", "etag", "size_bytes")
    size_bytes: int
    etag: str | None
    endpoint_url: str | None

    def __new__(cls, url: str, size_bytes: int, etag: str | None, endpoint_url: str | None = None) -> Self:
        """An object as a listing or a request for its head has it."""
        self = super().__new__(cls, url)
        self.size_bytes, self.etag, self.endpoint_url = size_bytes, etag, endpoint_url
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled with all that is known."""
        return ObjectUrl, (str(self), self.size_bytes, self.etag, self.endpoint_url)


def find(url: str, endpoint_url: str | None = None) -> list[ObjectUrl]:
    """The objects of a URL, sorted by key; empty if there are none.

    Raises `OSError` (its subclasses) for what the store refuses, and `PlaceError` for what is no URL of an object.
    """
    place = parsed(url)
    if place.is_pattern:
        matches = _pattern(place.key)
        return [one for one in _below(place, endpoint_url) if matches(parsed(one).key)]
    if not place.root.startswith("http") and (not place.key or place.key.endswith("/")):
        return _below(place, endpoint_url)
    return [head(url, endpoint_url)]


def head(url: str, endpoint_url: str | None = None) -> ObjectUrl:
    """One object; raises `OSError` if it is not there."""
    import obstore

    place = parsed(url)
    with store.errors_of(url):
        meta = obstore.head(store.opened(place.root, endpoint_url), place.key)
    return ObjectUrl(url, meta["size"], _tag(meta["e_tag"]), endpoint_url)


def _tag(tag: str | None) -> str | None:
    """An ETag as requests have it. Azure lists them without the quotes that belong to them (RFC 9110, 8.8.3)."""
    return tag if tag is None or tag.endswith('"') else f'"{tag}"'


def _below(place: Place, endpoint_url: str | None) -> list[ObjectUrl]:
    fixed = re.split(r"[*?\[]", place.key, maxsplit=1)[0]
    folder = fixed.rpartition("/")[0]
    found: list[ObjectUrl] = []
    with store.errors_of(place.url):
        for meta in _listed(store.opened(place.root, endpoint_url), folder or None):
            if meta["path"].startswith(fixed) and meta["size"]:
                found.append(ObjectUrl(f"{place.root}/{meta['path']}", meta["size"], _tag(meta["e_tag"]), endpoint_url))
            if len(found) > MOST_OBJECTS:
                raise store.StoreError(f"{place.url}: more than {MOST_OBJECTS:,} objects: name a narrower pattern")
    return sorted(found)


def _listed(client: Any, folder: str | None) -> Iterator[Any]:
    import obstore

    for some in obstore.list(client, folder, chunk_size=_LISTED_AT_ONCE):
        yield from some


def _pattern(key: str) -> Any:
    """As a shell's: `*` and `?` stay within a folder, `**` does not."""
    parts = re.split(r"(\*\*/?|\*|\?|\[[^]]+\])", key)
    special = {"**": ".*", "**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}

    def of(part: str) -> str:
        if part in special:
            return special[part]
        return part.replace("[!", "[^") if part.startswith("[") and part.endswith("]") else re.escape(part)

    return re.compile("".join(map(of, parts))).fullmatch
