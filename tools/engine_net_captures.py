"""Captures for `tools.engine_net`, the same bytes every time: a small TCP over a path that loses and reorders.

Each recipe below is one capture; its name says what is special about it. The server sends windows of data, one after
the other. What is missing after a window is retransmitted at once, what is missing in the end by a timeout. The client
acknowledges every second packet and reports with SACK and D-SACK.
"""

import heapq
import random
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
ECE, CWR = 64, 128
_MASK = 0xFFFFFFFF
_START_S = 1_700_000_000
_SNAP_BYTES = 128


@dataclass(frozen=True, slots=True)
class Recipe:
    """A transfer from server to client, and its path. Probabilities are per packet."""

    segments: int = 150
    mss: int = 1448
    rtt_s: float = 0.03
    # Of the round trip the part between the capture point and the client.
    near: float = 0.0
    window: int = 24
    lost_before: float = 0.0
    lost_behind: float = 0.0
    reordered: float = 0.0
    twice: float = 0.0
    acks_lost: float = 0.0
    offload: int = 1
    sack: bool = True
    timestamps: bool = True
    ids: bool = True
    isn: int = 70_000
    needless: float = 0.0
    marked: float = 0.0
    closes: int = FIN
    idle_s: float = 0.0
    zero_window_at: int = 0
    keep_alives: int = 0
    start_at: int = 0
    connections: int = 1
    reuse: bool = False
    seed: int = 1


RECIPES = {
    "plain": Recipe(),
    "lost-at-sender": Recipe(near=1.0, lost_behind=0.03),
    "lost-at-receiver": Recipe(near=0.0, lost_before=0.05),
    "lost-in-the-middle": Recipe(near=0.5, lost_before=0.02, lost_behind=0.02, seed=2),
    "lost-without-sack": Recipe(near=1.0, lost_behind=0.03, sack=False, seed=3),
    "lost-without-timestamps": Recipe(near=0.5, lost_before=0.03, timestamps=False, seed=4),
    "lost-without-ids": Recipe(near=0.5, lost_before=0.03, ids=False, seed=5),
    "acks-lost": Recipe(near=1.0, acks_lost=0.3, lost_behind=0.04, seed=6),
    "reordered": Recipe(near=0.2, reordered=0.06, seed=7),
    "reordered-and-lost": Recipe(near=0.5, reordered=0.05, lost_before=0.02, seed=8),
    "dsack": Recipe(near=0.5, needless=0.05, lost_behind=0.01, seed=9),
    "offload": Recipe(near=1.0, offload=12, segments=900, lost_behind=0.06, seed=10),
    "offload-at-receiver": Recipe(near=0.0, offload=5, segments=600, lost_before=0.05, ids=False, seed=11),
    "wraps": Recipe(isn=0xFFFF8000, lost_behind=0.02, near=1.0, seed=12),
    "reset": Recipe(closes=RST, lost_behind=0.02, near=1.0, seed=13),
    "left-open": Recipe(closes=0, seed=14),
    "ports-used-again": Recipe(segments=40, connections=4, reuse=True, lost_before=0.02, near=0.5, seed=15),
    "several": Recipe(segments=60, connections=6, lost_behind=0.02, near=0.5, seed=16),
    "captured-twice": Recipe(near=0.5, twice=0.4, lost_before=0.01, seed=17),
    "all-captured-twice": Recipe(near=0.5, twice=1.0, lost_behind=0.01, ids=False, seed=18),
    "from-mid-stream": Recipe(start_at=40, near=0.5, lost_before=0.05, seed=19),
    "from-mid-stream-without-timestamps": Recipe(start_at=45, timestamps=False, near=1.0, lost_behind=0.02, seed=20),
    "zero-window": Recipe(zero_window_at=70, near=1.0, seed=21),
    "keep-alives": Recipe(keep_alives=5, near=0.5, seed=22),
    "pauses": Recipe(idle_s=0.4, near=1.0, segments=300, seed=23),
    "pauses-at-receiver": Recipe(idle_s=0.09, near=0.0, segments=300, lost_before=0.01, seed=24),
    "marked": Recipe(marked=0.1, near=1.0, seed=25),
    "long-path": Recipe(rtt_s=0.25, window=200, segments=1500, near=1.0, lost_behind=0.004, seed=26),
    "short-path": Recipe(rtt_s=0.0003, window=40, segments=1500, near=0.5, lost_before=0.002, seed=27),
    "small-segments": Recipe(mss=536, segments=500, near=0.5, lost_before=0.02, timestamps=False, seed=28),
}


