"""A server's own log of the TCP connections it accepted: the truth that a report on packets is held to.

Each server process writes one line per connection at the moment its `accept` returns, before TLS begins; so a
connection whose handshake fails is counted too, and one that the kernel refused is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "VMTRACE_LAB_ACCEPTED"  # names the log's file to a server process


@dataclass(frozen=True, slots=True)
class AcceptedConnection:
    """One connection: when it was accepted and from where."""

    accepted_unix_ns: int
    peer_address: str
    peer_port: int


class AcceptedLog:
    """The writing side, in the server's process."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, peer: tuple[Any, ...]) -> None:
        """Log one connection from a socket address; one write, so that lines never mix."""
        os.write(self._descriptor, f"{time.time_ns()} {peer[0]} {peer[1]}\n".encode())

    def of(self, accept: Callable[[], tuple[Any, Any]]) -> Callable[[], tuple[Any, Any]]:
        """A listening socket's `accept` that logs what it returns."""

        def logged() -> tuple[Any, Any]:
            connection, peer = accept()
            self.note(peer)
            return connection, peer

        return logged


# The same in Node.js, loaded before the server: a tls.Server is a net.Server and gets its sockets by this event.
NODE_PRELOAD = f"""
const fs = require("fs");
const net = require("net");
const log = fs.openSync(process.env.{VARIABLE}, "a", 0o600);
const emit = net.Server.prototype.emit;
net.Server.prototype.emit = function (event, socket, ...rest) {{
  if (event === "connection") {{
    const now = BigInt(Date.now()) * 1000000n;
    fs.writeSync(log, `${{now}} ${{socket.remoteAddress}} ${{socket.remotePort}}\\n`);
  }}
  return emit.call(this, event, socket, ...rest);
}};
"""


def read(path: Path) -> list[AcceptedConnection]:
    """The connections of a log in order; none while there is no log, and no half-written line."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text().splitlines(keepends=True):
        if line.endswith("\n"):
            instant_ns, address, port = line.split()
            found.append(AcceptedConnection(int(instant_ns), address, int(port)))
    return found
