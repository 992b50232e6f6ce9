"""The packets of the lab world: between vantage points and the far side, each delayed by its distance.

One process, one loop, as in `vmtrace.lab.emulator`; what is new is that each pair of vantage point and address has a
delay of its own, and that routers on the way answer to packets whose time to live ends at them (RFC 792).
"""

from __future__ import annotations

import argparse
import gc
import heapq
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.icmp import internet_checksum
from vmtrace.lab.emulator import prefer_this_process

_BATCH = 32
_LONGEST_PACKET = 65536
_LONGEST_SLEEP_S = 0.05
_ICMP, _TIME_EXCEEDED, _ECHO_REQUEST = 1, 11, 8
_ROUTER_TTL = 64
_FAR = 0


@dataclass(frozen=True, slots=True)
class Way:
    """From a vantage point to an address: how long, and the routers in order with how far each is."""

    one_way_ns: int
    routers: tuple[tuple[bytes, int], ...]


class Crossing:
    """What becomes of a packet: pure arithmetic on bytes and nanoseconds."""

    def __init__(self, ways: Sequence[Mapping[bytes, Way]], vantages: Mapping[bytes, int], default: Way) -> None:
        self._ways, self._vantages, self._default = ways, vantages, default

    def of(self, side: int, packet: bytes) -> tuple[int, int, bytes] | None:
        """The side it leaves at, after how many nanoseconds, and how; None: it goes nowhere."""
        if len(packet) < 20 or packet[0] >> 4 != 4:
            return None
        source, target = packet[12:16], packet[16:20]
        if side == _FAR:
            back = self._vantages.get(target)
            if back is None:
                return None
            way = self._ways[back - 1].get(source, self._default)
            return back, way.one_way_ns, _with_ttl(packet, packet[8] - len(way.routers))
        way = self._ways[side - 1].get(target, self._default)
        if packet[8] <= len(way.routers):
            router, delay_ns = way.routers[packet[8] - 1]
            reply = time_exceeded(packet, router)
            return (side, 2 * delay_ns, reply) if reply is not None else None
        return _FAR, way.one_way_ns, _with_ttl(packet, packet[8] - len(way.routers))


def time_exceeded(packet: bytes, router: bytes) -> bytes | None:
    """The router's ICMP message about a packet; None about an ICMP error, of which none is ever sent."""
    header = (packet[0] & 15) * 4
    if packet[9] == _ICMP and packet[header : header + 1] != bytes([_ECHO_REQUEST]):
        return None
    quoted = _with_ttl(packet[: header + 28], 1)
    body = struct.pack("!BBHI", _TIME_EXCEEDED, 0, 0, 0) + quoted
    body = body[:2] + struct.pack("!H", internet_checksum(body)) + body[4:]
    return ipv4(router, packet[12:16], _ICMP, body)


def ipv4(source: bytes, target: bytes, protocol: int, body: bytes) -> bytes:
    """A packet without options."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, _ROUTER_TTL, protocol, 0, source, target)
    return header[:10] + struct.pack("!H", internet_checksum(header)) + header[12:] + body


def _with_ttl(packet: bytes, ttl: int) -> bytes:
    header = (packet[0] & 15) * 4
    changed = packet[:8] + bytes([max(1, ttl)]) + packet[9:10] + b"\0\0" + packet[12:header]
    return changed[:10] + struct.pack("!H", internet_checksum(changed)) + changed[12:] + packet[header:]


def crossing_from(document: Mapping[str, Any]) -> Crossing:
    """From the settings file: `vantages` (address by number), and `ways` of each by address."""
    ways = [{_packed(address): _way(one) for address, one in each.items()} for each in document["ways"]]
    vantages = {_packed(address): number for number, address in enumerate(document["vantages"], 1)}
    return Crossing(ways, vantages, _way(document["default"]))


def _way(record: Mapping[str, Any]) -> Way:
    routers = tuple((_packed(address), round(one_way_s * 1e9)) for address, one_way_s in record["routers"])
    return Way(round(record["one_way_s"] * 1e9), routers)


def _packed(address: str) -> bytes:
    return socket.inet_aton(address)


class Carrier:
    """The loop."""

    def __init__(self, descriptors: Sequence[int], crossing: Crossing) -> None:
        self._descriptors, self._crossing = list(descriptors), crossing
        self._heap: list[tuple[int, int, int, bytes]] = []
        self._serial = 0
        self.stopping = False
        self.carried = self.refused = 0

    def run(self) -> None:
        """Carry packets until `stopping`."""
        while not self.stopping:
            timeout_s = _LONGEST_SLEEP_S
            if self._heap:
                timeout_s = min(timeout_s, max(0.0, (self._heap[0][0] - time.monotonic_ns()) / 1e9))
            ready, _, _ = select.select(self._descriptors, (), (), timeout_s)
            for descriptor in ready:
                self._take_in(self._descriptors.index(descriptor))
            self._let_out()

    def _take_in(self, side: int) -> None:
        for _ in range(_BATCH):
            try:
                packet = os.read(self._descriptors[side], _LONGEST_PACKET)
            except BlockingIOError:
                return
            now_ns = time.monotonic_ns()
            found = self._crossing.of(side, packet)
            if found is not None:
                self._serial += 1
                heapq.heappush(self._heap, (now_ns + found[1], self._serial, found[0], found[2]))

    def _let_out(self) -> None:
        while self._heap and self._heap[0][0] <= time.monotonic_ns():
            _, _, side, packet = heapq.heappop(self._heap)
            try:
                os.write(self._descriptors[side], packet)
                self.carried += 1
            except OSError:
                self.refused += 1


def main() -> int:
    """`python -m vmtrace.lab.world.emulator`: carry packets between inherited descriptors until SIGTERM."""
    parser = argparse.ArgumentParser(prog="vmtrace.lab.world.emulator", description=main.__doc__)
    parser.add_argument("--descriptors", nargs="+", type=int, required=True)
    parser.add_argument("--settings", type=Path, required=True)
    options = parser.parse_args()
    carrier = Carrier(options.descriptors, crossing_from(json.loads(options.settings.read_text())))

    def stop(*_: object) -> None:
        carrier.stopping = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    gc.disable()
    prefer_this_process()
    print("ready", flush=True)
    carrier.run()
    print(json.dumps({"carried": carrier.carried, "refused": carrier.refused}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