@dataclass(order=True, slots=True)
class _Frame:
    time_s: float
    number: int
    data: bytes = field(compare=False)
    length: int = field(compare=False)


@dataclass(slots=True)
class _End:
    """One host: what it numbers."""

    address: bytes
    port: int
    isn: int
    id: int
    next: int = 0


class _Transfer:
    """One connection; `client` and `server` are 0 and 1."""

    def __init__(self, recipe: Recipe, number: int, at_s: float, frames: list[_Frame]) -> None:
        self.recipe, self.at_s, self.frames = recipe, at_s, frames
        self.dice = random.Random(f"{recipe.seed}/{number}")
        port = 40_000 if recipe.reuse else 40_000 + number
        step = 1_000_000 * number
        self.ends = [
            _End(b"\x0a\0\0\1", port, (recipe.isn + step) & _MASK, 100),
            _End(b"\x0a\0\0\2", 443, (recipe.isn * 3 + step) & _MASK, 5000),
        ]
        self.received: list[tuple[int, int]] = []
        self.window = 500
        self.seen_ts = [0, 0]

    # --- packets ---

    def pass_by(self, side: int, at_s: float, flags: int, start: int, length: int = 0, **more: object) -> float:
        """The segment leaves `side` at that time and passes the capture point, unless lost; the time it arrives."""
        recipe, end, peer = self.recipe, self.ends[side], self.ends[1 - side]
        way_s = recipe.rtt_s / 2
        near_s = way_s * (recipe.near if side == 0 else 1 - recipe.near)
        tsval = int(at_s * 1000) + 1_000_000 * (side + 1)
        options = self._options(flags, tsval, side, more.get("blocks", ()))
        sequence = (end.isn + start) & _MASK
        acknowledges = (peer.isn + int(str(more.get("ack", peer.next)))) & _MASK if flags & ACK else 0
        header = struct.pack(
            ">HHIIBBHHH",
            end.port,
            peer.port,
            sequence,
            acknowledges,
            (20 + len(options)) // 4 << 4,
            flags & 0xFF,
            self.window if side == 0 else 500,
            (sequence ^ acknowledges ^ tsval) & 0xFFFF,
            0,
        )
        identification = end.id if recipe.ids else 0
        end.id = (end.id + max(1, -(-length // recipe.mss))) & 0xFFFF
        total = 20 + len(header) + len(options) + length
        ip = struct.pack(">BBHHHBBH", 0x45, 0, total & 0xFFFF, identification, 0x4000, 64 - side, 6, 0)
        frame = bytes(12) + b"\x08\0" + ip + end.address + peer.address + header + options
        content = (b"%d " % (start % 1000)) * 32
        self.seen_ts[side] = tsval
        if not more.get("lost_before"):
            passed_s = at_s + near_s
            data = (frame + content[:length])[:_SNAP_BYTES]
            self._record(passed_s, data, 14 + total)
            if self.dice.random() < recipe.twice:
                self._record(passed_s + 0.00002, data, 14 + total)
        return at_s + way_s

    def _record(self, at_s: float, data: bytes, length: int) -> None:
        self.frames.append(_Frame(at_s, len(self.frames), data, length))

    def _options(self, flags: int, tsval: int, side: int, blocks: object) -> bytes:
        options = b""
        if flags & SYN:
            options += struct.pack(">BBH", 2, 4, self.recipe.mss + (12 if self.recipe.timestamps else 0)) + b"\1\3\3\7"
            options += b"\1\1\4\2" if self.recipe.sack else b""
        if self.recipe.timestamps:
            options += struct.pack(">BBBBII", 1, 1, 8, 10, tsval & _MASK, self.seen_ts[1 - side] & _MASK)
        listed = list(blocks) if isinstance(blocks, (list, tuple)) else []
        if listed and self.recipe.sack:
            isn = self.ends[1 - side].isn
            listed = listed[:3]
            options += struct.pack(">BBBB", 1, 1, 5, 2 + 8 * len(listed))
            options += b"".join(struct.pack(">II", (isn + a) & _MASK, (isn + b) & _MASK) for a, b in listed)
        return options

    # --- the connection ---

    def run(self) -> float:
        """Opens, transfers, closes; the time at the end."""
        recipe = self.recipe
        client, server = self.ends
        marks = (ECE | CWR, ECE) if recipe.marked else (0, 0)
        now_s = self.pass_by(0, self.at_s, SYN | marks[0], 0)
        client.next = 1
        now_s = self.pass_by(1, now_s, SYN | ACK | marks[1], 0)
        server.next = 1
        self.pass_by(0, now_s, ACK, 1)
        now_s = self.pass_by(0, now_s + 0.0001, ACK | PSH, 1, 120)
        client.next = 121
        self.pass_by(1, now_s, ACK, 1)
        now_s = self._send(now_s + 0.001)
        for _ in range(recipe.keep_alives):
            now_s += 2.0
            arrived_s = self.pass_by(1, now_s, ACK, server.next - 1)
            self.pass_by(0, arrived_s, ACK, client.next)
        return self._close(now_s + 0.01)

    def _close(self, now_s: float) -> float:
        client, server = self.ends
        if self.recipe.closes == RST:
            return self.pass_by(0, now_s, RST | ACK, client.next)
        if self.recipe.closes == FIN:
            now_s = self.pass_by(1, now_s, FIN | ACK, server.next)
            server.next += 1
            now_s = self.pass_by(0, now_s, FIN | ACK, client.next)
            client.next += 1
            self.pass_by(1, now_s, ACK, server.next)
        return now_s

    def _send(self, now_s: float) -> float:
        """Windows of data one after the other, each followed by the repair of what was lost."""
        recipe, server = self.recipe, self.ends[1]
        sent = 0
        while sent < recipe.segments:
            now_s = self._flight(now_s, min(recipe.window, recipe.segments - sent))
            sent += recipe.window
            if recipe.zero_window_at and sent >= recipe.zero_window_at and self.window:
                now_s = self._stall(now_s)
            if recipe.idle_s and self.dice.random() < 0.4:
                now_s += recipe.idle_s * (0.5 + self.dice.random())
        while self._acknowledged() < server.next:
            now_s = self._repair(now_s, timeout=True)
        return now_s

    def _stall(self, now_s: float) -> float:
        """The receiver closes its window, is probed, and opens it."""
        self.window = 0
        self.pass_by(0, now_s, ACK, self.ends[0].next, ack=self._acknowledged())
        for wait_s in (0.2, 0.4):
            now_s += wait_s
            arrived_s = self.pass_by(1, now_s, ACK, self.ends[1].next - 1)
            self.pass_by(0, arrived_s, ACK, self.ends[0].next, ack=self._acknowledged())
        self.window = 500
        self.pass_by(0, now_s + 0.05, ACK, self.ends[0].next, ack=self._acknowledged())
        return now_s + 0.05 + self.recipe.rtt_s

    def _flight(self, now_s: float, segments: int) -> float:
        recipe, server = self.recipe, self.ends[1]
        arrivals: list[tuple[float, int, int]] = []
        at_s = now_s
        while segments > 0:
            count = min(segments, recipe.offload)
            start, length = server.next, count * recipe.mss
            segments -= count
            server.next += length
            self._one(at_s, start, length, arrivals)
            if self.dice.random() < recipe.needless:
                self._one(at_s + 0.00005, start, length, arrivals)
            at_s += 0.00002 * count
        last_s = self._answer(arrivals, at_s)
        return self._repair(last_s, timeout=False) if self._acknowledged() < server.next else last_s

    def _one(self, at_s: float, start: int, length: int, arrivals: list[tuple[float, int, int]]) -> None:
        recipe, dice = self.recipe, self.dice
        lost_before = dice.random() < recipe.lost_before
        late_s = recipe.rtt_s * 0.1 if dice.random() < recipe.reordered else 0.0
        flags = ACK | (PSH if dice.random() < 0.1 else 0) | (CWR if dice.random() < recipe.marked else 0)
        arrives_s = self.pass_by(1, at_s + late_s, flags, start, length, lost_before=lost_before, ack=self.ends[0].next)
        if not lost_before and dice.random() >= recipe.lost_behind:
            heapq.heappush(arrivals, (arrives_s, start, start + length))

    def _answer(self, arrivals: list[tuple[float, int, int]], now_s: float) -> float:
        """The receiver's ACKs for what arrives; when the sender has the last."""
        recipe, count, last_s = self.recipe, 0, now_s + self.recipe.rtt_s
        while arrivals:
            at_s, start, end = heapq.heappop(arrivals)
            twice = any(a <= start and end <= b for a, b in self.received) or end <= self._acknowledged()
            self._receive(start, end)
            count += 1
            known = self._acknowledged()
            above = [block for block in reversed(self.received) if block[0] > known]
            blocks = ([(start, end)] if twice else []) + above
            if blocks or count % 2 == 0 or not arrivals:
                flags = ACK | (ECE if self.dice.random() < recipe.marked else 0)
                lost = self.dice.random() < recipe.acks_lost and bool(arrivals)
                self.pass_by(0, at_s + 0.00001, flags, self.ends[0].next, ack=known, blocks=blocks, lost_before=lost)
            last_s = at_s + recipe.rtt_s / 2
        return last_s

    def _repair(self, now_s: float, *, timeout: bool) -> float:
        """What is missing is retransmitted, segment by segment."""
        recipe, server = self.recipe, self.ends[1]
        now_s += max(0.2, 2 * recipe.rtt_s) if timeout else 0.0005
        arrivals: list[tuple[float, int, int]] = []
        for start, end in list(self._holes(server.next)):
            for at in range(start, end, recipe.mss):
                self._one(now_s, at, min(recipe.mss, end - at), arrivals)
                now_s += 0.00002
        return self._answer(arrivals, now_s)

    def _acknowledged(self) -> int:
        return self.received[0][1] if self.received and self.received[0][0] == 1 else 1

    def _holes(self, end: int) -> Iterator[tuple[int, int]]:
        at = 1
        for start, until in [*self.received, (end, end)]:
            if start > at:
                yield at, start
            at = max(at, until)

    def _receive(self, start: int, end: int) -> None:
        joined: list[tuple[int, int]] = []
        for a, b in sorted([*self.received, (start, end)]):
            if joined and a <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], b))
            else:
                joined.append((a, b))
        self.received = joined


