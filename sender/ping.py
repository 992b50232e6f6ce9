"""One echo to the receiver: an ICMP echo where this user may send one, else a TCP handshake.

Linux lets users within `net.ipv4.ping_group_range` open a datagram ICMP socket, and root a raw one. A TCP handshake is
connect() to the receiver's port, closed at once; the receiver counts it as an unauthenticated client, so there are few.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from dataclasses import dataclass

from sender.wire.endpoint import Endpoint, connect, resolve
from sender.wire.errors import WireError
from sender.wire.records import SocketOptions

ICMP, TCP = "icmp", "tcp"
WAIT_S = 2.0
_HEADER = struct.Struct("!BBHHH")
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_TOKEN_BYTES = 16
# What ping(8) sends: an echo of 64 bytes, so that the baselines of both are alike.
_PAYLOAD_BYTES = 56


@dataclass(frozen=True)
class Echo:
    """When an echo was sent, and how long until it was back; None: not within `WAIT_S`."""

    time_ns: int
    rtt_s: float | None


class IcmpPing:
    """Echoes over one ICMP socket. Making it raises `OSError` where this user may have none."""

    method = ICMP

    def __init__(self, endpoint: Endpoint, address: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._family = family
        self._socket = _open_socket(family)
        self._address = _socket_address(address, family)
        self._sequence = 0
        self._identifier = os.getpid() & 0xFFFF
        try:
            if endpoint.bind_interface is not None:
                name = endpoint.bind_interface.encode() + b"\0"
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name)
            if endpoint.bind_address is not None:
                self._socket.bind((endpoint.bind_address, 0))
        except BaseException:
            self._socket.close()
            raise

    def echo(self) -> Echo:
        """Send one and wait for it; a network that is not there loses it."""
        self._sequence = self._sequence + 1 & 0xFFFF
        payload = os.urandom(_TOKEN_BYTES).ljust(_PAYLOAD_BYTES, b"\0")
        message = self._message(payload)
        time_ns, sent_ns = time.time_ns(), time.perf_counter_ns()
        try:
            self._socket.sendto(message, self._address)
            received_ns = self._wait_for(payload, sent_ns)
        except OSError:
            return Echo(time_ns, None)
        return Echo(time_ns, None if received_ns is None else (received_ns - sent_ns) / 1e9)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _message(self, payload: bytes) -> bytes:
        header = (_REQUEST[self._family], 0)
        message = _HEADER.pack(*header, 0, self._identifier, self._sequence) + payload
        # The kernel fills in the checksum of ICMPv6 and of datagram sockets.
        return _HEADER.pack(*header, internet_checksum(message), self._identifier, self._sequence) + payload

    def _wait_for(self, payload: bytes, sent_ns: int) -> int | None:
        """The instant at which the reply with this payload came. A raw socket hears everybody's."""
        ends_ns = sent_ns + round(WAIT_S * 1e9)
        while True:
            left_s = (ends_ns - time.perf_counter_ns()) / 1e9
            if left_s <= 0 or not select.select([self._socket], [], [], left_s)[0]:
                return None
            packet = self._socket.recv(2048)
            received_ns = time.perf_counter_ns()
            if self._is_reply(packet, payload):
                return received_ns

    def _is_reply(self, packet: bytes, payload: bytes) -> bool:
        # A raw socket of IPv4 gives the IP header too; its length is in its first byte.
        raw = self._family == socket.AF_INET and self._socket.type == socket.SOCK_RAW
        start = (packet[0] & 15) * 4 if raw and packet else 0
        return packet[start : start + 1] == bytes([_REPLY[self._family]]) and packet[start + 8 :] == payload


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


def internet_checksum(data: bytes) -> int:
    """RFC 1071: the ones' complement of the ones' complement sum of 16-bit words."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def _open_socket(family: socket.AddressFamily) -> socket.socket:
    try:
        return socket.socket(family, socket.SOCK_DGRAM, _PROTOCOL[family])
    except OSError:
        return socket.socket(family, socket.SOCK_RAW, _PROTOCOL[family])


def _socket_address(address: str, family: socket.AddressFamily) -> tuple[object, ...]:
    """With the scope of a link-local address, which only the resolver turns into a number."""
    found = socket.getaddrinfo(address, None, family, flags=socket.AI_NUMERICHOST)
    return found[0][4]
