"""Captures of connections whose ends talk by turns: HTTP requests on open connections, and data both ways at once."""

import heapq
import struct
from collections.abc import Callable, Iterator

from bench.rewritten import Frame, checksum, checksum_sum, ipv4_header

_START_US = 1_750_000_000_000_000
_ROUND_TRIP_US = 8_000
_FULL = 1448
_SNAP_LENGTH = 128
_SYN, _PSH, _ACK = 2, 8, 16
_SYN_OPTIONS = bytes((2, 4, 5, 0xB4, 4, 2, 1, 1, 1, 3, 3, 7))


class Talk:
    """One connection, from the client's host: it grows by what its ends send."""

    def __init__(self, number: int) -> None:
        self.frames: list[Frame] = []
        self.now_us = _START_US + number * 1_700
        self._addresses = bytes((10, 0, 0, 9)), bytes((198, 51, 100, 1 + number % 200))
        self._ports = 41_000 + number, 80
        self._next = [1_000_003 * number, 7_000_001 * number]
        self.say(0, _SYN)
        self.pass_us(_ROUND_TRIP_US)
        self.say(1, _SYN | _ACK)
        self.say(0, _ACK)

    def pass_us(self, time_us: int) -> None:
        """Lets time pass."""
        self.now_us += time_us

    def say(self, side: int, flags: int = _ACK, payload: bytes = b"") -> None:
        """A segment of the client (0) or the server (1), which acknowledges all that was sent before."""
        options = _SYN_OPTIONS if flags & _SYN else b""
        tcp_bytes = 20 + len(options) + len(payload)
        acknowledged = self._next[1 - side] if flags & _ACK else 0
        ports = self._ports[side], self._ports[1 - side]
        offset = (20 + len(options)) << 2
        tcp = struct.pack(">HHIIBBH", *ports, self._next[side], acknowledged, offset, flags, 0xFFFF)
        addresses = self._addresses[side], self._addresses[1 - side]
        pseudo = b"".join(addresses) + struct.pack(">HH", 6, tcp_bytes)
        tcp += checksum(checksum_sum(pseudo + tcp + options + payload)) + b"\x00\x00" + options + payload
        frame = bytes(12) + b"\x08\x00" + ipv4_header(20 + tcp_bytes, 6, *addresses) + tcp
        self.frames.append((self.now_us, len(frame), frame[:_SNAP_LENGTH]))
        self._next[side] += len(payload) + (flags & _SYN) // _SYN
        self.now_us += 15


def http(connections: int, requests: int) -> Iterator[Frame]:
    """GET and a response of three segments, again and again on open connections: about seven packets each time."""

    def exchange(talk: Talk, number: int) -> None:
        talk.say(0, _PSH | _ACK, f"GET /objects/{number} HTTP/1.1\r\nHost: example.net\r\n\r\n".encode())
        talk.pass_us(_ROUND_TRIP_US)
        talk.say(1)
        talk.pass_us(1_000 + number * 7919 % 5_000)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n"
        talk.say(1, _ACK, head + bytes(_FULL - len(head)))
        talk.say(1, _ACK, bytes(_FULL))
        talk.say(0)
        talk.say(1, _PSH | _ACK, bytes(3000 + len(head) - 2 * _FULL))
        talk.say(0)
        talk.pass_us(2_000)

    return _merged(connections, requests, exchange)


def both_ways(connections: int, rounds: int) -> Iterator[Frame]:
    """Both ends send four full segments in each round trip, each of which acknowledges the other's."""

    def round_trip(talk: Talk, _number: int) -> None:
        for _ in range(4):
            talk.say(0, _ACK, bytes(_FULL))
            talk.pass_us(_ROUND_TRIP_US // 8)
            talk.say(1, _ACK, bytes(_FULL))
            talk.pass_us(_ROUND_TRIP_US // 8)

    return _merged(connections, rounds, round_trip)


def _merged(connections: int, times: int, step: Callable[[Talk, int], None]) -> Iterator[Frame]:
    talks = [Talk(number) for number in range(connections)]
    for number in range(times):
        for talk in talks:
            step(talk, number)
    return heapq.merge(*(talk.frames for talk in talks), key=lambda frame: frame[0])