def capture(recipe: Recipe) -> bytes:
    """The pcap file of a recipe."""
    frames: list[_Frame] = []
    at_s = 0.0
    for number in range(recipe.connections):
        end_s = _Transfer(recipe, number, at_s, frames).run()
        at_s = end_s + 0.5 if recipe.reuse else at_s + 0.01
    frames.sort()
    return _pcap(frames[recipe.start_at :])


def _pcap(frames: list[_Frame]) -> bytes:
    parts = [struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, _SNAP_BYTES, 1)]
    for frame in frames:
        nanoseconds = round(frame.time_s * 1e9)
        stamp = struct.pack("<II", _START_S + nanoseconds // 10**9, nanoseconds % 10**9)
        parts.append(stamp + struct.pack("<II", len(frame.data), max(frame.length, len(frame.data))) + frame.data)
    return b"".join(parts)


def write_all(folder: Path, make: Callable[[Recipe], bytes] = capture) -> list[Path]:
    """Writes the capture of each recipe, with another seed once more where chance has a part in it."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, recipe in RECIPES.items():
        for turn in range(2):
            path = folder / f"made-{name}-{turn + 1}.pcap"
            path.write_bytes(make(replace(recipe, seed=recipe.seed + 100 * turn)))
            paths.append(path)
    return paths
