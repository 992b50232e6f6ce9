"""Captures of many connections, made in the open: rotated, of several interfaces, with fragments and tunnels."""

import gzip
import ipaddress
import random
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
START_NS = 1_700_000_000_000_000_000
_MSS = 1000


@dataclass(frozen=True, slots=True)
class Frame:
    """An IP packet and when it was captured."""

    time_ns: int
    packet: bytes
    wire_bytes: int = 0
    """Where it was cut: its length before."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A connection: a request, a response of so many segments, of which some are sent again."""

    client: str
    server: str
    port: int
    start_ns: int
    segments: int = 12
    rtt_ns: int = 20_000_000
    lost: frozenset[int] = frozenset()
    ends: int = FIN
    lag_ns: int = 0
    """The server's packets are recorded so much later."""


def frames_of(talk: Talk) -> list[Frame]:
    """Its packets in the order of their times."""
    frames: list[Frame] = []
    client_next, server_next = 1000, 5000

    def say(at_ns: int, *, by_client: bool, flags: int, payload: bytes = b"", sequence: int, acknowledged: int) -> None:
        ends = (talk.client, talk.server, talk.port, 443) if by_client else (talk.server, talk.client, 443, talk.port)
        lag_ns = 0 if by_client else talk.lag_ns
        frames.append(Frame(at_ns + lag_ns, ip(*ends[:2], tcp(*ends, flags, sequence, acknowledged, payload))))

    at_ns = talk.start_ns
    say(at_ns, by_client=True, flags=SYN, sequence=client_next, acknowledged=0)
    say(at_ns + talk.rtt_ns, by_client=False, flags=SYN | ACK, sequence=server_next, acknowledged=client_next + 1)
    at_ns += talk.rtt_ns
    client_next, server_next = client_next + 1, server_next + 1
    say(at_ns + 100_000, by_client=True, flags=ACK, sequence=client_next, acknowledged=server_next)
    say(
        at_ns + 200_000,
        by_client=True,
        flags=ACK | PSH,
        payload=b"GET /",
        sequence=client_next,
        acknowledged=server_next,
    )
    client_next += 5
    for first in range(0, talk.segments, 4):
        at_ns += talk.rtt_ns
        burst = range(first, min(first + 4, talk.segments))
        for number in burst:
            if number not in talk.lost:
                sequence = server_next + number * _MSS
                sent_ns = at_ns + (number - first) * 50_000
                say(
                    sent_ns,
                    by_client=False,
                    flags=ACK,
                    payload=_data(number),
                    sequence=sequence,
                    acknowledged=client_next,
                )
        for number in (one for one in burst if one in talk.lost):
            sequence = server_next + number * _MSS
            at_ns += talk.rtt_ns * 3
            say(at_ns, by_client=False, flags=ACK, payload=_data(number), sequence=sequence, acknowledged=client_next)
        acknowledged = server_next + (burst[-1] + 1) * _MSS
        say(at_ns + 300_000, by_client=True, flags=ACK, sequence=client_next, acknowledged=acknowledged)
    server_next += talk.segments * _MSS
    at_ns += talk.rtt_ns
    say(at_ns, by_client=False, flags=talk.ends | ACK, sequence=server_next, acknowledged=client_next)
    if talk.ends == FIN:
        say(at_ns + 100_000, by_client=True, flags=FIN | ACK, sequence=client_next, acknowledged=server_next + 1)
        say(at_ns + talk.rtt_ns, by_client=False, flags=ACK, sequence=server_next + 1, acknowledged=client_next + 1)
    return sorted(frames, key=lambda frame: frame.time_ns)


def _data(number: int) -> bytes:
    return bytes([number & 255]) * _MSS


def tcp(
    source: str, destination: str, sport: int, dport: int, flags: int, sequence: int, ack: int, data: bytes
) -> bytes:
    """A segment; checksums are left to nobody's card."""
    del source, destination
    return (
        struct.pack("!HHIIBBHHH", sport, dport, sequence & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50, flags, 8192, 0, 0) + data
    )


