"""The sender's part of one transfer: open its data connections, move the bytes, verify what came.

Owns the order of things over all streams; one stream's life is `stream_life`. Recording packets and TCP_INFO is the
caller's, through `Watch`.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import threading
import time
from dataclasses import dataclass

from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.records import (
    DOWNLOAD,
    UPLOAD,
    Arrival,
    FarEnd,
    Prepared,
    Sent,
    TransferRequest,
    directions_of,
)
from vmtrace.sender.wire.stream import Received, digest, fresh_bytes, new_block, shares
from vmtrace.sender.wire.stream_life import ConnectionName, Job, StreamLife, Watch
from vmtrace.sender.wire.tls import TlsFacts

_GLANCE_S = 0.1


@dataclass(frozen=True)
class Outcome:
    """What the sender knows of a transfer that went through."""

    start_ns: int
    """Before the first byte of payload was written or asked for."""
    end_ns: int
    duration_s: float
    """From `start_ns` to `end_ns` by the monotonic clock: until the far end says that it has all, and we have all."""
    connect_s: float
    connections: tuple[ConnectionName, ...]
    received: tuple[Received, ...]
    """Streams of a download."""
    sent: Sent | None
    """Of an upload: for `Control.finish`."""
    tls: TlsFacts | None

    def arrival(self, far: FarEnd) -> Arrival | None:
        """What arrived here of a download, compared with what the receiver says it sent."""
        return arrival_of(self.received, far.sent) if self.received else None


def digest_ok(outcome: Outcome, far: FarEnd) -> bool:
    """Whether every byte that arrived, at either end, is the one that was sent."""
    arrivals = (outcome.arrival(far), far.arrival)
    return any(arrivals) and all(arrival.verified for arrival in arrivals if arrival is not None)


def run_transfer(
    control: Control, request: TransferRequest, prepared: Prepared, watch: Watch, stall_s: float = 60.0
) -> Outcome:
    """Do the transfer that the receiver was prepared for; `Control.finish` is still to be called.

    Raises `WireError` when the receiver or the way to it fails or nothing moves for `stall_s`, `OSError` when the
    system refuses an option.
    """
    block = new_block(min(request.random_bytes, request.bytes))
    start = _Start()
    sizes = shares(request.bytes, request.streams)
    places = list(itertools.product(directions_of(request.direction), range(request.streams)))
    barrier = threading.Barrier(len(places), action=start.mark)
    lives = []
    for direction, stream in places:
        block_bytes = fresh_bytes(sizes[stream], request.random_bytes, request.streams)
        job = Job(request.number, stream, direction, sizes[stream], block[:block_bytes], request.options, stall_s)
        certificate = prepared.certificate_sha256 if request.tls else None
        lives.append(StreamLife(control, job, certificate, barrier, watch))
    _live(lives, barrier, watch)
    end_ns, end_s = time.time_ns(), max(life.ended_s for life in lives)
    return _outcome(start, end_ns, end_s, lives)


def arrival_of(received: tuple[Received, ...], sent: Sent | None) -> Arrival:
    """The streams of one direction as one arrival; not verified without the other end's word on what it sent."""
    verified = (
        sent is not None
        and sent.bytes == tuple(stream.bytes for stream in received)
        and sent.sha256 == tuple(stream.sha256 for stream in received)
        and all(stream.repeats for stream in received)
    )
    return Arrival(
        sum(stream.bytes for stream in received),
        min((stream.first_byte_ns for stream in received), default=None),
        max((stream.last_byte_ns for stream in received), default=None),
        verified,
    )


def sent_of(blocks: list[memoryview], sizes: tuple[int, ...]) -> Sent:
    """What was sent in one direction: a size and a digest for each stream."""
    return Sent(sizes, tuple(digest(block) for block in blocks))


class _Start:
    """The instant all streams begin to move payload."""

    def __init__(self) -> None:
        self.time_ns = 0
        self.monotonic_s = 0.0

    def mark(self) -> None:
        self.time_ns, self.monotonic_s = time.time_ns(), time.monotonic()


def _live(lives: list[StreamLife], barrier: threading.Barrier, watch: Watch) -> None:
    """Let all streams live to their end. The first failure, or an interruption, ends them all and is raised."""
    failures: list[BaseException] = []
    threads = [threading.Thread(target=life.run, args=(failures,), daemon=True) for life in lives]
    try:
        _start_all(threads)
        while any(thread.is_alive() for thread in threads):
            for thread in threads:
                thread.join(_GLANCE_S)
                if thread.is_alive():
                    break
            watch.moved(sum(life.progress.moved_bytes for life in lives))
            if failures:
                break
    finally:
        barrier.abort()
        for life in lives:
            life.stop()
        for thread in threads:
            if thread.ident is not None:
                thread.join()
        with contextlib.ExitStack() as closing:  # all of them, even if one fails
            for life in lives:
                closing.callback(life.close)
    if failures:
        raise failures[0]


def _start_all(threads: list[threading.Thread]) -> None:
    try:
        for thread in threads:
            thread.start()
    except RuntimeError as error:
        raise OSError(errno.EAGAIN, f"the system allows no threads for {len(threads)} streams") from error


def _outcome(start: _Start, end_ns: int, end_s: float, lives: list[StreamLife]) -> Outcome:
    duration_s = end_s - start.monotonic_s
    up = [life for life in lives if life.job.direction == UPLOAD]
    down = [life for life in lives if life.job.direction == DOWNLOAD]
    received = tuple(life.received for life in down if life.received is not None)
    if len(received) != len(down):
        raise ReceiverGone("a stream ended without its bytes")
    return Outcome(
        start.time_ns,
        min(end_ns, start.time_ns + round(duration_s * 1e9)),
        duration_s,
        lives[0].connect_s,
        tuple(life.name for life in lives if life.name is not None),
        received,
        sent_of([life.job.block for life in up], tuple(life.job.bytes for life in up)) if up else None,
        lives[0].tls,
    )
