"""Clients that read or ask in a rhythm that is known: `python -m vmtrace.lab.accuracy.program_readers`.

What a program of the world does not do on request: read a piece in each interval; wait between requests on one
connection; send pieces of one size and wait for the server's response to each. Standard library only.
"""

from __future__ import annotations

import argparse
import http.client
import socket
import sys
import time
from dataclasses import dataclass

_TIME_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How a client asks and reads: `exchanges` one after the other on one connection, `wait_s` between them.

    It reads `read_bytes` in each `every_s` (0 for as fast as it comes), or what `has_come` of them, into a buffer of
    `buffer_bytes` (0 for what the kernel chooses). With `piece_bytes` it sends that much in each exchange.
    """

    exchanges: int = 1
    wait_s: float = 0.0
    every_s: float = 0.0
    read_bytes: int = 1 << 20
    has_come: bool = False
    buffer_bytes: int = 0
    piece_bytes: int = 0


def talk(rhythm: Rhythm, address: str, port: int, file: str) -> int:
    """All exchanges; the bytes that came."""
    connection = http.client.HTTPConnection(address, port, timeout=_TIME_LIMIT_S)
    connection.sock = _socket(rhythm, address, port)
    received = 0
    for number in range(rhythm.exchanges):
        if number and rhythm.wait_s:
            time.sleep(rhythm.wait_s)
        if rhythm.piece_bytes:
            connection.request("PUT", f"/{file}", body=bytes(rhythm.piece_bytes))
        else:
            connection.request("GET", f"/{file}")
        received += _read(connection.getresponse(), rhythm)
    connection.close()
    return received


def _socket(rhythm: Rhythm, address: str, port: int) -> socket.socket:
    """The size of a buffer must be known before the window's scale is agreed."""
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    if rhythm.buffer_bytes:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rhythm.buffer_bytes)
    made.settimeout(_TIME_LIMIT_S)
    made.connect((address, port))
    return made


def _read(response: http.client.HTTPResponse, rhythm: Rhythm) -> int:
    received, due_s = 0, time.monotonic()
    read = response.read1 if rhythm.has_come else response.read
    while piece := read(rhythm.read_bytes):
        received += len(piece)
        if rhythm.every_s:
            due_s += rhythm.every_s
            time.sleep(max(0.0, due_s - time.monotonic()))
    return received


def main(arguments: list[str] | None = None) -> int:
    """Talks once; 1 if nothing came for a request that had an answer to come."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.accuracy.program_readers", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("file")
    parser.add_argument("--exchanges", type=int, default=1)
    parser.add_argument("--wait", type=float, default=0.0, metavar="SECONDS", help="between exchanges")
    parser.add_argument("--every", type=float, default=0.0, metavar="SECONDS", help="from read to read")
    parser.add_argument("--read-bytes", type=int, default=1 << 20, help="of one read")
    parser.add_argument("--has-come", action="store_true", help="waits for no more than what has come")
    parser.add_argument("--buffer", type=int, default=0, help="SO_RCVBUF")
    parser.add_argument("--piece-bytes", type=int, default=0, help="sent in each exchange")
    shown = parser.parse_args(arguments)
    rhythm = Rhythm(
        shown.exchanges, shown.wait, shown.every, shown.read_bytes, shown.has_come, shown.buffer, shown.piece_bytes
    )
    received = talk(rhythm, shown.address, shown.port, shown.file)
    return 0 if received or rhythm.piece_bytes else 1


if __name__ == "__main__":
    sys.exit(main())
