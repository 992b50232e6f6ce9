"""What the kernel knows of a network interface, by rtnetlink: its counters, MTU, state, queueing discipline, addresses.

Not read from /sys/class/net: that shows the network namespace of whoever mounted it, which may have an interface of the
same name. Nothing here sets anything, and no privilege is needed.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

# linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/netlink.h
_NETLINK_ROUTE = 0
_RTM_NEWLINK, _RTM_GETLINK = 16, 18
_RTM_NEWADDR, _RTM_GETADDR = 20, 22
_NLM_F_REQUEST, _NLM_F_DUMP = 0x1, 0x300
_NLMSG_ERROR, _NLMSG_DONE = 2, 3
_IFLA_IFNAME, _IFLA_MTU, _IFLA_QDISC = 3, 4, 6
_IFLA_TXQLEN, _IFLA_OPERSTATE, _IFLA_STATS64 = 13, 16, 23
_IFLA_TX_QUEUES, _IFLA_RX_QUEUES = 31, 32
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_STATES = ("unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up")
_HEADER = struct.Struct("=IHHII")
_ANSWER_BYTES = 65_536
_TIMEOUT_S = 2.0  # the kernel answers within the call; anything else must not hold up a run

# struct rtnl_link_stats64 in order: the names of /sys/class/net/*/statistics
STATISTICS = (
    "rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_errors", "tx_errors", "rx_dropped", "tx_dropped",
    "multicast", "collisions", "rx_length_errors", "rx_over_errors", "rx_crc_errors", "rx_frame_errors",
    "rx_fifo_errors", "rx_missed_errors", "tx_aborted_errors", "tx_carrier_errors", "tx_fifo_errors",
    "tx_heartbeat_errors", "tx_window_errors", "rx_compressed", "tx_compressed", "rx_nohandler",
)  # fmt: skip


@dataclass(frozen=True)
class Link:
    """An interface as it is now; None where the kernel does not say."""

    index: int
    mtu_bytes: int | None
    state: str | None
    qdisc: str | None
    tx_queues: int | None
    rx_queues: int | None
    tx_queue_length: int | None
    statistics: Mapping[str, int]


class LinkReader:
    """Asks for interfaces in the network namespace of the thread that made it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE)
        self._socket.settimeout(_TIMEOUT_S)
        self._sequence = 0

    def close(self) -> None:
        """Let go of the socket."""
        self._socket.close()

    def link(self, interface: str) -> Link | None:
        """The interface of that name, None if there is none."""
        name = interface.encode("utf-8", "surrogateescape")
        if not 0 < len(name) < 16 or b"\0" in name:
            return None
        body = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, 0, 0, 0) + _attribute(_IFLA_IFNAME, name + b"\0")
        for kind, message in self._ask(_RTM_GETLINK, 0, body):
            if kind == _RTM_NEWLINK:
                return _link_of(message)
        return None

    def addresses(self, index: int) -> list[str]:
        """The interface's IPv4 and IPv6 addresses with their prefix lengths."""
        found = []
        for kind, message in self._ask(_RTM_GETADDR, _NLM_F_DUMP, struct.pack("=BBBBI", socket.AF_UNSPEC, 0, 0, 0, 0)):
            if kind != _RTM_NEWADDR or len(message) < 8:
                continue
            family, prefix_length, _, _, owner = struct.unpack_from("=BBBBI", message)
            attributes = dict(_attributes(message, 8))
            raw = attributes.get(_IFA_LOCAL) or attributes.get(_IFA_ADDRESS)
            if owner == index and raw is not None and len(raw) == {socket.AF_INET: 4, socket.AF_INET6: 16}.get(family):
                found.append(f"{socket.inet_ntop(family, raw)}/{prefix_length}")
        return found

    def _ask(self, kind: int, flags: int, body: bytes) -> Iterator[tuple[int, bytes]]:
        """Kind and content of each message of the answer; none where the kernel refuses."""
        self._sequence += 1
        head = _HEADER.pack(_HEADER.size + len(body), kind, _NLM_F_REQUEST | flags, self._sequence, 0)
        try:
            self._socket.send(head + body)
            while True:
                answer = self._socket.recv(_ANSWER_BYTES)
                messages = [message[1:] for message in _messages(answer) if message[0] == self._sequence]
                yield from messages
                if not flags & _NLM_F_DUMP and messages:
                    return
                if any(kind in {_NLMSG_DONE, _NLMSG_ERROR} for kind, _ in messages):
                    return
        except OSError:
            return  # no netlink in this sandbox, or no answer: for the caller the interface is not told


def _messages(answer: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Sequence number, kind and content of each netlink message."""
    place = 0
    while place + _HEADER.size <= len(answer):
        length, kind, _, sequence, _ = _HEADER.unpack_from(answer, place)
        if length < _HEADER.size or place + length > len(answer):
            return
        yield sequence, kind, answer[place + _HEADER.size : place + length]
        place += length + 3 & ~3


def _attributes(message: bytes, place: int) -> Iterator[tuple[int, bytes]]:
    while place + 4 <= len(message):
        length, kind = struct.unpack_from("=HH", message, place)
        if length < 4 or place + length > len(message):
            return
        yield kind & 0x3FFF, message[place + 4 : place + length]
        place += length + 3 & ~3


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def _link_of(message: bytes) -> Link | None:
    if len(message) < 16:
        return None
    (index,) = struct.unpack_from("=i", message, 4)
    attributes = dict(_attributes(message, 16))

    def number(kind: int) -> int | None:
        raw = attributes.get(kind, b"")
        return int(struct.unpack("=I", raw)[0]) if len(raw) == 4 else None

    state = attributes.get(_IFLA_OPERSTATE, b"")
    qdisc = attributes.get(_IFLA_QDISC)
    raw = attributes.get(_IFLA_STATS64, b"")
    counters = struct.unpack_from(f"={len(raw) // 8}Q", raw)
    return Link(
        index=index,
        mtu_bytes=number(_IFLA_MTU),
        state=_STATES[state[0]] if state and state[0] < len(_STATES) else None,
        qdisc=None if qdisc is None else qdisc.split(b"\0")[0].decode("ascii", "replace"),
        tx_queues=number(_IFLA_TX_QUEUES),
        rx_queues=number(_IFLA_RX_QUEUES),
        tx_queue_length=number(_IFLA_TXQLEN),
        statistics=dict(zip(STATISTICS, counters)),
    )
