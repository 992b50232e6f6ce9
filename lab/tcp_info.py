"""Linux TCP_INFO: its layout and a sampler thread that keeps a table of it for every open connection."""

from __future__ import annotations

import csv
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# struct tcp_info, linux/tcp.h (kernel 6.7 and later fill all of it, older ones a prefix)
_LAYOUT = (
    ("state ca_state retransmits probes backoff options window_scales flags", "B"),
    ("rto_us ato_us snd_mss rcv_mss unacked sacked lost retrans fackets", "I"),
    ("last_data_sent_ms last_ack_sent_ms last_data_recv_ms last_ack_recv_ms", "I"),
    ("pmtu rcv_ssthresh rtt_us rttvar_us snd_ssthresh snd_cwnd advmss reordering", "I"),
    ("rcv_rtt_us rcv_space total_retrans", "I"),
    ("pacing_rate max_pacing_rate bytes_acked bytes_received", "Q"),
    ("segs_out segs_in notsent_bytes min_rtt_us data_segs_in data_segs_out", "I"),
    ("delivery_rate busy_time_us rwnd_limited_us sndbuf_limited_us", "Q"),
    ("delivered delivered_ce", "I"),
    ("bytes_sent bytes_retrans", "Q"),
    ("dsack_dups reord_seen rcv_ooopack snd_wnd rcv_wnd rehash", "I"),
)
FIELDS: tuple[str, ...] = tuple(name for names, _ in _LAYOUT for name in names.split())
_STRUCT = struct.Struct("=" + "".join(code * len(names.split()) for names, code in _LAYOUT))
COLUMNS = ("time_ns", "connection", "local_port", "peer_port", *FIELDS)


def decode(raw: bytes) -> dict[str, int]:
    """Named fields of a TCP_INFO answer; what an older kernel leaves out is 0."""
    return dict(zip(FIELDS, _STRUCT.unpack(raw[: _STRUCT.size].ljust(_STRUCT.size, b"\0")), strict=True))


@dataclass(slots=True)
class _Watched:
    socket: socket.socket
    connection: int
    ports: tuple[int, int]


class TcpInfoSampler(threading.Thread):
    """Samples every watched connection each `interval_s`, and once more when it is about to close."""

    def __init__(self, interval_s: float) -> None:
        super().__init__(daemon=True)
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._watched: dict[int, _Watched] = {}
        self._samples: list[tuple[int, int, int, int, bytes]] = []
        self._ending = threading.Event()

    def watch(self, connection: int, sock: socket.socket) -> None:
        """Begin to sample a connected socket. It must be given to `unwatch` before it is closed."""
        alias = socket.socket(fileno=sock.fileno())  # the same descriptor: a duplicate would keep the connection open
        ports = (sock.getsockname()[1], sock.getpeername()[1])
        with self._lock:
            self._watched[connection] = _Watched(alias, connection, ports)

    def unwatch(self, connection: int) -> None:
        """Take the last sample and let go of the descriptor without closing it."""
        with self._lock:
            watched = self._watched.pop(connection, None)
            if watched:
                self._sample(watched)
                watched.socket.detach()

    def run(self) -> None:
        due_s = time.monotonic()
        while not self._ending.is_set():
            with self._lock:
                for watched in self._watched.values():
                    self._sample(watched)
            due_s = max(due_s + self._interval_s, time.monotonic())
            self._ending.wait(due_s - time.monotonic())

    def finish(self, path: Path) -> None:
        """Stop sampling and write the table as CSV."""
        self._ending.set()
        self.join()
        with path.open("w", newline="") as text:
            writer = csv.writer(text)
            writer.writerow(COLUMNS)
            for time_ns, connection, local, peer, raw in self._samples:
                writer.writerow((time_ns, connection, local, peer, *decode(raw).values()))

    def _sample(self, watched: _Watched) -> None:
        try:
            raw = watched.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _STRUCT.size)
        except OSError:
            return  # reset by the peer: its last regular sample stands
        self._samples.append((time.time_ns(), watched.connection, *watched.ports, raw))


def read_table(path: Path) -> list[dict[str, int]]:
    """Rows of a table the sampler wrote."""
    with path.open(newline="") as text:
        return [{name: int(value) for name, value in row.items()} for row in csv.DictReader(text)]


def last_rows(rows: Sequence[dict[str, int]]) -> dict[int, dict[str, int]]:
    """The final sample of each connection."""
    return {row["connection"]: row for row in rows}
