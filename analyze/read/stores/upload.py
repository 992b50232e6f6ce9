"""Results to a store: made in a temporary folder, then put there, each object whole or not at all."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from vmtrace.analyze.read.stores import parsed, store


def check_writable(url: str) -> None:
    """Raises `StoreError` for a URL that nothing can be written to."""
    if url.startswith("http"):
        raise store.StoreError(f"{url}: web servers are read-only: write to s3://, gs://, az:// or a file")
    if not parsed(url).key:
        raise store.StoreError(f"{url}: name an object or a prefix to write to")


def put(url: str, content: bytes | Path, endpoint_url: str | None = None) -> None:
    """Write one object. Raises `OSError`."""
    import obstore

    place = parsed(url)
    with store.errors_of(url):
        obstore.put(store.opened(place.root, endpoint_url), place.key, content)


def write_to(url: str, write: Callable[[Path], object], endpoint_url: str | None = None) -> None:
    """Have a file or a folder made and put it at `url`: a folder's files lie below it. Raises `OSError`."""
    check_writable(url)
    with tempfile.TemporaryDirectory(prefix="vmtrace-") as folder:
        local = Path(folder, parsed(url).key.rstrip("/").rpartition("/")[2])
        write(local)
        for file in sorted(local.rglob("*")) if local.is_dir() else [local]:
            if file.is_file():
                below = f"/{file.relative_to(local).as_posix()}" if local.is_dir() else ""
                put(url.rstrip("/") + below, file, endpoint_url)
