"""One transfer while it runs: samples its connections, and tells how fast it is going, with what loss and RTT."""

from __future__ import annotations

import socket
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Callable

from vmtrace.capture.tcp_info_layout import SIZE, Layout
from vmtrace.sender.instruments import Sampler

_OVER_S = 2.0
"""Current throughput is that of so many last seconds."""


@dataclass(frozen=True)
class Moving:
    """How a transfer stands; loss is the share of segments sent again, as this side's kernel counts."""

    moved_bytes: int
    rate_bps: float | None
    loss: float | None
    rtt_s: float | None


class TransferWatch:
    """Told by `run_transfer` what happens; hands sockets to the sampler and tells `show` how things stand."""

    def __init__(self, sampler: Sampler | None, show: Callable[[Moving], None]) -> None:
        self._sampler = sampler
        self._show = show
        self._lock = threading.Lock()
        self._open: dict[tuple[int, str], socket.socket] = {}
        self._history: deque[tuple[float, int]] = deque()

    def connected(self, stream: int, direction: str, sock: socket.socket) -> None:
        """A data connection is established."""
        if self._sampler is not None:
            self._sampler.watch(stream, direction, sock)
        with self._lock:
            self._open[stream, direction] = sock

    def closing(self, stream: int, direction: str, sock: socket.socket) -> None:
        """It is about to be closed."""
        with self._lock:
            if self._open.get((stream, direction)) is sock:
                del self._open[stream, direction]
        if self._sampler is not None:
            self._sampler.unwatch(stream, direction)

    def moved(self, moved_bytes: int) -> None:
        """So many bytes have been moved so far."""
        loss, rtt_s = self._tcp_info()
        self._show(Moving(moved_bytes, self._rate_bps(moved_bytes), loss, rtt_s))

    def _rate_bps(self, moved_bytes: int) -> float | None:
        now_s = time.monotonic()
        self._history.append((now_s, moved_bytes))
        while len(self._history) > 2 and now_s - self._history[1][0] > _OVER_S:
            self._history.popleft()
        began_s, began_bytes = self._history[0]
        return 8 * (moved_bytes - began_bytes) / (now_s - began_s) if now_s > began_s else None

    def _tcp_info(self) -> tuple[float | None, float | None]:
        with self._lock:
            sock = next(iter(self._open.values()), None)
            if sock is None:
                return None, None
            try:
                raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, SIZE)
            except OSError:
                return None, None  # closed by its other owner meanwhile: there is nothing to show
        fields = Layout(len(raw)).fields(raw)
        sent, again, rtt_us = fields["segs_out"], fields["total_retrans"], fields["rtt_us"]
        return (again / sent if sent and again is not None else None), (rtt_us / 1e6 if rtt_us else None)
