"""Captures whose analysis might grow faster than they do: families, each of as many records as are asked for.

`tools.engine_growth` doubles each and counts. All is written out here, byte by byte, and drawn with a fixed seed.
"""

import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import growing_frames as frames
from tools.growing_frames import ACK, CLIENT, FIN, PSH, RST, SERVER, SYN, Timed, sack, segment

_STEP_US = 10
_SEGMENT_BYTES = 1000
_DATA = b"x" * _SEGMENT_BYTES
# Where the streams of both sides begin.
_C, _S = 1001, 5001


def _opened(port: int = 80) -> Iterator[bytes]:
    """A handshake with SACK, window scale and a segment size."""
    options = b"\x02\x04\x05\xb4\x04\x02\x01\x01\x03\x03\x0e\x00"
    yield segment(CLIENT, _C - 1, 0, SYN, options=options, server_port=port)
    yield segment(SERVER, _S - 1, _C, SYN | ACK, options=options, server_port=port)
    yield segment(CLIENT, _C, _S, server_port=port)


def _piece(number: int, data: bytes = _DATA) -> bytes:
    return segment(CLIENT, _C + number * _SEGMENT_BYTES, _S, data=data)


def _shuffled(count: int, seed: int = 1) -> list[int]:
    numbers = list(range(count))
    random.Random(seed).shuffle(numbers)
    return numbers


# --- one connection ---


