"""A stream that does not end: what is over is given out once and forgotten, so that memory does not grow with time.

Subjects: `analyze/reports/live/stream.py`, `analyze/reports/live/events.py`, `analyze/reports/live/window.py`.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analyze.talks import Talk
from tests.cut import cut
from tests.eventually import eventually
from vmtrace.analyze.reports.live.events import Events
from vmtrace.analyze.reports.live.stream import Keeping, Snapshot, Stream
from vmtrace.analyze.reports.live.window import Window
from vmtrace.analyze.trace import Options

_AT_ONCE = 100
_PER_SECOND = 500


def stream_of_connections(count: int) -> Iterator[bytes]:
    """Short connections, 500 begun in each second of the capture, as pieces of a pcap file."""
    talk = Talk(port=0).open(0.01).client(0.02, 100).server(0.03, 8000).close(0.05)
    content = talk.capture()
    yield content[:24]
    packets = sorted(talk.packets, key=lambda each: each[0])
    waiting: list[tuple[int, bytes]] = []
    for first in range(0, count, _AT_ONCE):
        for number in range(first, first + _AT_ONCE):
            begin_ns = number * 1_000_000_000 // _PER_SECOND
            port, address = struct.pack("!H", 1024 + number % 60_000), struct.pack("!H", number // 60_000)
            for at_s, packet in packets:
                from_client = packet[20:22] != b"\0\x50"
                source, target = (packet[12:14], packet[16:18]) if from_client else (packet[12:16], packet[16:18])
                if from_client:
                    changed = packet[:12] + source + address + packet[16:20] + port + packet[22:]
                else:
                    changed = packet[:16] + target + address + packet[20:22] + port + packet[24:]
                waiting.append((begin_ns + round(at_s * 1e9), changed))
        settled_ns = (first + _AT_ONCE) * 1_000_000_000 // _PER_SECOND
        waiting.sort(key=lambda each: each[0])
        passed = [one for one in waiting if one[0] < settled_ns]
        waiting = waiting[len(passed) :]
        yield b"".join(map(_record, passed))
    yield b"".join(map(_record, waiting))


def _record(packet: tuple[int, bytes]) -> bytes:
    seconds, nanoseconds = divmod(packet[0], 1_000_000_000)
    size = len(packet[1])
    return struct.pack("<IIII", 1_700_000_000 + seconds, nanoseconds, size, size) + packet[1]


def test_the_stream_holds_as_many_connections_as_it_says() -> None:
    from vmtrace.analyze.trace import read

    trace = read(b"".join(stream_of_connections(1_000)))
    assert len(trace) == 1_000
    assert set(trace.values("close")) == {"fin"}


def next_snapshot(stream: Stream, packets: int) -> Snapshot:
    """One that has seen so many packets."""
    found: list[Snapshot] = []

    def has_come() -> bool:
        snapshot = stream.snapshot()
        found[:] = [snapshot] if snapshot is not None else []
        return snapshot is not None and snapshot.trace.header()["inputs"][0]["packets"] >= packets

    assert eventually(has_come, 120)
    return found[0]


@pytest.mark.parametrize("count", cut([4_000, 12_500_000], 1))
def test_what_is_over_is_given_out_once_and_then_takes_no_room(count: int) -> None:
    reader, writer = os.pipe()
    horizon_s, each = 0.5, 8  # packets of a connection
    stream = Stream(f"/proc/self/fd/{reader}", "pipe", Options(), Keeping(horizon_s, packets_bytes=1_000_000))
    events, window = Events(horizon_s), Window()
    given, kept, resident = list[int](), list[int](), list[int]()
    with os.fdopen(writer, "wb", buffering=0) as into:
        for number, piece in enumerate(stream_of_connections(count)):
            into.write(piece)
            begun = min(count, number * _AT_ONCE)
            if number % 10 or not number:
                continue
            # Those begun last are not over yet; and a reader shows a record when the next one is there.
            snapshot = next_snapshot(stream, each * (begun - _AT_ONCE) - 1)
            window.take(snapshot)
            given += [one["id"] for one in events.of(snapshot, window) if one["record"] == "connection"]
            assert snapshot.left + len(snapshot.trace) >= begun - _AT_ONCE
            kept.append(len(snapshot.trace))
            resident.append(_resident_bytes(os.getpid()))
    os.close(reader)
    trace = stream.finish()
    given += [one["id"] for one in events.rest(trace) if one["record"] == "connection"]
    assert sorted(given) == list(range(1, count + 1))
    # What is forgotten is what was taken: 4 MiB of packets wait, of some 8.7 kB for each connection.
    waiting = 4 * 1024 * 1024 // 8_700
    most = waiting + round(horizon_s * _PER_SECOND) + 12 * _AT_ONCE
    assert max(kept) < most < count
    if count > 100_000:
        assert max(resident) < 1.25 * max(resident[: len(resident) // 10])


def _resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return 1024 * int(line.split()[1])
    return 0
