"""Samples TCP_INFO of open connections into a CSV file, every 10 ms by default, for as long as they live.

Rows go to the file in blocks, by the sampler's own thread: memory stays flat, and a crash loses one block at most. A
watched socket is known by its descriptor and its cookie (SO_COOKIE). The descriptor stays the same when TLS wraps the
socket; the cookie shows that the descriptor is still that socket and not a later one of the same number.
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vmtrace.capture.deadlines import Deadlines
from vmtrace.capture.provenance import provenance
from vmtrace.capture.tcp_info_layout import FIELDS, SIZE, Layout
from vmtrace.formats import durable
from vmtrace.formats.provenance import Provenance

SCHEMA = "vmtrace.tcpinfo/1"
COLUMNS = ("time_ns", "stream", "direction", "local_port", "peer_port", *FIELDS)

_BLOCK_S = 0.25
_SO_COOKIE = 57  # asm-generic/socket.h
_COOKIE_BYTES = 8
# Holds the interpreter while the kernel waits for the socket's lock. With CDLL, which lets go of it, a bulk sender
# has the processor back first: a sample then took 0.6 ms instead of 0.13 ms, and half as much processor time again.
_LIBC = ctypes.PyDLL(None, use_errno=True)
_LIBC.getsockopt.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]


@dataclass(frozen=True)
class TcpInfoSample:
    """The last sample of one stream in one direction; None where the kernel gives no value."""

    time_ns: int
    stream: int
    direction: str
    local_port: int
    peer_port: int | None
    congestion_control: str | None
    state: int | None
    retransmitted_segments: int | None
    segments_out: int | None
    data_segments_out: int | None
    segments_in: int | None
    bytes_sent: int | None
    bytes_acked: int | None
    bytes_retransmitted: int | None
    bytes_received: int | None
    min_rtt_s: float | None
    srtt_s: float | None
    rttvar_s: float | None
    delivery_rate_bps: int | None
    snd_mss_bytes: int | None
    busy_s: float | None
    receive_window_limited_s: float | None
    send_buffer_limited_s: float | None


class TcpInfoSampler:
    """Samples every watched connection each `interval_s`, and once more when it is about to close.

    The thread begins with the first `watch`. Trouble with the file ends the writing, not the transfer: it is in
    `error`, and `finish` still has the last samples.
    """

    def __init__(self, path: Path, interval_s: float = 0.01, origin: Provenance | None = None) -> None:
        if interval_s <= 0:
            raise ValueError(f"TCP_INFO interval of {interval_s} s: must be more than 0")
        self.error: str | None = None
        self.missed = 0
        """Samples that were due while the one before was still being taken, or while nothing ran: left out."""
        self._path = path
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._watched: dict[tuple[int, str], _Watched] = {}
        self._last: dict[tuple[int, str], tuple[int, _Watched, bytes]] = {}
        self._rows: list[tuple[int, _Watched, bytes]] = []
        self._ending = threading.Lock()  # waiting for a lock is half as dear as waiting for an event
        self._ending.acquire()
        self._thread = threading.Thread(target=self._run, name="tcp-info", daemon=True)
        self._result: tuple[TcpInfoSample, ...] | None = None
        head = (origin or provenance(SCHEMA, interval_s)).header() + ",".join(COLUMNS) + "\n"
        durable.write_aside(path, head.encode())
        self._file = durable.open_to_append(path)

    def watch(self, stream: int, direction: str, sock: socket.socket) -> None:
        """Begin to sample a connected socket. Give it to `unwatch` before closing it, or its last sample is missed."""
        if not direction.isalpha():
            raise ValueError(f"direction {direction!r} of a stream: must be a word")
        watched = _Watched(stream, direction, sock)
        with self._lock:
            self._watched[stream, direction] = watched
            if self._thread.ident is None and self._ending.locked():
                self._thread.start()

    def unwatch(self, stream: int, direction: str) -> None:
        """Take the last sample; afterwards the descriptor is not touched again. Unknown streams are fine."""
        with self._lock:
            watched = self._watched.pop((stream, direction), None)
            if watched is not None:
                self._sample(watched)
                watched.ask_congestion_control()

    def finish(self) -> tuple[TcpInfoSample, ...]:
        """Stop, write what is left, and return the last sample of each stream and direction. May be called again."""
        if self._result is None:
            if self._ending.locked():
                self._ending.release()
            if self._thread.ident is not None:
                self._thread.join()
            for stream, direction in list(self._watched):
                self.unwatch(stream, direction)
            self._write_rows()
            self._close()
            self._result = tuple(_sample_of(*last) for _, last in sorted(self._last.items()))
        return self._result

    def _run(self) -> None:
        deadlines = Deadlines(self._interval_s)
        written_s = time.monotonic()
        while not self._ending.acquire(timeout=deadlines.remaining_s()):
            with self._lock:
                for watched in list(self._watched.values()):
                    self._sample(watched)
            now_s = time.monotonic()
            if now_s - written_s >= _BLOCK_S:
                self._write_rows()
                written_s = now_s
            deadlines.met()
            self.missed = deadlines.missed

    def _sample(self, watched: _Watched) -> None:
        raw = watched.tcp_info()
        time_ns = time.time_ns()  # afterwards: the kernel may have waited for the socket's lock
        if raw is None:  # closed without a word: its last regular sample stands
            self._watched.pop((watched.stream, watched.direction), None)
            return
        row = (time_ns, watched, raw)
        self._last[watched.stream, watched.direction] = row
        if self.error is None:
            self._rows.append(row)

    def _write_rows(self) -> None:
        with self._lock:
            rows, self._rows = self._rows, []
        if not rows or self.error is not None:
            return
        try:
            # Written as text many at once: while the processor has it in its caches that takes a quarter of the time.
            durable.append_whole(self._file, "".join(_text_of(*row) for row in rows).encode())
        except OSError as error:
            self.error = f"{self._path}: {error.strerror}: TCP_INFO is kept until here"

    def _close(self) -> None:
        try:
            os.fsync(self._file)
        except OSError as error:
            self.error = self.error or f"{self._path}: {error.strerror}"
        finally:
            os.close(self._file)


class _Watched:
    """A descriptor that is borrowed, never closed, and recognised if it became another's."""

    def __init__(self, stream: int, direction: str, sock: socket.socket) -> None:
        self.stream, self.direction = stream, direction
        self.local_port: int = sock.getsockname()[1]
        self.peer_port: int | None = None
        with suppress(OSError):  # reset meanwhile: there is no peer any more
            self.peer_port = sock.getpeername()[1]
        peer = "" if self.peer_port is None else self.peer_port
        self.cells = f"{stream},{direction},{self.local_port},{peer}"
        self.congestion_control: str | None = None
        self._descriptor = sock.fileno()
        self._answer = ctypes.create_string_buffer(SIZE)
        self._length = ctypes.c_uint()
        self._length_pointer = ctypes.byref(self._length)
        self._cookie = self._ask(socket.SOL_SOCKET, _SO_COOKIE, _COOKIE_BYTES)
        if self._cookie is None:
            raise OSError(
                ctypes.get_errno(), f"stream {stream}: {os.strerror(ctypes.get_errno())}: no socket to sample"
            )
        self.ask_congestion_control()

    def tcp_info(self) -> bytes | None:
        """The kernel's answer; None if the descriptor is closed or was given to another socket."""
        raw = self._ask(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
        return raw if self._is_still_ours() else None

    def ask_congestion_control(self) -> None:
        """Note the algorithm in use: it may be changed while a connection lives."""
        raw = self._ask(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        if raw is not None and self._is_still_ours():
            self.congestion_control = raw.split(b"\0")[0].decode("ascii", "replace") or None

    def _is_still_ours(self) -> bool:
        # Asked after the question: had the descriptor changed hands before or during it, it would not be ours now.
        return self._ask(socket.SOL_SOCKET, _SO_COOKIE, _COOKIE_BYTES) == self._cookie

    def _ask(self, level: int, option: int, size: int) -> bytes | None:
        self._length.value = size
        if _LIBC.getsockopt(self._descriptor, level, option, self._answer, self._length_pointer) != 0:
            return None
        return self._answer.raw[: self._length.value]


_LAYOUTS: dict[int, Layout] = {}


def _layout(length: int) -> Layout:
    found = _LAYOUTS.get(length)
    if found is None:
        found = _LAYOUTS[length] = Layout(length)
    return found


def _text_of(time_ns: int, watched: _Watched, raw: bytes) -> str:
    return f"{time_ns},{watched.cells},{_layout(len(raw)).row(raw)}\n"


def _sample_of(time_ns: int, watched: _Watched, raw: bytes) -> TcpInfoSample:
    fields = _layout(len(raw)).fields(raw)

    def seconds(name: str) -> float | None:
        value = fields[name]
        return None if value is None else value / 1e6

    return TcpInfoSample(
        time_ns=time_ns,
        stream=watched.stream,
        direction=watched.direction,
        local_port=watched.local_port,
        peer_port=watched.peer_port,
        congestion_control=watched.congestion_control,
        state=fields["state"],
        retransmitted_segments=fields["total_retrans"],
        segments_out=fields["segs_out"],
        data_segments_out=fields["data_segs_out"],
        segments_in=fields["segs_in"],
        bytes_sent=fields["bytes_sent"],
        bytes_acked=fields["bytes_acked"],
        bytes_retransmitted=fields["bytes_retrans"],
        bytes_received=fields["bytes_received"],
        min_rtt_s=seconds("min_rtt_us"),
        srtt_s=seconds("rtt_us"),
        rttvar_s=seconds("rttvar_us"),
        delivery_rate_bps=fields["delivery_rate_bps"],
        snd_mss_bytes=fields["snd_mss_bytes"],
        busy_s=seconds("busy_time_us"),
        receive_window_limited_s=seconds("rwnd_limited_us"),
        send_buffer_limited_s=seconds("sndbuf_limited_us"),
    )
