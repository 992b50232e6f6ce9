"""One connection that has not proven the key: 48 bytes go out, 112 come in, and it has seconds for that."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from vmtrace.sender.wire import handshake


@dataclass
class Newcomer:
    """An accepted connection, in non-blocking mode."""

    socket: socket.socket
    host: str
    origin: str
    """What `admission` counts it under."""
    network: str
    """What `places` counts it under."""
    hello: bytes
    deadline_s: float
    reserved: bool = False
    """Its place does not go to somebody else: a stream that is awaited, or an origin that has proved the key."""
    auth: bytes = b""

    def read(self) -> bool | None:
        """Take what has come. True: AUTH is whole; False: the connection is over; None: more is due.

        Never reads beyond AUTH: what follows is payload, which belongs to whoever takes the connection on.
        """
        try:
            piece = self.socket.recv(handshake.AUTH_BYTES - len(self.auth))
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return False
        if not piece:
            return False
        self.auth += piece
        return True if len(self.auth) == handshake.AUTH_BYTES else None


def greet(sock: socket.socket) -> bytes | None:
    """Send HELLO on a fresh connection and return it; None if even that fails."""
    hello = handshake.new_hello()
    try:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if sock.send(hello) != len(hello):
            return None
    except OSError:
        return None
    return hello
