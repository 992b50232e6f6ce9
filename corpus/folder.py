"""Where the pieces and results of a run lie: a folder or a prefix in a store, with the same few verbs.

What is written appears whole or not at all, so that a task may be done twice, or be killed, at any time. Files are
readable by their owner alone (captures hold other people's traffic).
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from vmtrace.analyze.read.atomic import make_folder, writing
from vmtrace.analyze.read.stores import is_url, parsed

PARTS = "buckets"
"""What buckets leave to be merged. It can be made again, so that it need not be safe on the disk at once."""
_HELD_BYTES = 64 << 20
"""Of slices on their way to a store."""

Slices = dict[int, list[tuple[str, int]]]
"""By bucket the names and sizes of what its slice is made of, in order."""


class SliceWriter(Protocol):
    """Takes pieces of slices by bucket."""

    def write(self, bucket: int, piece: bytes) -> None:
        """The next piece of a bucket's slice."""

    def finish(self) -> Slices:
        """All that was written."""


class Folder(Protocol):
    """A place of results."""

    url: str

    def put(self, name: str, content: bytes | Path) -> None:
        """Write one file."""

    def get(self, name: str) -> bytes | None:
        """Read one file; None if there is none."""

    def holds(self, name: str, size_bytes: int) -> bool:
        """True unless the file was lost or cut when the machine lost its power."""

    def names(self, below: str) -> list[str]:
        """The names of all files in a folder below this one, sorted."""

    def remove(self, below: str) -> None:
        """Remove a folder below this one."""

    def local(self, name: str, within: Path) -> Path:
        """A file to read by its path; what lies in a store is copied to `within`."""

    def engine_input(self, name: str, size_bytes: int) -> Any:
        """A file as the engine reads it."""

    def slices(self, below: str) -> SliceWriter:
        """A writer of slices into a folder below this one."""


def folder(url: str, endpoint_url: str | None = None) -> Folder:
    """The folder of a URL or a path. Raises `OSError` for what nothing can be written to."""
    if is_url(url):
        from vmtrace.analyze.read.stores.upload import check_writable

        check_writable(url)
        return StoreFolder(url.rstrip("/"), endpoint_url)
    return LocalFolder(Path(url))


class LocalFolder:
    """A folder of this machine, or one that all machines share."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.url = str(self.path)

    def put(self, name: str, content: bytes | Path) -> None:
        """See `Folder`."""
        path = self.path / name
        make_folder(path.parent)
        if isinstance(content, Path) and _linked(content, path, is_safe=not name.startswith(f"{PARTS}/")):
            return
        with _aside(path) if name.startswith(f"{PARTS}/") else writing(path) as out:
            if isinstance(content, bytes):
                out.write(content)
            else:
                with content.open("rb") as source:
                    shutil.copyfileobj(source, out, 1 << 20)

    def holds(self, name: str, size_bytes: int) -> bool:
        """See `Folder`."""
        try:
            return (self.path / name).stat().st_size == size_bytes
        except OSError:
            return False

    def get(self, name: str) -> bytes | None:
        """See `Folder`."""
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, below: str) -> list[str]:
        """See `Folder`."""
        found = (self.path / below).glob("*")
        return sorted(f"{below}/{path.name}" for path in found if path.is_file() and not path.name.startswith("."))

    def remove(self, below: str) -> None:
        """See `Folder`."""
        shutil.rmtree(self.path / below, ignore_errors=True)

    def local(self, name: str, within: Path) -> Path:  # noqa: ARG002 - it lies here already
        """See `Folder`."""
        return self.path / name

    def engine_input(self, name: str, size_bytes: int) -> Any:  # noqa: ARG002 - the file has it
        """See `Folder`."""
        return str(self.path / name)

    def slices(self, below: str) -> SliceWriter:
        """See `Folder`."""
        return _LocalSlices(self.path, below)


def _linked(source: Path, path: Path, *, is_safe: bool) -> bool:
    """Give a finished file its name here, if it lies on the same disk: that saves writing it twice."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        source.chmod(0o600)
        part.hardlink_to(source)
    except OSError:
        return False
    try:
        if is_safe:
            with part.open("rb") as file:
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return True


@contextmanager
def _aside(path: Path) -> Iterator[Any]:
    """A file that appears whole; it may be lost with the machine's power, which `holds` shows."""
    part = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


