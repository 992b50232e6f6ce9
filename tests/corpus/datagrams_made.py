"""Frames without TCP, made in the open: what goes on from file to file, and what TCP connections followed."""

import ipaddress
import random
import struct

from tests.corpus import captures_made as made

CLIENT, SERVER, RESOLVER = "10.0.0.1", "10.1.0.9", "10.9.9.9"
Frames = list[made.Frame]


def udp(time_s: float, ends: tuple[str, str], ports: tuple[int, int], content: bytes) -> made.Frame:
    """A datagram."""
    head = struct.pack("!HHHH", *ports, 8 + len(content), 0)
    return made.Frame(made.START_NS + round(time_s * 1e9), made.ip(*ends, head + content, 17))


def question(name: str, kind: int = 1, number: int = 1) -> bytes:
    """A DNS query."""
    return struct.pack("!HHHHHH", number, 0x0100, 1, 0, 0, 0) + _asked(name, kind)


def answer(name: str, address: str | None, kind: int = 1, number: int = 1, code: int = 0) -> bytes:
    """A DNS response with one address, or none."""
    head = struct.pack("!HHHHHH", number, 0x8180 | code, 1, int(address is not None), 0, 0) + _asked(name, kind)
    packed = ipaddress.ip_address(address).packed if address else b""
    return head + (b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 60, len(packed)) + packed if address else b"")


def _asked(name: str, kind: int) -> bytes:
    labels = b"".join(bytes([len(one)]) + one.encode() for one in name.split("."))
    return labels + b"\0" + struct.pack("!HH", kind, 1)


def names() -> Frames:
    """A name asked for three times before its answer; one searched for in vain; some without an answer."""
    found: Frames = []

    def ask(time_s: float, port: int, name: str, number: int = 1) -> None:
        found.append(udp(time_s, (CLIENT, RESOLVER), (port, 53), question(name, number=number)))

    def reply(time_s: float, port: int, content: bytes) -> None:
        found.append(udp(time_s, (RESOLVER, CLIENT), (53, port), content))

    for try_ in range(3):
        ask(0.5 + try_, 50_001, "slow.example")
    reply(2.6, 50_001, answer("slow.example", "10.1.0.9"))
    ask(3.0, 50_002, "www.inner.example")
    reply(3.02, 50_002, answer("www.inner.example", None, code=3))
    ask(3.021, 50_002, "www.example", 2)
    reply(3.04, 50_002, answer("www.example", "10.1.0.8", number=2))
    for try_ in range(2):
        ask(4.0 + try_, 50_003, "nobody.example")
    ask(5.5, 50_004, "refused.example")
    found.append(_unreachable(5.51, found[-1], RESOLVER))
    # Of the last answer one fragment comes.
    ask(5.8, 50_005, "long.example")
    whole = udp(5.81, (RESOLVER, CLIENT), (53, 50_005), answer("long.example", "10.1.0.7") + bytes(900))
    found.append(made.fragmented(whole, 77)[0])
    return found


def _unreachable(time_s: float, about: made.Frame, by: str) -> made.Frame:
    message = bytes([3, 3, 0, 0, 0, 0, 0, 0]) + about.packet[:28]
    return made.Frame(made.START_NS + round(time_s * 1e9), made.ip(by, CLIENT, message, 1))


def datagrams() -> Frames:
    """RTP of which some are lost, ESP, datagrams that nobody answers, some that ICMP refuses."""
    dice, found = random.Random(3), []
    for number in range(300):
        if dice.random() > 0.05:
            head = struct.pack("!BBHII", 0x80, 96, 1000 + number, 160 * number, 0x1234)
            found.append(udp(0.02 * number + dice.random() * 0.004, (SERVER, CLIENT), (5004, 6004), head + bytes(160)))
        if number % 3 == 0:
            esp = struct.pack("!II", 0xABCD, number // 3 + (2 if number > 150 else 0)) + bytes(64)
            time_ns = made.START_NS + number * 20_000_000
            found.append(made.Frame(time_ns, made.ip("192.0.2.1", "192.0.2.2", esp, 50)))
        if number % 50 == 7:
            found.append(udp(0.02 * number, (CLIENT, "10.1.0.77"), (40_077, 9_999), b"is anybody there?"))
            found.append(udp(0.02 * number + 0.001, (CLIENT, SERVER), (40_078, 9_998), b"or here?"))
            found.append(_unreachable(0.02 * number + 0.003, found[-1], SERVER))
    return found


def echoes() -> Frames:
    """Pings of which some have no reply; the replies to others are in the next file."""
    found = []
    for number in range(40):
        for kind in (8, 0):
            if kind == 8 or number % 4:
                ends = (CLIENT, SERVER) if kind == 8 else (SERVER, CLIENT)
                message = struct.pack("!BBHHH", kind, 0, 0, 9, number) + bytes(48)
                time_s = 0.15 * number + (0 if kind == 8 else 0.12)
                found.append(made.Frame(made.START_NS + round(time_s * 1e9), made.ip(*ends, message, 1)))
    return found


def neighbours() -> Frames:
    """A neighbour that is asked for and says nothing, and one that replies at last."""
    found = []
    for number in range(6):
        for host in (66, 67):
            target = ipaddress.ip_address(f"fe80::{host}").packed
            message = bytes([135, 0, 0, 0, 0, 0, 0, 0]) + target
            time_ns = made.START_NS + number * 1_000_000_000
            found.append(made.Frame(time_ns, made.ip("fe80::1", f"ff02::1:ff00:{host}", message, 58)))
    message = bytes([136, 0, 0, 0, 0x60, 0, 0, 0]) + ipaddress.ip_address("fe80::67").packed
    return [*found, made.Frame(made.START_NS + 5_500_000_000, made.ip("fe80::67", "fe80::1", message, 58))]


def quic_in_vain() -> Frames:
    """First datagrams of QUIC without a reply, and the TCP connection that follows."""
    dice = random.Random(5)
    head = b"\xc3\0\0\0\1" + bytes([8, *range(8), 0, 0]) + struct.pack("!H", 0x4000 | 1170)
    content = head + dice.randbytes(1170)
    tries = [udp(at_s, (CLIENT, SERVER), (44_443, 443), content) for at_s in (1.0, 1.3, 1.9, 3.1)]
    talk = made.Talk(CLIENT, SERVER, 30_443, made.START_NS + 3_500_000_000)
    return tries + made.frames_of(talk)


def names_over_tcp() -> Frames:
    """A name that is asked for over TCP, and the connection to its address."""
    start_ns, ends = made.START_NS + 4_100_000_000, (CLIENT, RESOLVER, 33_053, 53)
    asked, said = question("tcp.example", number=9), answer("tcp.example", "10.1.0.5", number=9)
    found, sequences = [], [100, 900]

    def say(at_ms: int, side: int, flags: int, content: bytes = b"") -> None:
        way = ends if side == 0 else (ends[1], ends[0], ends[3], ends[2])
        numbers = (sequences[side], sequences[1 - side] if flags & made.ACK else 0)
        found.append(
            made.Frame(start_ns + at_ms * 1_000_000, made.ip(*way[:2], made.tcp(*way, flags, *numbers, content)))
        )
        sequences[side] += len(content) + bool(flags & (made.SYN | made.FIN))

    say(0, 0, made.SYN)
    say(10, 1, made.SYN | made.ACK)
    say(11, 0, made.ACK)
    say(12, 0, made.ACK | made.PSH, struct.pack("!H", len(asked)) + asked)
    say(30, 1, made.ACK | made.PSH, struct.pack("!H", len(said)) + said)
    say(31, 0, made.FIN | made.ACK)
    say(41, 1, made.FIN | made.ACK)
    say(42, 0, made.ACK)
    return found + made.frames_of(made.Talk(CLIENT, "10.1.0.5", 30_444, start_ns + 45_000_000))
