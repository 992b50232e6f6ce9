"""The last packets of a watched stream for other programs of the same user: a socket for each `vmtrace watch`.

Whoever connects gets a pcapng file and the end. `vmtrace extcap` does, for Wireshark.
"""

import os
import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from vmtrace.analyze.reports.live.stream import Stream

_MOST_NAME = 80
_WAKE_UP_S = 0.2
_SENDING_S = 30.0


class Offered(NamedTuple):
    """A stream that is watched just now."""

    value: str
    """As Wireshark names it."""
    name: str
    """What is watched."""
    path: Path


@contextmanager
def offering(stream: Stream) -> Iterator[None]:
    """As long as this lasts, the last packets can be fetched. No socket can be made in a folder of a long name."""
    path = None
    with suppress(OSError):
        folder = _folder()
        name = "".join(one if one.isalnum() or one in ".-" else "_" for one in stream.name)[-_MOST_NAME // 2 :]
        path = folder / f"watch-{os.getpid()}-{name}"
        with suppress(FileNotFoundError):
            path.unlink()
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path))
        listening.listen()
        listening.settimeout(_WAKE_UP_S)
    if path is None:
        yield
        return
    ending = threading.Event()
    thread = threading.Thread(target=_serve, args=(listening, stream, ending), name="vmtrace-offer", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
        listening.close()
        path.unlink(missing_ok=True)


def _serve(listening: socket.socket, stream: Stream, ending: threading.Event) -> None:
    while not ending.is_set():
        with suppress(OSError):
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(_SENDING_S)
                connection.sendall(stream.last_packets() or b"")


def offered() -> list[Offered]:
    """Streams that are watched by this user, oldest process first."""
    found = []
    with suppress(OSError):
        for path in sorted(_folder().glob("watch-*")):
            _, number, name = path.name.split("-", 2)
            if Path(f"/proc/{number}").exists():
                found.append(Offered(f"vmtrace-{number}", name, path))
            else:
                path.unlink(missing_ok=True)
    return found


def fetched(path: Path) -> Iterator[bytes]:
    """The file, piece by piece."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(_SENDING_S)
        connection.connect(str(path))
        while piece := connection.recv(1 << 16):
            yield piece


def _folder() -> Path:
    """One that is this user's alone; raises `OSError` where another made it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime, "vmtrace") if runtime else Path(f"/tmp/vmtrace-{os.getuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or state.st_mode & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder
