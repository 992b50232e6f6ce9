"""The corpora on which runs are compared with one process: each has something that crosses files, runs or buckets."""

import random
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.analyze.outcome_made import START_NS, Ends, Wire
from tests.corpus import captures_made as made
from tests.corpus import datagrams_made as beside

Frames = list[made.Frame]


def rotated_with_lookups(folder: Path) -> list[Path]:
    """Nine files, with name lookups between."""
    return made.written(folder, made.rotated(with_dns(made.merged(made.talks(150))), 9))


def few_connections(folder: Path) -> list[Path]:
    """Up to a hundred connections have their limits interval by interval."""
    return made.written(folder, made.rotated(made.merged(made.talks(20)), 3))


def interfaces(folder: Path) -> list[Path]:
    """Two interfaces, rotated at different times."""
    frames = made.merged(made.talks(80))
    inside = [frame for frame in frames if frame.packet[0] >> 4 == 4]
    outside = [frame for frame in frames if frame.packet[0] >> 4 == 6]
    paths = made.written(folder, made.rotated(inside, 4), "eth0")
    return paths + made.written(folder, made.rotated(outside, 3), "eth1")


def fragments_and_tunnels(folder: Path) -> list[Path]:
    """Thirty files, so that datagrams and tunnels cross the borders of some."""
    frames: Frames = []
    for number, frame in enumerate(made.merged(made.talks(60))):
        is_long = len(frame.packet) > 600
        if number % 5 == 1 and is_long and frame.packet[0] >> 4 == 4:
            frames += made.fragmented(frame, number & 0xFFFF)
        elif number % 5 == 2:
            frames.append(made.tunnelled(frame))
        elif number % 5 == 3 and is_long:
            frames += made.fragmented(made.tunnelled(frame), number & 0xFFFF)
        else:
            frames.append(frame)
    return made.written(folder, made.rotated(_in_order(frames), 30))


def damaged_and_truncated(folder: Path) -> list[Path]:
    """One file is overwritten in its middle, one ends in a packet, one after its header."""
    paths = made.written(folder, made.rotated(made.merged(made.talks(80)), 6))
    damaged = bytearray(paths[1].read_bytes())
    damaged[5000:8000] = b"\xff" * 3000
    paths[1].write_bytes(damaged)
    paths[3].write_bytes(paths[3].read_bytes()[:-777])
    paths[4].write_bytes(paths[4].read_bytes()[:24])
    return paths


def compressed_and_cut(folder: Path) -> list[Path]:
    """Compressed files, of which one ends early."""
    paths = made.written(folder, made.rotated(made.merged(made.talks(80)), 5), packed=True)
    paths[2].write_bytes(paths[2].read_bytes()[:-3000])
    return paths


def elephant(folder: Path) -> list[Path]:
    """One connection has nearly all packets."""
    large = made.Talk("10.0.0.1", "10.1.0.1", 19_999, made.START_NS, segments=4000, rtt_ns=2_000_000)
    return made.written(folder, made.rotated(made.merged([large, *made.talks(30)]), 12))


def clock_set_back(folder: Path) -> list[Path]:
    """The clock of the capture is set back in the middle."""
    return _clock_step(folder, -7_000_000_000)


def clock_set_forward(folder: Path) -> list[Path]:
    """Forward."""
    return _clock_step(folder, 90_000_000_000)


def _clock_step(folder: Path, step_ns: int) -> list[Path]:
    frames = made.merged(made.talks(80, every_ns=200_000_000))
    middle = len(frames) // 2
    later = (replace(frame, time_ns=frame.time_ns + step_ns) for frame in frames[middle:])
    return made.written(folder, made.rotated([*frames[:middle], *later], 7))


def recorded_late(folder: Path) -> list[Path]:
    """The servers' packets are recorded five milliseconds late."""
    late = [replace(talk, lag_ns=5_000_000, segments=60, rtt_ns=3_000_000) for talk in made.talks(40)]
    return made.written(folder, made.rotated(made.merged(late), 6))


