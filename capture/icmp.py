"""ICMP echoes: how long a host's kernel takes to answer, without any program there (RFC 792, RFC 4443).

Linux lets users within `net.ipv4.ping_group_range` open a datagram ICMP socket, and root a raw one.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import time

# What ping(8) sends: an echo of 64 bytes, so that the baselines of both are alike.
PAYLOAD_BYTES = 56
_HEADER = struct.Struct("!BBHHH")
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_TOKEN_BYTES = 16


class EchoSocket:
    """Echoes to one address. Making it raises `OSError` where this user may have no such socket."""

    def __init__(self, address: str, bind_interface: str | None = None, bind_address: str | None = None) -> None:
        self._family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._socket = _open_socket(self._family)
        self._sequence = 0
        self._identifier = os.getpid() & 0xFFFF
        try:
            self._address = _socket_address(address, self._family)
            if bind_interface is not None:
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, bind_interface.encode() + b"\0")
            if bind_address is not None:
                self._socket.bind((bind_address, 0))
        except BaseException:
            self._socket.close()
            raise

    def rtt_s(self, wait_s: float) -> float | None:
        """Send one and wait for it; None: not back in time. Raises `OSError` where the network is not there."""
        payload = os.urandom(_TOKEN_BYTES).ljust(PAYLOAD_BYTES, b"\0")
        message = self.message(payload)
        sent_ns = time.perf_counter_ns()
        self._socket.sendto(message, self._address)
        ends_ns = sent_ns + round(wait_s * 1e9)
        while True:
            left_s = (ends_ns - time.perf_counter_ns()) / 1e9
            if left_s <= 0 or not select.select([self._socket], [], [], left_s)[0]:
                return None
            packet = self._socket.recv(2048)
            received_ns = time.perf_counter_ns()
            if self._is_reply(packet, payload):
                return (received_ns - sent_ns) / 1e9

    def message(self, payload: bytes) -> bytes:
        """The next echo request, with a checksum, which the kernel needs of raw IPv4 sockets alone."""
        self._sequence = self._sequence + 1 & 0xFFFF
        header = (_REQUEST[self._family], 0)
        message = _HEADER.pack(*header, 0, self._identifier, self._sequence) + payload
        return _HEADER.pack(*header, internet_checksum(message), self._identifier, self._sequence) + payload

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _is_reply(self, packet: bytes, payload: bytes) -> bool:
        """A raw socket hears everybody's, and of IPv4 gives the IP header too; its length is in its first byte."""
        raw = self._family == socket.AF_INET and self._socket.type == socket.SOCK_RAW
        start = (packet[0] & 15) * 4 if raw and packet else 0
        return packet[start : start + 1] == bytes([_REPLY[self._family]]) and packet[start + 8 :] == payload


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
