"""Web servers that are slow in a way that is known: `python -m vmtrace.lab.accuracy.program_servers ADDRESS PORT ...`.

What a program of the world does not do on request: think before it answers, read from a slow disk, take uploads slowly.
Standard library only.
"""

from __future__ import annotations

import argparse
import http.server
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

_PIECE_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Manner:
    """How a server answers: thinks for `think_s`, then sends `answer_bytes` in pieces, one in `interval_s`.

    It reads what is uploaded with `read_bps`, 0 for as fast as it comes.
    """

    answer_bytes: int = 0
    think_s: float = 0.0
    piece_bytes: int = _PIECE_BYTES
    interval_s: float = 0.0
    read_bps: float = 0.0


def serve(manner: Manner, address: str, port: int) -> http.server.HTTPServer:
    """A server that listens; `serve_forever` is the caller's."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            time.sleep(manner.think_s)
            self.send_response(200)
            self.send_header("Content-Length", str(manner.answer_bytes))
            self.end_headers()
            _paced(manner.answer_bytes, manner.piece_bytes, manner.interval_s, lambda n: self.wfile.write(bytes(n)))

        def do_PUT(self) -> None:
            seconds = _PIECE_BYTES * 8 / manner.read_bps if manner.read_bps else 0.0
            _paced(int(self.headers["Content-Length"]), _PIECE_BYTES, seconds, self.rfile.read)
            time.sleep(manner.think_s)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

    class Server(http.server.HTTPServer):
        address_family = socket.AF_INET6 if ":" in address else socket.AF_INET

    return Server((address, port), Handler)


def _paced(total_bytes: int, piece_bytes: int, interval_s: float, move: Callable[[int], object]) -> None:
    """Moves all bytes, a piece in each interval; one that took longer is not caught up with."""
    left = total_bytes
    while left > 0:
        began_s = time.monotonic()
        piece = min(piece_bytes, left)
        move(piece)
        left -= piece
        if left:
            time.sleep(max(0.0, interval_s - (time.monotonic() - began_s)))


def main(arguments: list[str] | None = None) -> int:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.accuracy.program_servers", description=__doc__)
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--answer-bytes", type=int, default=0)
    parser.add_argument("--think", type=float, default=0.0, metavar="SECONDS", help="before an answer")
    parser.add_argument("--piece-bytes", type=int, default=_PIECE_BYTES, help="of an answer")
    parser.add_argument("--interval", type=float, default=0.0, metavar="SECONDS", help="from piece to piece")
    parser.add_argument("--read-bps", type=float, default=0.0, help="of uploads")
    shown = parser.parse_args(arguments)
    manner = Manner(shown.answer_bytes, shown.think, shown.piece_bytes, shown.interval, shown.read_bps)
    serve(manner, shown.address, shown.port).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
