"""The TCP connections of a process and its children, as the kernel lists them while it runs.

Each look sees what is open at that moment. A connection that opens and closes between two looks is not seen; its
packets are. Listening sockets, and those that have no peer yet, are left out.
"""

from __future__ import annotations

import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_SOCKET = re.compile(r"socket:\[(\d+)\]")
_MOST_PROCESSES = 4096


class ProcessSockets:
    """Of one process tree; `seen` has both ends of each connection, in the order in which they were seen."""

    def __init__(self, pid: int, proc: Path = Path("/proc")) -> None:
        self._pid, self._proc = pid, proc
        self.seen: dict[tuple[str, str], None] = {}

    def look(self) -> None:
        """Add what is open now; a process that is gone has nothing open."""
        inodes = {inode for pid in self._tree() for inode in self._inodes(pid)}
        if not inodes:
            return
        for table in ("tcp", "tcp6"):
            with suppress(OSError):
                lines = (self._proc / str(self._pid) / "net" / table).read_text().splitlines()[1:]
                self.seen |= dict.fromkeys(_connections(lines, inodes))

    def _tree(self) -> list[int]:
        found, place = [self._pid], 0
        while place < len(found) < _MOST_PROCESSES:
            for path in (self._proc / str(found[place]) / "task").glob("*/children"):
                with suppress(OSError):
                    found += [int(word) for word in path.read_text().split() if int(word) not in found]
            place += 1
        return found

    def _inodes(self, pid: int) -> Iterator[str]:
        with suppress(OSError):
            for entry in os.scandir(self._proc / str(pid) / "fd"):
                with suppress(OSError):
                    link = _SOCKET.fullmatch(os.readlink(entry.path))  # noqa: PTH115 - the text of the link
                    if link is not None:
                        yield link[1]


def _connections(lines: list[str], inodes: set[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        fields = line.split()
        if len(fields) > 9 and fields[9] in inodes:
            local, peer = _shown(fields[1]), _shown(fields[2])
            if not peer.endswith(":0"):
                yield local, peer


def _shown(text: str) -> str:
    """`0100007F:1F90` -> `127.0.0.1:8080`: words of 32 bits in the order of this machine."""
    address, _, port = text.partition(":")
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if len(packed) == 4:
        return f"{socket.inet_ntop(socket.AF_INET, packed)}:{int(port, 16)}"
    if packed[:12] == b"\0" * 10 + b"\xff\xff":
        return f"{socket.inet_ntop(socket.AF_INET, packed[12:])}:{int(port, 16)}"
    return f"[{socket.inet_ntop(socket.AF_INET6, packed)}]:{int(port, 16)}"