def late_halves(count: int) -> Iterator[bytes]:
    """Every second segment in any order, then the others in any order."""
    yield from _opened()
    yield from (_piece(2 * number + 1) for number in _shuffled(count // 2))
    yield from (_piece(2 * number) for number in _shuffled(count // 2))


def disorder(count: int) -> Iterator[bytes]:
    """Segments in any order."""
    yield from _opened()
    yield from map(_piece, _shuffled(count))


def reversed_order(count: int) -> Iterator[bytes]:
    """The last segment first."""
    yield from _opened()
    yield from map(_piece, reversed(range(count)))


def filled_backwards(count: int) -> Iterator[bytes]:
    """Every second segment, then the others from the last to the first."""
    yield from _opened()
    yield from (_piece(2 * number + 1) for number in range(count // 2))
    yield from (_piece(2 * number) for number in reversed(range(count // 2)))


def sack_lists(count: int) -> Iterator[bytes]:
    """Acknowledgements that report four segments of any place each."""
    dice, sent = random.Random(1), count // 2
    yield from _opened()
    yield from map(_piece, range(sent))
    for _ in range(sent):
        starts = (_C + dice.randrange(1, sent) * _SEGMENT_BYTES for _ in range(4))
        yield segment(SERVER, _S, _C, options=sack((start, start + _SEGMENT_BYTES) for start in starts))


def sack_splits(count: int) -> Iterator[bytes]:
    """Acknowledgements that report single bytes within large segments."""
    yield from _opened()
    sent = count // 2
    yield from map(_piece, range(sent))
    for number in _shuffled(sent):
        start = _C + number * _SEGMENT_BYTES + 500
        yield segment(SERVER, _S, _C, options=sack([(start, start + 1)]))


def retransmission_storm(count: int) -> Iterator[bytes]:
    """Fifty segments again and again, never acknowledged."""
    dice = random.Random(1)
    yield from _opened()
    yield from (_piece(dice.randrange(50)) for _ in range(count))


def late_retransmissions(count: int) -> Iterator[bytes]:
    """Segments that nobody acknowledges, each once more in any order."""
    yield from _opened()
    yield from map(_piece, range(count // 2))
    yield from map(_piece, _shuffled(count // 2))


def split_retransmissions(count: int) -> Iterator[bytes]:
    """Large segments of which single bytes are sent again, in any order."""
    yield from _opened()
    sent = count // 2
    yield from map(_piece, range(sent))
    yield from (segment(CLIENT, _C + number * _SEGMENT_BYTES + 300, _S, data=b"x") for number in _shuffled(sent))


def timeouts(count: int) -> Iterator[bytes | Timed]:
    """Nothing is acknowledged; the first segment comes again after each second, and a new one."""
    yield from _opened()
    yield from map(_piece, range(count // 3))
    for number in range(count // 3):
        yield Timed(_piece(0), 1_000_000)
        yield _piece(count // 3 + number)


def interleaved_copies(count: int) -> Iterator[bytes]:
    """Each segment five times, mixed within hundreds."""
    dice = random.Random(1)
    yield from _opened()
    for first in range(0, count // 5, 100):
        some = [_piece(number) for number in range(first, min(first + 100, count // 5)) for _ in range(5)]
        dice.shuffle(some)
        yield from some


def one_byte_segments(count: int) -> Iterator[bytes]:
    """A request that never ends, a byte at a time."""
    begin = b"GET / HTTP/1.1\r\nX: "
    yield from _opened()
    for number in range(count):
        yield segment(CLIENT, _C + number, _S, PSH | ACK, data=begin[number : number + 1] or b"h")


def ping_pong(count: int) -> Iterator[bytes]:
    """A byte to and a byte fro."""
    yield from _opened()
    for number in range(count // 2):
        yield segment(CLIENT, _C + number, _S + number, PSH | ACK, data=b"q")
        yield segment(SERVER, _S + number, _C + number + 1, PSH | ACK, data=b"r")


def zero_windows(count: int) -> Iterator[bytes | Timed]:
    """A window that closes and opens with each segment, and a probe in between."""
    yield from _opened()
    for number in range(count // 4):
        end = _C + (number + 1) * _SEGMENT_BYTES
        yield Timed(_piece(number), 10_000)
        yield segment(SERVER, _S, end, window=0)
        yield Timed(segment(CLIENT, end - 1, _S), 300_000)
        yield segment(SERVER, _S, end, window=1)


def timestamps(count: int) -> Iterator[bytes]:
    """Timestamps that jump, echoes of any of them."""
    dice = random.Random(1)
    stamped = struct.Struct("!BBBBII").pack
    options = b"\x02\x04\x05\xb4" + stamped(1, 1, 8, 10, 1, 0)
    yield segment(CLIENT, _C - 1, 0, SYN, options=options)
    yield segment(SERVER, _S - 1, _C, SYN | ACK, options=options)
    values = [dice.randrange(1 << 32) for _ in range(count // 2)]
    for number, value in enumerate(values):
        start = _C + number * _SEGMENT_BYTES
        yield segment(CLIENT, start, _S, options=stamped(1, 1, 8, 10, value, 1), data=_DATA)
        yield segment(SERVER, _S, start, options=stamped(1, 1, 8, 10, number, dice.choice(values)))


def times_backwards(count: int) -> Iterator[bytes | Timed]:
    """Records whose times run backwards."""
    yield from _opened()
    yield from (Timed(_piece(number), -_STEP_US) for number in range(count))


def times_at_random(count: int) -> Iterator[bytes | Timed]:
    """Records with any times of a quarter of an hour."""
    dice = random.Random(1)
    yield from _opened()
    at = 0
    for number in range(count):
        to = dice.randrange(10**9)
        yield Timed(_piece(number), to - at)
        at = to


# --- what streams carry ---


def tls_records_of_one_byte(count: int) -> Iterator[bytes]:
    """Many TLS records in each segment."""
    yield from _opened(443)
    start, records = _C, b"\x17\x03\x03\x00\x01z" * 50
    hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01x"
    yield segment(CLIENT, start, _S, PSH | ACK, data=hello, server_port=443)
    start += len(hello)
    for _ in range(count // 10):
        yield segment(CLIENT, start, _S, PSH | ACK, data=records, server_port=443)
        start += len(records)
        yield segment(SERVER, _S, start, server_port=443)


def pipelined_requests(count: int) -> Iterator[bytes]:
    """All requests, then all responses."""
    yield from _opened()
    requests = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n" * 30
    responses = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx" * 30
    number = count // 2
    yield from (segment(CLIENT, _C + at * len(requests), _S, data=requests) for at in range(number))
    end = _C + number * len(requests)
    yield from (segment(SERVER, _S + at * len(responses), end, data=responses) for at in range(number))


def http2_streams(count: int) -> Iterator[bytes]:
    """Streams that are opened and never answered."""
    yield from _opened()
    preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"
    yield segment(CLIENT, _C, _S, PSH | ACK, data=preface)
    start = _C + len(preface)
    for first in range(0, 4 * count, 100):
        headers = b"".join(
            b"\0\0\x03\1\5" + struct.pack("!I", 2 * number + 1) + b"\x82\x86\x84"
            for number in range(first, first + 100)
        )
        yield segment(CLIENT, start, _S, PSH | ACK, data=headers)
        start += len(headers)


def scattered_stream(count: int) -> Iterator[bytes]:
    """The bytes of TLS records in any order, behind a first that is missing."""
    yield from _opened(443)
    record = b"\x17\x03\x03" + struct.pack("!H", _SEGMENT_BYTES - 5) + b"z" * (_SEGMENT_BYTES - 5)
    for number in [*(1 + other for other in _shuffled(count - 1)), 0]:
        yield segment(CLIENT, _C + number * _SEGMENT_BYTES, _S, data=record, server_port=443)


# --- many connections ---


def unanswered_syns(count: int) -> Iterator[bytes]:
    """SYNs of as many sources, never answered."""
    for number in range(count):
        source = 0x0B000000 + number // 50_000
        yield frames.ipv4(
            source, frames.SERVER_ADDRESS, 6, frames.tcp(1024 + number % 50_000, 443, number * 7919, 0, SYN)
        )


def one_tuple(count: int) -> Iterator[bytes]:
    """Connections of the same addresses and ports, one behind the other."""
    for number in range(count // 4):
        first, other = number * 1_000_003, number * 3_000_009
        yield segment(CLIENT, first, 0, SYN)
        yield segment(SERVER, other, first + 1, SYN | ACK)
        yield segment(CLIENT, first + 1, other + 1)
        yield segment(CLIENT, first + 1, other + 1, RST | ACK)


def half_closed(count: int) -> Iterator[bytes]:
    """Connections of one server that one side ends, the other never."""
    for number in range(count // 4):
        port = 1024 + number % 60_000
        yield segment(CLIENT, _C - 1, 0, SYN, client_port=port)
        yield segment(SERVER, _S - 1, _C, SYN | ACK, client_port=port)
        yield segment(CLIENT, _C, _S, client_port=port)
        yield segment(CLIENT, _C, _S, FIN | ACK, client_port=port)


# --- below and beside TCP ---


def open_fragments(count: int) -> Iterator[bytes]:
    """First fragments of datagrams that never end."""
    for number in range(count):
        source = 0x0C000000 + number // 65_536
        yield frames.ipv4(source, frames.SERVER_ADDRESS, 6, b"y" * 24, identification=number, fragment=0x2000)


def fragments_of_one(count: int) -> Iterator[bytes]:
    """Overlapping fragments of one datagram."""
    dice = random.Random(1)
    for _ in range(count):
        at = 0x2000 | dice.randrange(1, 8000)
        yield frames.ipv4(frames.CLIENT_ADDRESS, frames.SERVER_ADDRESS, 6, b"y" * 8, identification=7, fragment=at)


def names(count: int) -> Iterator[bytes]:
    """Answers of DNS, each with a name and twenty addresses of its own."""
    for number in range(count):
        question = b"\x0a" + b"%010d" % number + b"\x07example\x03com\0" + b"\0\1\0\1"
        addresses = (struct.pack("!I", 0x0D000000 + number * 20 + other) for other in range(20))
        answers = b"".join(b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + address for address in addresses)
        message = struct.pack("!HHHHHH", number & 0xFFFF, 0x8180, 1, 20, 0, 0) + question + answers
        yield frames.udp(SERVER, 53, 40_000, message)


def questions(count: int) -> Iterator[bytes]:
    """Questions of DNS that nobody answers."""
    for number in range(count):
        question = b"\x0a" + b"%010d" % number + b"\x07example\x03com\0" + b"\0\1\0\1"
        message = struct.pack("!HHHHHH", number & 0xFFFF, 0x100, 1, 0, 0, 0) + question
        yield frames.udp(CLIENT, 1024 + number % 60_000, 53, message)


def datagram_flows(count: int) -> Iterator[bytes]:
    """Datagrams of as many flows."""
    for number in range(count):
        yield frames.udp(CLIENT, 1024 + number % 60_000, 2_000 + number // 60_000, b"z" * 40)


def quic_connections(count: int) -> Iterator[bytes]:
    """Long headers of QUIC with as many connection IDs on one pair of ports."""
    for number in range(count):
        ids = b"\x08" + struct.pack("!Q", number) + b"\x08" + struct.pack("!Q", ~number & (1 << 64) - 1)
        yield frames.udp(CLIENT, 40_000, 443, b"\xe0\0\0\0\1" + ids + b"\x40\x64" + b"q" * 100)


def vlan_tags(count: int) -> Iterator[bytes]:
    """A frame with as many VLAN tags, up to what a frame holds, and a few of it."""
    syn = segment(CLIENT, _C, 0, SYN)
    yield from [b"\2" * 12 + b"\x81\0\0\1" * count + b"\x08\0" + syn[14:]] * 10


def tunnels(count: int) -> Iterator[bytes]:
    """IPv4 in IPv4, as deep as is asked for."""
    inner = segment(CLIENT, _C, 0, SYN)[14:]
    for _ in range(count):
        inner = frames.ipv4(frames.CLIENT_ADDRESS, frames.SERVER_ADDRESS, 4, inner)[14:]
    yield from [b"\2" * 6 + b"\4" * 6 + b"\x08\0" + inner] * 10


# --- pcapng ---


def _block(kind: int, body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + b"\0" * (-len(value) % 4)


def _section() -> bytes:
    return _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))


def _enhanced(interface: int, number: int, options: bytes = b"") -> bytes:
    frame = segment(CLIENT, _C + number, 0, SYN)
    padded = frame + b"\0" * (-len(frame) % 4)
    return _block(6, struct.pack("<IIIII", interface, 0, number * 10, len(frame), len(frame)) + padded + options)


def interfaces(count: int) -> bytes:
    """As many interfaces as packets, each with a name."""
    described = b"".join(
        _block(1, struct.pack("<HHI", 1, 0, 262_144) + _option(2, b"%08d" % number) + bytes(4))
        for number in range(count)
    )
    return _section() + described + b"".join(_enhanced(number, number) for number in range(count))


def block_options(count: int) -> bytes:
    """Packets with as many comments as fit, and statistics blocks behind each other."""
    interface = _block(1, struct.pack("<HHI", 1, 0, 262_144))
    comments = b"".join(_option(1, b"%04d" % number) for number in range(50)) + bytes(4)
    packets = b"".join(_enhanced(0, number, comments) for number in range(count))
    statistics = _block(5, struct.pack("<III", 0, 0, 1) + _option(4, bytes(8)) + bytes(4))
    return _section() + interface + packets + statistics * count


def names_of_addresses(count: int) -> bytes:
    """Blocks of name resolution with as many names."""
    interface = _block(1, struct.pack("<HHI", 1, 0, 262_144))
    records = (_option(1, struct.pack("!I", 0x0A000000 + number) + b"h%06d\0" % number) for number in range(count))
    return _section() + interface + _block(4, b"".join(records) + bytes(4)) + _enhanced(0, 0)


# What makes each family, by what is doubled.
OF_RECORDS: dict[str, Callable[[int], Iterator[bytes | Timed]]] = {
    function.__name__: function
    for function in (
        late_halves, disorder, reversed_order, filled_backwards, sack_lists, sack_splits, retransmission_storm,
        late_retransmissions, split_retransmissions, timeouts, interleaved_copies, one_byte_segments, ping_pong,
        zero_windows, timestamps, times_backwards, times_at_random, tls_records_of_one_byte, pipelined_requests,
        http2_streams, scattered_stream, unanswered_syns, one_tuple, half_closed, open_fragments, fragments_of_one,
        names, questions, datagram_flows, quic_connections, vlan_tags, tunnels,
    )
}  # fmt: skip
OF_BLOCKS: dict[str, Callable[[int], bytes]] = {
    function.__name__: function for function in (interfaces, block_options, names_of_addresses)
}
FAMILIES = (*OF_RECORDS, *OF_BLOCKS)


def write(family: str, count: int, path: Path) -> None:
    """The capture of a family."""
    if family in OF_BLOCKS:
        path.write_bytes(OF_BLOCKS[family](count))
    else:
        frames.write(path, OF_RECORDS[family](count), _STEP_US)
