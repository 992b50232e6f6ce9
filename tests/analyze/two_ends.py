"""A transfer as both ends see it, made packet by packet, with everything known: an open loop of data and its ACKs.

The sender's end has 10.0.0.1:40000, the receiver's 10.0.0.2:5001. Each packet is built once and stored in both
captures, at the times at which it passed each, so that what differs between them is what the path did.
"""

import heapq
import struct
from collections.abc import Callable
from dataclasses import dataclass, field

START_NS = 1_700_000_000_000_000_000
FIN, SYN, ACK = 0x01, 0x02, 0x10
SEGMENT_BYTES = 1000
_ISN = {True: 4_294_960_000, False: 77}  # the data's wraps soon

_CLOCKS = {True: 1_000_000, False: 500_000_000}


@dataclass(frozen=True)
class Path:
    """What happens on the way and at the ends. Times are seconds from the start."""

    delay_s: float = 0.020
    delay_back_s: float = 0.020
    jitter_s: Callable[[int], float] = lambda _number: 0.0
    """Further delay of the n-th packet, either way."""
    lost: frozenset[int] = frozenset()
    """Data segments whose first transmission is lost, by number."""
    lost_acks: frozenset[int] = frozenset()
    """ACKs that are lost, by number."""
    copied: frozenset[int] = frozenset()
    """Data segments that arrive twice, 20 ms apart."""
    pauses: tuple[tuple[int, float], ...] = ()
    """Behind the n-th segment the sender pauses so long."""
    held: tuple[tuple[float, float, float], ...] = ()
    """What arrives from .. to is let out at its end, one packet every third value."""


@dataclass
class TwoEnds:
    """Both captures as (time, frame), and what was true."""

    sender: list[tuple[int, bytes]] = field(default_factory=list)
    receiver: list[tuple[int, bytes]] = field(default_factory=list)
    delays_s: dict[bool, list[float]] = field(default_factory=lambda: {True: [], False: []})
    sent: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})
    lost: dict[bool, int] = field(default_factory=lambda: {True: 0, False: 0})


def pcap(records: list[tuple[int, bytes]]) -> bytes:
    """A pcap file with nanoseconds, Ethernet, in order of time."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)]
    for time_ns, frame in records:
        seconds, rest = divmod(time_ns, 1_000_000_000)
        parts += [struct.pack("<IIII", seconds, rest, len(frame), len(frame)), frame]
    return b"".join(parts)


def transfer(path: Path = Path(), segments: int = 400, interval_s: float = 0.001, port: int = 40_000) -> TwoEnds:
    """The client sends `segments` segments, one each interval; what is lost is sent again 200 ms later."""
    return _Making(path, segments, interval_s, port).run()


class _Making:
    def __init__(self, path: Path, segments: int, interval_s: float, port: int) -> None:
        self._path, self._segments, self._interval_s, self._port = path, segments, interval_s, port
        self._made = TwoEnds()
        self._numbers = {True: 0, False: 0}
        self._free_s = 0.0
        self._seen: list[tuple[int, int, bytes]] = []
        self._there: list[tuple[int, int, bytes]] = []

    def run(self) -> TwoEnds:
        path = self._path
        arrives = self._pass(0.0, True, SYN, 0, 0, 0)
        back = self._pass(arrives + 50e-6, False, SYN | ACK, 0, 1, 0)
        opened = back + 50e-6
        self._pass(opened, True, ACK, 1, 1, 0)
        at, events, pauses = opened + 0.01, list[tuple[float, int, int]](), dict(path.pauses)
        for number in range(self._segments):
            heapq.heappush(events, (at, number, 0))
            at += self._interval_s + pauses.get(number, 0.0)
        arrivals = []
        while events:
            when, number, again = heapq.heappop(events)
            lost = number in path.lost and not again
            come = self._pass(when, True, ACK, 1 + number * SEGMENT_BYTES, 1, SEGMENT_BYTES, lost=lost)
            if lost:
                heapq.heappush(events, (when + 0.2, number, 1))
            else:
                arrivals.append((come, number))
            if number in path.copied and not lost:
                self._there.append((self._there[-1][0] + 20_000_000, len(self._there) + 10**6, self._there[-1][2]))
        held, cumulative = set[int](), 0
        for order, (come, number) in enumerate(sorted(arrivals)):
            held.add(number)
            while cumulative in held:
                cumulative += 1
            lost = order in path.lost_acks
            self._pass(come + 20e-6, False, ACK, 1, 1 + cumulative * SEGMENT_BYTES, 0, lost=lost)
        self._made.sender = [(at, frame) for at, _, frame in sorted(self._seen)]
        self._made.receiver = [(at, frame) for at, _, frame in sorted(self._there)]
        return self._made

    def _pass(
        self,
        at_s: float,
        forward: bool,
        flags: int,
        sequence: int,
        acknowledged: int,
        payload: int,
        *,
        lost: bool = False,
    ) -> float:
        """One packet on its way; returns when it arrives."""
        number = self._numbers[forward]
        self._numbers[forward] += 1
        delay_s = (self._path.delay_s if forward else self._path.delay_back_s) + self._path.jitter_s(number)
        come_s = at_s + delay_s
        if forward:
            come_s = self._let_out(come_s)
        frame = self._frame(at_s, forward, flags, sequence, acknowledged, payload, number)
        near, far = (self._seen, self._there) if forward else (self._there, self._seen)
        near.append((START_NS + round(at_s * 1e9), 2 * number + forward, frame))
        self._made.sent[forward] += 1
        if lost:
            self._made.lost[forward] += 1
        else:
            far.append((START_NS + round(come_s * 1e9), 2 * number + forward, frame))
            self._made.delays_s[forward].append(come_s - at_s)
        return come_s

    def _let_out(self, come_s: float) -> float:
        """When a packet comes that would come then: behind those that were held before it."""
        for begin_s, end_s, each_s in self._path.held:
            if begin_s <= come_s < end_s or end_s <= come_s < self._free_s:
                come_s = max(end_s, self._free_s)
                self._free_s = come_s + each_s
        return come_s

    def _frame(
        self, at_s: float, forward: bool, flags: int, sequence: int, acknowledged: int, payload: int, number: int
    ) -> bytes:
        stamp, echo = (_CLOCKS[way] + int(at_s * 1000) + self._port for way in (forward, not forward))
        options = struct.pack(">BBBBII", 1, 1, 8, 10, stamp, echo - 30 if flags & ACK else 0)
        if flags & SYN:
            options = struct.pack(">BBH", 2, 4, SEGMENT_BYTES + 12) + options
        ports = (self._port, 5001) if forward else (5001, self._port)
        tcp = struct.pack(
            ">HHIIBBHHH",
            *ports,
            (_ISN[forward] + sequence) % 2**32,
            (_ISN[not forward] + acknowledged) % 2**32 if flags & ACK else 0,
            (20 + len(options)) // 4 << 4,
            flags,
            65_535,
            0,
            0,
        )
        ends = (bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
        length = 20 + len(tcp) + len(options) + payload
        header = struct.pack(">BBHHHBBH", 0x45, 0, length, (number + 1) % 65_536, 0x4000, 64, 6, 0)
        addresses = b"".join(ends if forward else ends[::-1])
        return bytes(12) + b"\x08\x00" + header + addresses + tcp + options + bytes(payload)