class _LocalSlices:
    """A file for each bucket, in a folder that gets its name when it is whole.

    No file stays open between its pieces, which are long: there may be more buckets than a process may open files.
    """

    def __init__(self, root: Path, below: str) -> None:
        self._root, self._below = root, below
        make_folder((root / below).parent)
        self._aside = root / f"{below}.{os.getpid()}-{os.urandom(4).hex()}.part"
        make_folder(self._aside)
        self._sizes: Counter[int] = Counter()

    def write(self, bucket: int, piece: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with os.fdopen(os.open(self._aside / f"{bucket:05}", flags, 0o600), "wb") as file:
            file.write(piece)
        self._sizes[bucket] += len(piece)

    def finish(self) -> Slices:
        try:
            self._aside.rename(self._root / self._below)
        except OSError:
            # Done before, or by another at the same time: with the same bytes.
            shutil.rmtree(self._aside, ignore_errors=True)
            if not (self._root / self._below).is_dir():
                raise
        return {bucket: [(f"{self._below}/{bucket:05}", size)] for bucket, size in sorted(self._sizes.items())}


class StoreFolder:
    """A prefix in a store."""

    def __init__(self, url: str, endpoint_url: str | None) -> None:
        self.url, self._endpoint_url = url, endpoint_url

    def put(self, name: str, content: bytes | Path) -> None:
        """See `Folder`."""
        from vmtrace.analyze.read.stores.upload import put

        put(f"{self.url}/{name}", content, self._endpoint_url)

    def holds(self, name: str, size_bytes: int) -> bool:  # noqa: ARG002 - a store keeps what it has confirmed
        """See `Folder`."""
        return True

    def get(self, name: str) -> bytes | None:
        """See `Folder`."""
        from vmtrace.analyze.read.stores.listing import head
        from vmtrace.analyze.read.stores.reader import get_range
        from vmtrace.analyze.read.stores.store import NO_BUCKET

        try:
            found = head(f"{self.url}/{name}", self._endpoint_url)
        except FileNotFoundError as error:
            if error.strerror == NO_BUCKET:
                raise
            return None
        return bytes(get_range(found, 0, found.size_bytes)) if found.size_bytes else b""

    def names(self, below: str) -> list[str]:
        """See `Folder`."""
        from vmtrace.analyze.read.stores.listing import find

        start = len(parsed(self.url).root) + 1
        prefix = f"{parsed(self.url).key}/" if parsed(self.url).key else ""
        found = (str(one)[start:].removeprefix(prefix) for one in find(f"{self.url}/{below}/", self._endpoint_url))
        return [name for name in found if "/" not in name.removeprefix(f"{below}/")]

    def remove(self, below: str) -> None:
        """See `Folder`."""
        import obstore

        from vmtrace.analyze.read.stores.listing import find
        from vmtrace.analyze.read.stores.store import errors_of, opened

        with errors_of(self.url):
            for one in find(f"{self.url}/{below}/", self._endpoint_url):
                obstore.delete(opened(parsed(one).root, self._endpoint_url), parsed(one).key)

    def local(self, name: str, within: Path) -> Path:
        """See `Folder`."""
        path = within / name.replace("/", "-")
        path.write_bytes(self.get(name) or b"")
        return path

    def engine_input(self, name: str, size_bytes: int) -> Any:
        """See `Folder`."""
        from vmtrace.analyze.read.stores.listing import ObjectUrl
        from vmtrace.analyze.read.stores.remote import RemoteObject

        # What is written twice has the same bytes, whatever its version.
        return RemoteObject(ObjectUrl(f"{self.url}/{name}", size_bytes, None, self._endpoint_url))

    def slices(self, below: str) -> SliceWriter:
        """See `Folder`."""
        return _StoreSlices(self, below)


class _StoreSlices:
    """Objects of a bucket, numbered: as large as memory allows, since each costs a request."""

    def __init__(self, target: StoreFolder, below: str) -> None:
        self._target, self._below = target, below
        self._held: dict[int, list[bytes]] = {}
        self._held_bytes = 0
        self._written: Slices = {}

    def write(self, bucket: int, piece: bytes) -> None:
        self._held.setdefault(bucket, []).append(piece)
        self._held_bytes += len(piece)
        if self._held_bytes > _HELD_BYTES:
            self._put(max(self._held, key=lambda one: sum(map(len, self._held[one]))))

    def finish(self) -> Slices:
        for bucket in sorted(self._held):
            self._put(bucket)
        return dict(sorted(self._written.items()))

    def _put(self, bucket: int) -> None:
        content = b"".join(self._held.pop(bucket))
        self._held_bytes -= len(content)
        written = self._written.setdefault(bucket, [])
        name = f"{self._below}/{bucket:05}.{len(written):04}"
        self._target.put(name, content)
        written.append((name, len(content)))
