"""One echo to the receiver: an ICMP echo where this user may send one, else a TCP handshake.

A TCP handshake is connect() to the receiver's port, closed at once; the receiver counts it as an unauthenticated
client, so there are few.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from vmtrace.capture.icmp import EchoSocket
from vmtrace.sender.wire.endpoint import Endpoint, connect, resolve
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.socket_options import SocketOptions

ICMP, TCP = "icmp", "tcp"
WAIT_S = 2.0


@dataclass(frozen=True)
class Echo:
    """When an echo was sent, and how long until it was back; None: not within `WAIT_S`."""

    time_ns: int
    rtt_s: float | None


class IcmpPing:
    """Echoes over one ICMP socket. Making it raises `OSError` where this user may have none."""

    method = ICMP

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        self._socket = EchoSocket(address, endpoint.bind_interface, endpoint.bind_address)

    def echo(self) -> Echo:
        """Send one and wait for it; a network that is not there loses it."""
        time_ns = time.time_ns()
        try:
            return Echo(time_ns, self._socket.rtt_s(WAIT_S))
        except OSError:
            return Echo(time_ns, None)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class TcpPing:
    """TCP handshakes with the receiver's port."""

    method = TCP

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def echo(self) -> Echo:
        """Connect and close; a receiver that does not answer loses it."""
        time_ns = time.time_ns()
        try:
            address = resolve(self._endpoint)
            time_ns, began_ns = time.time_ns(), time.perf_counter_ns()
            connect(self._endpoint, address, SocketOptions(), WAIT_S).close()
        except (WireError, OSError):
            return Echo(time_ns, None)
        return Echo(time_ns, (time.perf_counter_ns() - began_ns) / 1e9)

    def close(self) -> None:
        """There is nothing to close."""
