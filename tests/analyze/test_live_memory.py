"""A stream that does not end: what is over is given out once and forgotten, so that memory does not grow with time.

Subjects: `analyze/reports/live/stream.py`, `analyze/reports/live/events.py`, `analyze/reports/live/window.py`.
"""

from __future__ import annotations

import os
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.talks import Talk
from tests.cut import cut
from tests.eventually import eventually
from vmtrace.analyze.reports.live.events import Events
from vmtrace.analyze.reports.live.stream import Keeping, Snapshot, Stream
from vmtrace.analyze.reports.live.window import Window
from vmtrace.analyze.trace import Options

_AT_ONCE = 100


@dataclass(frozen=True)
class Traffic:
    """Connections that are alike, so many begun in each second."""

    count: int
    per_second: float
    responses: int
    """Packets of the response to a request of 100 bytes, in each connection."""
    response_bytes: int
    """Of each."""
    lasts_s: float
    """With so many in each second, fewer than 100 are open at once."""

    @property
    def packets(self) -> int:
        """Of a connection."""
        return 7 + self.responses


SHORT = Traffic(4_000, 500, 1, 8_000, 0.05)
A_DAY = Traffic(125_000, 1.4, 793, 60, 60.0)
"""100 million packets in 24.8 hours."""


def stream_of(traffic: Traffic) -> Iterator[bytes]:
    """The connections as pieces of a pcap file, which 100 connections more begin in."""
    talk = Talk(port=0).open(0.01).client(0.02, 100)
    for number in range(traffic.responses):
        talk.server(0.03 + number * (traffic.lasts_s - 0.04) / traffic.responses, traffic.response_bytes)
    talk.close(traffic.lasts_s)
    yield talk.capture()[:24]
    packets = [(round(at_s * 1e9), *_ends(packet)) for at_s, packet in sorted(talk.packets, key=lambda each: each[0])]
    waiting: list[tuple[int, bytes]] = []
    for first in range(0, traffic.count, _AT_ONCE):
        for number in range(first, min(first + _AT_ONCE, traffic.count)):
            begin_ns = round(number * 1e9 / traffic.per_second)
            port, address = struct.pack("!H", 1024 + number % 60_000), struct.pack("!H", number // 60_000)
            waiting += [
                (begin_ns + at_ns, before + address + between + port + behind)
                for at_ns, before, between, behind in packets
            ]
        settled_ns = round((first + _AT_ONCE) * 1e9 / traffic.per_second)
        waiting.sort(key=lambda each: each[0])
        passed = bisect_left(waiting, settled_ns, key=lambda each: each[0])
        yield b"".join(map(_record, waiting[:passed]))
        del waiting[:passed]
    yield b"".join(map(_record, waiting))


def _ends(packet: bytes) -> tuple[bytes, bytes, bytes]:
    """What is around the client's address (its last half) and its port."""
    if packet[20:22] != b"\0\x50":
        return packet[:14], packet[16:20], packet[22:]
    return packet[:18], packet[20:22], packet[24:]


def _record(packet: tuple[int, bytes]) -> bytes:
    seconds, nanoseconds = divmod(packet[0], 1_000_000_000)
    size = len(packet[1])
    return struct.pack("<IIII", 1_700_000_000 + seconds, nanoseconds, size, size) + packet[1]


def test_the_stream_holds_as_many_connections_as_it_says() -> None:
    from vmtrace.analyze.trace import read

    for traffic in (replace(SHORT, count=1_000), replace(A_DAY, count=300)):
        trace = read(b"".join(stream_of(traffic)))
        assert len(trace) == traffic.count
        assert set(trace.values("close")) == {"fin"}
        assert trace.header()["inputs"][0]["packets"] == traffic.count * traffic.packets


def next_snapshot(stream: Stream, packets: int) -> Snapshot:
    """One that has seen so many packets."""
    found: list[Snapshot] = []

    def has_come() -> bool:
        snapshot = stream.snapshot()
        found[:] = [snapshot] if snapshot is not None else []
        return snapshot is not None and snapshot.trace.header()["inputs"][0]["packets"] >= packets

    assert eventually(has_come, 120)
    return found[0]


@pytest.mark.parametrize(("traffic", "horizon_s"), cut([(SHORT, 0.5), (A_DAY, 20.0)], 1), ids=["short", "a_day"])
def test_what_is_over_is_given_out_once_and_then_takes_no_room(traffic: Traffic, horizon_s: float) -> None:
    reader, writer = os.pipe()
    count = traffic.count
    stream = Stream(f"/proc/self/fd/{reader}", "pipe", Options(), Keeping(horizon_s, packets_bytes=1_000_000))
    events, window = Events(horizon_s), Window()
    given, kept, resident = bytearray(count + 1), list[int](), list[int]()

    def give(records: Iterator[dict[str, Any]]) -> None:
        for one in records:
            if one["record"] == "connection":
                given[one["id"]] += 1

    with os.fdopen(writer, "wb") as into:
        for number, piece in enumerate(stream_of(traffic)):
            into.write(piece)
            begun = min(count, number * _AT_ONCE)
            if number % 10 or not number:
                continue
            into.flush()
            # Those begun last are not over yet; and a reader shows a record when the next one is there.
            snapshot = next_snapshot(stream, traffic.packets * (begun - _AT_ONCE) - 1)
            window.take(snapshot)
            give(events.of(snapshot, window))
            assert snapshot.left + len(snapshot.trace) >= begun - _AT_ONCE
            kept.append(len(snapshot.trace))
            resident.append(_resident_bytes(os.getpid()))
            if len(resident) % 10 == 0:
                print(f"{begun} connections, {kept[-1]} kept, {resident[-1] / 1e6:.0f} MB", flush=True)
    os.close(reader)
    trace = stream.finish()
    give(events.rest(trace))
    assert given == b"\0" + b"\1" * count
    # What is forgotten is what was taken: 4 MiB of records wait.
    waiting = 4 * 1024 * 1024 // (traffic.packets * 56 + 100 + traffic.responses * traffic.response_bytes)
    most = waiting + round(horizon_s * traffic.per_second) + 12 * _AT_ONCE
    assert max(kept) < most < count
    if count > 100_000:
        assert max(resident) < 1.25 * max(resident[: len(resident) // 10])


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    return 0


def test_flows_keep_their_numbers_when_others_are_forgotten() -> None:
    """3,000 of one datagram each, 10 ms apart, and one that goes on."""
    reader, writer = os.pipe()
    stream = Stream(f"/proc/self/fd/{reader}", "pipe", Options(), Keeping(1.0))
    ports, kept = [2000 + number for number in range(3_000)], list[int]()
    with os.fdopen(writer, "wb") as into:
        into.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 101))
        for number, port in enumerate(ports, 1):
            at_ns = number * 10_000_000
            into.write(_record((at_ns, _datagram(port))) + _record((at_ns, _datagram(ports[0]))))
            if number % 500 == 0:
                into.flush()
                flows = next_snapshot(stream, 2 * number - 1).trace.header()["flows"]
                kept.append(len(flows))
                assert {one["client"].rpartition(":")[2]: one["id"] for one in flows} == {
                    str(1999 + one["id"]): one["id"] for one in flows
                }
    os.close(reader)
    stream.finish()
    assert max(kept) < len(ports) - 500


def _datagram(port: int) -> bytes:
    udp = struct.pack("!HHHH", port, 9000, 4008, 0) + bytes(4000)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0x4000, 64, 17, 0)
    return ip + bytes([198, 18, 1, 1, 198, 18, 2, 1]) + udp
