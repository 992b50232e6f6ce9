"""Round trips to the front ends of a service, before its capture begins: ICMP echoes and TCP handshakes.

Linux lets users within `net.ipv4.ping_group_range` open a datagram ICMP socket, and root a raw one; where neither may
be had there are TCP handshakes alone. A handshake is connect() to the service's port, closed at once.
"""

import os
import select
import socket
import struct
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

WAIT_S = 2.0
ICMP, TCP = "icmp", "tcp"
MOST_FRONT_ENDS = 8
_HEADER = struct.Struct("!BBHHH")
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_PAYLOAD_BYTES = 56  # what ping(8) sends
_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True)
class Echo:
    """One echo; `rtt_s` None: not back within `WAIT_S`."""

    time_ns: int
    front_end: str
    port: int
    method: str
    rtt_s: float | None


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses that a name has now, at most `MOST_FRONT_ENDS`; none if it cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(one[4][0]) for one in found))[:MOST_FRONT_ENDS]


def echoes(front_ends: Iterable[tuple[str, int]], count: int) -> Iterator[Echo]:
    """So many echoes of each kind to each address and port; one that does not answer is asked by that kind no more."""
    for address, port in front_ends:
        for method, once in ((ICMP, icmp_rtt_s), (TCP, tcp_rtt_s)):
            for _ in range(count):
                time_ns = time.time_ns()
                try:
                    rtt_s = once(address, port)
                except OSError:  # no ICMP socket for this user, or the address is of a family that is not here
                    break
                yield Echo(time_ns, address, port, method, rtt_s)
                if rtt_s is None:
                    break


def tcp_rtt_s(address: str, port: int) -> float | None:
    """How long connect() takes: SYN to SYN-ACK. A refused one answers as fast, but there is no service."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(WAIT_S)
        began_ns = time.perf_counter_ns()
        try:
            probe.connect((address, port))
        except (ConnectionError, TimeoutError):
            return None
        return (time.perf_counter_ns() - began_ns) / 1e9


def icmp_rtt_s(address: str, _port: int = 0) -> float | None:
    """One echo; raises `OSError` where this user may send none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    payload = os.urandom(_TOKEN_BYTES).ljust(_PAYLOAD_BYTES, b"\0")
    with _icmp_socket(family) as probe:
        began_ns = time.perf_counter_ns()
        probe.sendto(_echo_request(family, payload), (address, 0))
        while True:
            left_s = WAIT_S - (time.perf_counter_ns() - began_ns) / 1e9
            if left_s <= 0 or not select.select([probe], [], [], left_s)[0]:
                return None
            packet = probe.recv(2048)
            took_s = (time.perf_counter_ns() - began_ns) / 1e9
            if _is_reply(probe, packet, payload):
                return took_s


def internet_checksum(data: bytes) -> int:
    """RFC 1071: the ones' complement of the ones' complement sum of 16-bit words."""
    padded = data + b"\0" * (len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def _icmp_socket(family: socket.AddressFamily) -> socket.socket:
    try:
        return socket.socket(family, socket.SOCK_DGRAM, _PROTOCOL[family])
    except OSError:
        return socket.socket(family, socket.SOCK_RAW, _PROTOCOL[family])


def _echo_request(family: socket.AddressFamily, payload: bytes) -> bytes:
    identifier = os.getpid() & 0xFFFF
    # The kernel fills in the checksum of ICMPv6 and of datagram sockets.
    checksum = internet_checksum(_HEADER.pack(_REQUEST[family], 0, 0, identifier, 1) + payload)
    return _HEADER.pack(_REQUEST[family], 0, checksum, identifier, 1) + payload


def _is_reply(probe: socket.socket, packet: bytes, payload: bytes) -> bool:
    """A raw socket hears everybody's, and of IPv4 gives the IP header too; its length is in its first byte."""
    raw = probe.family == socket.AF_INET and probe.type == socket.SOCK_RAW
    start = (packet[0] & 15) * 4 if raw and packet else 0
    return packet[start : start + 1] == bytes([_REPLY[probe.family]]) and packet[start + 8 :] == payload
