"""TCP_INFO of the lab's connections: capture's sampler and layout, connections by number, absent values as 0."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from vmtrace.capture import tcp_info as sampling
from vmtrace.capture import tcp_info_layout as layout
from vmtrace.formats import provenance

FIELDS = layout.FIELDS
COLUMNS = ("time_ns", "connection", "local_port", "peer_port", *FIELDS)
_DIRECTION = "both"


def decode(raw: bytes) -> dict[str, int]:
    """Named fields of a TCP_INFO answer; what an older kernel leaves out is 0."""
    return {name: value or 0 for name, value in layout.decode(raw).items()}


class TcpInfoSampler:
    """Samples every watched connection each `interval_s`, and once more when it is about to close."""

    def __init__(self, path: Path, interval_s: float) -> None:
        self._sampler = sampling.TcpInfoSampler(path, interval_s)

    def watch(self, connection: int, sock: socket.socket) -> None:
        """Begin to sample a connected socket. It must be given to `unwatch` before it is closed."""
        self._sampler.watch(connection, _DIRECTION, sock)

    def unwatch(self, connection: int) -> None:
        """Take the last sample and let go of the descriptor without closing it."""
        self._sampler.unwatch(connection, _DIRECTION)

    def finish(self) -> None:
        """Stop sampling; the table is complete then."""
        self._sampler.finish()
        if self._sampler.error:
            raise OSError(self._sampler.error)


def read_table(path: Path) -> list[dict[str, int]]:
    """Rows of a table the sampler wrote; a value that was not measured is 0."""
    table = provenance.read_table(path, sampling.SCHEMA)
    names = ["connection" if name == "stream" else name for name in table.columns]
    numbers = [place for place, name in enumerate(names) if name in COLUMNS]
    return [{names[place]: int(row[place] or 0) for place in numbers} for row in table.rows]


def last_rows(rows: Sequence[dict[str, int]]) -> dict[int, dict[str, int]]:
    """The final sample of each connection."""
    return {row["connection"]: row for row in rows}