def ip(
    source: str, destination: str, payload: bytes, protocol: int = 6, identification: int = 0, fragment: int = 0
) -> bytes:
    """An IPv4 or IPv6 packet."""
    one, other = ipaddress.ip_address(source), ipaddress.ip_address(destination)
    if one.version == 6:
        return struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + one.packed + other.packed + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(payload), identification, fragment, 64, protocol, 0)
    return head + one.packed + other.packed + payload


def fragmented(frame: Frame, identification: int, at: int = 480) -> list[Frame]:
    """An IPv4 packet in two fragments, the second a millisecond later."""
    head, payload = frame.packet[:20], frame.packet[20:]
    source, destination = (str(ipaddress.ip_address(head[start : start + 4])) for start in (12, 16))
    first = ip(source, destination, payload[:at], head[9], identification, 0x2000)
    second = ip(source, destination, payload[at:], head[9], identification, at // 8)
    return [Frame(frame.time_ns, first), Frame(frame.time_ns + 1_000_000, second)]


def tunnelled(frame: Frame, source: str = "192.0.2.1", destination: str = "192.0.2.2") -> Frame:
    """The packet within GRE, as between two routers."""
    kind = 0x86DD if frame.packet[0] >> 4 == 6 else 0x0800
    return replace(frame, packet=ip(source, destination, struct.pack("!HH", 0, kind) + frame.packet, 47))


def pcap(frames: Iterable[Frame]) -> bytes:
    """A file of raw IP, with nanoseconds."""
    records = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 101)]
    for frame in frames:
        seconds, nanoseconds = divmod(frame.time_ns, 1_000_000_000)
        lengths = (len(frame.packet), max(len(frame.packet), frame.wire_bytes))
        records += [struct.pack("<IIII", seconds, nanoseconds, *lengths), frame.packet]
    return b"".join(records)


def pcapng(interfaces: Sequence[Sequence[Frame]]) -> bytes:
    """A section whose interfaces are described where their first frames stand; each has a resolution of its own."""
    blocks = [_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for number, frames in enumerate(interfaces):
        digits = (9, 6)[number % 2]
        resolution = struct.pack("<HHB3xHH", 9, 1, digits, 0, 0)
        blocks.append(_block(1, struct.pack("<HHI", 101, 0, 262144) + resolution))
        for frame in frames:
            ticks = frame.time_ns // 10 ** (9 - digits)
            head = struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(frame.packet), len(frame.packet))
            blocks.append(_block(6, head + frame.packet + bytes(-len(frame.packet) % 4)))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def talks(count: int, seed: int = 1, hosts: int = 6, every_ns: int = 40_000_000) -> list[Talk]:
    """Connections that begin one after the other, between a few hosts of both families."""
    dice = random.Random(seed)
    made = []
    for number in range(count):
        host = dice.randrange(hosts)
        pair = (f"10.0.0.{host + 1}", f"10.1.0.{dice.randrange(hosts) + 1}")
        if dice.random() < 0.2:
            pair = (f"fd00::{host + 1:x}", f"fd00:1::{dice.randrange(hosts) + 1:x}")
        segments = dice.randrange(1, 40)
        lost = frozenset(one for one in range(segments) if dice.random() < 0.05)
        made.append(
            Talk(
                *pair,
                port=20_000 + number,
                start_ns=START_NS + number * every_ns,
                segments=segments,
                rtt_ns=dice.randrange(1, 60) * 1_000_000,
                lost=lost,
                ends=RST if dice.random() < 0.1 else FIN,
            )
        )
    return made


def merged(some: Iterable[Talk]) -> list[Frame]:
    """All their packets in the order of their times."""
    return sorted((frame for talk in some for frame in frames_of(talk)), key=lambda frame: frame.time_ns)


def rotated(frames: Sequence[Frame], files: int) -> list[list[Frame]]:
    """Files of about as many packets each, one behind the other."""
    size = -(-len(frames) // files)
    return [list(frames[first : first + size]) for first in range(0, len(frames), size)]


def written(folder: Path, files: Sequence[Sequence[Frame]], prefix: str = "cap", *, packed: bool = False) -> list[Path]:
    """The files in a folder, numbered."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, frames in enumerate(files):
        content = pcap(frames)
        path = folder / f"{prefix}-{number:03}.pcap{'.gz' if packed else ''}"
        path.write_bytes(gzip.compress(content, 1) if packed else content)
        paths.append(path)
    return paths