def shared_limits(folder: Path) -> list[Path]:
    """A host sends to eight others through one bottleneck: only all its pairs together show the limit."""
    frames = bottleneck(3, 8)
    return made.written(folder, made.rotated(_in_order([*frames, *made.merged(made.talks(30))]), 5))


def bottleneck(seed: int, pairs: int, rate_bps: float = 24e6, rtt_s: float = 0.03, slot_s: float = 0.02) -> Frames:
    """Uploads of one host to several: each sends evenly at its part of the rate, by weights that wander."""
    dice, wire = random.Random(seed), Wire()
    ends = [Ends(server=f"198.18.{number}.2", ports=(40_000 + number, 443)) for number in range(pairs)]
    sent, weights = [0] * pairs, [1.0] * pairs
    for number, one in enumerate(ends):
        late_s = number * 1e-4
        at = wire.at(one).tcp(late_s, True, "S").tcp(rtt_s + late_s, False, "SA")
        at.tcp(rtt_s + 1e-5 + late_s, True, "A")
    for slot in range(250):
        weights = [min(max(weight * dice.uniform(0.85, 1.18), 0.3), 3.0) for weight in weights]
        for number, one in enumerate(ends):
            packets = max(1, round(rate_bps / 8 * slot_s * weights[number] / sum(weights) / 1500))
            for packet in range(packets):
                time_s = 2 * rtt_s + (slot + (packet + number / pairs) / packets) * slot_s
                wire.at(one).tcp(time_s, True, "A", sent[number], 0, one.full)
                sent[number] += one.full
                wire.at(one).tcp(time_s + 1.5 * rtt_s, False, "A", 0, sent[number], window=16_000)
    return [made.Frame(START_NS + round(time_s * 1e9), packet, length) for time_s, packet, length in wire.records]


def with_dns(frames: Frames) -> Frames:
    """Name lookups between: a question and its answer."""
    more = []
    for number in range(10):
        at_ns = frames[0].time_ns + number * 300_000_000
        question = b"\x07example\x03com\x00\x00\x01\x00\x01"
        head = struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0)
        answer = struct.pack("!HHHHHH", number, 0x8180, 1, 1, 0, 0) + question
        answer += b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 60, 4) + bytes([10, 1, 0, number + 1])
        for by_client, message in ((True, head + question), (False, answer)):
            ports = (40_000 + number, 53) if by_client else (53, 40_000 + number)
            ends = ("10.0.0.1", "10.9.9.9") if by_client else ("10.9.9.9", "10.0.0.1")
            udp = struct.pack("!HHHH", *ports, 8 + len(message), 0) + message
            more.append(made.Frame(at_ns + (0 if by_client else 5_000_000), made.ip(*ends, udp, 17)))
    return _in_order([*frames, *more])


def beyond_tcp(folder: Path) -> list[Path]:
    """Names, datagrams, echoes and neighbours go on from file to file, and connections follow them."""
    parts = (beside.names, beside.datagrams, beside.echoes, beside.neighbours, beside.quic_in_vain)
    frames = [frame for part in (*parts, beside.names_over_tcp) for frame in part()]
    waited = made.Talk(beside.CLIENT, beside.SERVER, 30_001, made.START_NS + 2_610_000_000)
    searched = made.Talk(beside.CLIENT, "10.1.0.8", 30_002, made.START_NS + 3_050_000_000)
    talks = made.merged([waited, searched, *made.talks(40)])
    tunnelled = [made.tunnelled(frame) if number % 7 == 0 else frame for number, frame in enumerate(talks)]
    return made.written(folder, made.rotated(_in_order([*frames, *tunnelled]), 11))


def _in_order(frames: Frames) -> Frames:
    return sorted(frames, key=lambda frame: frame.time_ns)


CORPORA: dict[str, Callable[[Path], list[Path]]] = {
    make.__name__: make
    for make in (
        *(rotated_with_lookups, few_connections, interfaces, fragments_and_tunnels, damaged_and_truncated),
        *(compressed_and_cut, elephant, clock_set_back, clock_set_forward, recorded_late, shared_limits, beyond_tcp),
    )
}
BUCKETS = (1, 8, 64)
WORKERS = (1, 2, 3, 7)
