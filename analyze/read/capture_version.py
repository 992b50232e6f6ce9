"""What the index of a capture must be of: size and state when opened. Every command imports this, so it is small."""

from pathlib import Path
from typing import NamedTuple


class Version(NamedTuple):
    """What changes when a capture does."""

    size_bytes: int
    state: str
    """ETag of an object; time of the last change of a file, Unix nanoseconds."""


def version_of(capture: str) -> Version:
    """Of a file or an object as it is now. Raises `OSError`."""
    if "://" in capture:
        from vmtrace.analyze.read.stores.listing import ObjectUrl

        if isinstance(capture, ObjectUrl):
            return Version(capture.size_bytes, capture.etag or "")
    state = Path(capture).stat()
    return Version(state.st_size, str(state.st_mtime_ns))
