"""Writes the seed corpora of the fuzz targets: the samples, and hand-made bytes each named for what is special.

python tools/fuzz_seeds.py FOLDER
"""

import bz2
import contextlib
import gzip
import lzma
import ssl
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).parent.parent
# libFuzzer cuts inputs at its -max_len; a seed beyond it is of no use.
LARGEST_BYTES = 65536
PCAP_MAGICS = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"snoop\0\0\0")
SECTION = b"\x0a\x0d\x0d\x0a"
COMPRESSIONS = (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0", b"\x04\x22\x4d\x18", b"BZh11AY&SY")

Seeds = Iterator[tuple[str, bytes]]


# --- frames ---


def tcp(flags: int, payload: bytes = b"", options: bytes = b"") -> bytes:
    """A TCP segment from port 40000 to port 443, its checksum left 0."""
    offset = (20 + len(options)) // 4 << 4
    return struct.pack(">HHIIBBHHH", 40000, 443, 1000, 2000, offset, flags, 502, 0, 0) + options + payload


def ipv4(protocol: int, payload: bytes, fragment: int = 0) -> bytes:
    """An IPv4 packet; `fragment` is the flags and offset field."""
    length = 20 + len(payload)
    words = (0x4500, length, 7, fragment, 64 << 8 | protocol, 0, 0x0A00, 1, 0x0A00, 2)
    total = sum(words)
    checksum = ~(total % 0x10000 + total // 0x10000) & 0xFFFF
    return struct.pack(">10H", *words[:5], checksum, *words[6:]) + payload


def ipv6(next_header: int, payload: bytes) -> bytes:
    """An IPv6 packet."""
    return struct.pack(">IHBB", 6 << 28, len(payload), next_header, 64) + bytes(range(32)) + payload


def udp(port: int, payload: bytes) -> bytes:
    """A UDP datagram."""
    return struct.pack(">HHHH", 5000, port, 8 + len(payload), 0) + payload


def ethernet(kind: int, payload: bytes) -> bytes:
    """An Ethernet frame."""
    return bytes(12) + struct.pack(">H", kind) + payload


TIMESTAMPS = b"\x01\x01\x08\x0a\0\0\0\1\0\0\0\2"
SACK = b"\x01\x01\x05\x0a\0\0\x10\0\0\0\x20\0"
SYN_OPTIONS = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\1\0\0\0\0\x01\x03\x03\x07"
SEGMENT = tcp(0x18, b"hello, world", TIMESTAMPS)
PACKET = ipv4(6, SEGMENT)
FRAME = ethernet(0x0800, PACKET)


TAGS = (
    ("metadata", 0x8909, b"\1\1\0\1\0\2\x08\0" + PACKET),
    ("vn_tag", 0x8926, b"\0\1\0\2\x08\0" + PACKET),
    ("hsr", 0x892F, b"\0\x3a\0\1\x08\0" + PACKET),
    ("dsa", 0xDADA, b"\0\0\xc0\0\0\1\x08\0" + PACKET),
    ("trill", 0x22F3, b"\0\x3f\0\1\0\2" + FRAME),
    ("fabric_path", 0x8903, b"\0\x42" + FRAME),
    ("macsec", 0x88E5, b"\0\0\0\0\0\1\x08\0" + PACKET + bytes(16)),
    ("macsec_channel", 0x88E5, b"\x20\0\0\0\0\1" + bytes(8) + b"\x08\0" + PACKET + bytes(16)),
)
TUNNELS = (
    ("l2tpv2", 1701, b"\0\2\0\1\0\2\xff\3\0\x21" + PACKET),
    ("lisp", 4341, b"\x88\1\2\3\0\0\7\0" + PACKET),
    ("gue", 6080, b"\1\4\0\0" + bytes(4) + PACKET),
    ("fou", 5555, PACKET),
    ("fou_gre", 5556, b"\0\0\x08\0" + PACKET),
    ("vxlan_on_any_port", 50789, b"\x08\0\0\0\0\0\7\0" + FRAME),
    ("geneve_on_any_port", 50081, b"\0\0\x65\x58\0\0\7\0" + FRAME),
    ("tzsp", 37008, b"\1\0\0\1\x0a\1\7\1" + FRAME),
    ("capwap", 5247, b"\0\x10\2\0\0\0\0\0" + FRAME),
    ("ayiya", 5072, b"\x44\x52\x11\x29" + bytes(40) + ipv6(4, PACKET)),
    ("wireguard", 51820, b"\4\0\0\0" + bytes(60)),
)
# By their place in the target's list of link types.
ENVELOPES = (
    (24, "arcnet", b"\1\2\xd4\0\0\x09" + PACKET),
    (25, "arcnet_linux", b"\1\2\0\0\xd4\0\0\x09" + PACKET),
    (26, "ppi", b"\0\0\x08\0\1\0\0\0" + FRAME),
    (27, "erf", bytes(8) + b"\2\4" + struct.pack(">HHH", 18 + len(FRAME), 0, len(FRAME)) + bytes(2) + FRAME),
    (28, "ip_over_infiniband", bytes(40) + b"\x08\0\0\0" + PACKET),
    (29, "pktap", struct.pack("<III", 108, 1, 1) + bytes(96) + FRAME),
)


def frames(link: int, *contents: bytes) -> bytes:
    """An input of `decode_frame`: index of the link type, nothing cut off, frames behind their lengths."""
    return bytes([link, 0]) + b"".join(struct.pack("<H", len(content)) + content for content in contents)


def decode_frame() -> Seeds:
    """Every link type, tunnel and header that is decoded."""
    yield "ethernet", frames(0, FRAME)
    yield "handshake", frames(0, ethernet(0x0800, ipv4(6, tcp(2, b"", SYN_OPTIONS))))
    yield "sack", frames(0, ethernet(0x0800, ipv4(6, tcp(16, b"", TIMESTAMPS + SACK))))
    yield "vlan", frames(0, ethernet(0x8100, b"\0\x05\x08\0" + PACKET))
    yield "qinq", frames(0, ethernet(0x88A8, b"\0\x05\x81\0\0\x06\x08\0" + PACKET))
    yield "ipv6", frames(0, ethernet(0x86DD, ipv6(6, SEGMENT)))
    yield "ipv6_hop_by_hop", frames(0, ethernet(0x86DD, ipv6(0, b"\x06\0\x01\x04\0\0\0\0" + SEGMENT)))
    mirrored = FRAME[:60]
    yield "cut_in_vxlan", frames(0, ethernet(0x0800, ipv4(17, udp(4789, b"\x08\0\0\0\0\0\x0b\0" + mirrored))))
    yield "cut_in_erspan", frames(0, ethernet(0x0800, ipv4(47, b"\0\0\x88\xbe" + mirrored)))
    first, rest = SEGMENT[:24], SEGMENT[24:]
    yield "fragments", frames(0, *(ethernet(0x0800, p) for p in (ipv4(6, first, 0x2000), ipv4(6, rest, 3))))
    yield (
        "ipv6_fragments",
        frames(
            0,
            ethernet(0x86DD, ipv6(44, b"\x06\0\0\x01\0\0\0\x09" + first)),
            ethernet(0x86DD, ipv6(44, b"\x06\0\0\x18\0\0\0\x09" + rest)),
        ),
    )
    yield "ip_length_0", frames(0, ethernet(0x0800, PACKET[:2] + b"\0\0" + PACKET[4:]))
    yield "vxlan", frames(0, ethernet(0x0800, ipv4(17, udp(4789, b"\x08\0\0\0\0\0\x01\0" + FRAME))))
    yield "geneve", frames(0, ethernet(0x0800, ipv4(17, udp(6081, b"\0\0\x65\x58\0\0\x01\0" + FRAME))))
    yield "gre", frames(0, ethernet(0x0800, ipv4(47, b"\0\0\x08\0" + PACKET)))
    yield "gre_with_key", frames(0, ethernet(0x0800, ipv4(47, b"\x20\0\x08\0\0\0\0\x01" + PACKET)))
    yield "ip_in_ip", frames(0, ethernet(0x0800, ipv4(4, PACKET)))
    yield "mpls", frames(0, ethernet(0x8847, b"\0\x01\0\x40\0\x01\x11\x40" + PACKET))
    yield "pppoe", frames(0, ethernet(0x8864, b"\x11\0\0\x01\0\x46\0\x21" + PACKET))
    yield "null", frames(1, b"\x02\0\0\0" + PACKET)
    for number, name in ((5, "raw_bsd"), (9, "raw"), (19, "ipv4")):
        yield name, frames(number, PACKET)
    yield "ppp", frames(3, b"\xff\x03\0\x21" + PACKET)
    yield "loop", frames(12, b"\0\0\0\x02" + PACKET)
    yield "linux_sll", frames(13, bytes(14) + b"\x08\0" + PACKET)
    yield "linux_sll2", frames(21, b"\x08\0" + bytes(18) + PACKET)
    for name, kind, tag in TAGS:
        yield name, frames(0, ethernet(kind, tag))
    for name, port, payload in TUNNELS:
        yield name, frames(0, ethernet(0x0800, ipv4(17, udp(port, payload))))
    yield "etherip", frames(0, ethernet(0x0800, ipv4(97, b"\x30\0" + FRAME)))
    yield "l2tpv3", frames(0, ethernet(0x0800, ipv4(115, b"\0\0\0\x09" + bytes(4) + FRAME)))
    for number, name, content in ENVELOPES:
        yield name, frames(number, content)
    yield "cut_by_snap_length", b"\0\x20" + struct.pack("<H", len(FRAME)) + FRAME


# --- files ---


def pcap(
    magic: bytes = PCAP_MAGICS[0], contents: tuple[bytes, ...] = (FRAME, FRAME), times_s: tuple[float, ...] = ()
) -> bytes:
    """A pcap file of Ethernet frames, 1 s apart unless their times are given."""
    order = "<" if magic[0] in {0xD4, 0x4D} else ">"
    records = (
        struct.pack(f"{order}IIII", 1_700_000_000 + int(time_s), 5 + int(time_s % 1 * 1e6), len(frame), len(frame))
        + frame
        for time_s, frame in zip(times_s or range(len(contents)), contents, strict=True)
    )
    return magic + struct.pack(f"{order}HHIIII", 2, 4, 0, 0, 65535, 1) + b"".join(records)


def block(order: str, kind: int, body: bytes) -> bytes:
    """A pcapng block."""
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def pcapng(order: str = "<", resolution: int = 6) -> bytes:
    """A pcapng file with one block of each kind that is read."""
    option = struct.pack(f"{order}HHB3x", 9, 1, resolution) + bytes(4)
    lengths = struct.pack(f"{order}II", len(FRAME), len(FRAME))
    return b"".join(
        [
            block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)),
            block(order, 1, struct.pack(f"{order}HHI", 1, 0, 65535) + option),
            block(order, 6, struct.pack(f"{order}III", 0, 0x60000, 5) + lengths + FRAME),
            block(order, 3, struct.pack(f"{order}I", len(FRAME)) + FRAME),
            block(order, 2, struct.pack(f"{order}HHII", 0, 0, 0x60000, 6) + lengths + FRAME),
            block(order, 10, struct.pack(f"{order}II", 0x544C534B, 4) + b"none"),
            block(order, 4, struct.pack(f"{order}HH", 0, 0)),
            block(order, 5, struct.pack(f"{order}IIIHHQHHQ", 0, 0x60000, 7, 4, 8, 3, 7, 8, 2) + bytes(4)),
        ]
    )


def snoop() -> bytes:
    """A snoop file of one frame."""
    padded = FRAME + bytes(-len(FRAME) % 4)
    lengths = struct.pack(">IIIIII", len(FRAME), len(FRAME), 24 + len(padded), 0, 1_700_000_000, 5)
    return PCAP_MAGICS[4] + struct.pack(">II", 2, 4) + lengths + padded


def read_pcap() -> Seeds:
    """All magic numbers, and lengths that lie."""
    for number, magic in enumerate(PCAP_MAGICS[:4]):
        yield f"magic_{number}", bytes([number]) + pcap(magic)[4:]
    yield "snoop", b"\x04" + snoop()[8:]
    erf = struct.pack("<II", 0, 1_700_000_000) + b"\2\4" + struct.pack(">HHH", 18 + len(FRAME), 0, len(FRAME))
    yield "erf", b"\5" + 3 * (erf + bytes(2) + FRAME)
    whole = pcap()
    yield "no_records", b"\0" + whole[4:24]
    yield "record_of_length_0", b"\0" + whole[4:24] + bytes(16) + whole[24:]
    yield "length_beyond_everything", b"\0" + whole[4:32] + b"\xff\xff\xff\x7f" * 2 + whole[40:]
    yield "garbage_between_records", b"\0" + whole[4 : 40 + len(FRAME)] + b"\xa5" * 333 + whole[40 + len(FRAME) :]
    yield "cut_in_a_header", b"\0" + whole[4 : 48 + len(FRAME)]


def read_pcapng() -> Seeds:
    """Both byte orders, resolutions, several sections, a length that lies."""
    yield "little_endian", pcapng("<")[4:]
    yield "big_endian", pcapng(">")[4:]
    yield "nanoseconds", pcapng("<", 9)[4:]
    yield "binary_resolution", pcapng("<", 0x80 | 20)[4:]
    yield "two_sections_of_two_orders", (pcapng("<") + pcapng(">"))[4:]
    yield "trailer_differs", pcapng()[4:-4] + b"\x10\0\0\0"
    yield "block_of_unknown_type", pcapng()[4:] + block("<", 0x0BAD, b"what is this")
    yield "section_only", pcapng()[4:28]


def read_compressed() -> Seeds:
    """A capture packed in every way, whole and cut."""
    files = (
        gzip.compress(pcap(), mtime=0),
        pa.Codec("zstd").compress(pcap(), asbytes=True),
        lzma.compress(pcap()),
        pa.Codec("lz4").compress(pcap(), asbytes=True),
        bz2.compress(pcap(), 1),
    )
    for number, (name, packed) in enumerate(zip(("gzip", "zstd", "xz", "lz4", "bzip2"), files, strict=True)):
        rest = packed[len(COMPRESSIONS[number]) :]
        yield name, bytes([number]) + rest
        yield f"{name}_cut", bytes([number]) + rest[: len(rest) // 2]


def tcp_options() -> Seeds:
    """Areas of options, good and bad."""
    yield "syn", bytes([len(SYN_OPTIONS)]) + SYN_OPTIONS
    yield "sack", bytes([24]) + TIMESTAMPS + SACK
    yield "three_sack_blocks", bytes([40]) + TIMESTAMPS + b"\x01\x01\x05\x1a" + bytes(range(24))
    yield "length_0", b"\x08\x08\0\x01\x01\x01\x01\x01\x01"
    yield "length_beyond_the_area", b"\x04\x08\x0a\0\0"
    yield "cut_by_snap_length", b"\x14" + SYN_OPTIONS[:7]


def bpf_program() -> Seeds:
    """Filter programs in this machine's byte order, with a frame to run on."""

    def program(*instructions: tuple[int, int, int, int]) -> bytes:
        packed = b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)
        return bytes([len(instructions)]) + packed + FRAME

    accept, drop = (0x06, 0, 0, 262144), (0x06, 0, 0, 0)
    yield "all", program(accept)
    yield "tcp", program((0x28, 0, 0, 12), (0x15, 0, 3, 0x800), (0x30, 0, 0, 23), (0x15, 0, 1, 6), accept, drop)
    yield "index_by_header_length", program((0xB1, 0, 0, 14), (0x48, 0, 0, 16), (0x15, 0, 1, 443), accept, drop)
    yield "divide_by_x", program((0x80, 0, 0, 0), (0x07, 0, 0, 0), (0x3C, 0, 0, 0), (0x16, 0, 0, 0))
    yield "scratch_memory", program((0x20, 0, 0, 0), (0x02, 0, 0, 3), (0x61, 0, 0, 3), (0x87, 0, 0, 0), (0x16, 0, 0, 0))


def tls_stream() -> Seeds:
    """A real TLS 1.2 handshake with data, and a TLS 1.3 client hello, both made in memory without certificates."""
    client, server = _handshake_without_certificate()
    for name, size in (("large_segments", 255), ("small_segments", 40)):
        yield f"tls12_{name}", _both(client, server, size)
    yield "tls12_cut_and_swapped", _both(client, server, 99, dice=0x6D)
    hello = _client_hello(ssl.TLSVersion.TLSv1_3)
    yield "tls13_client_hello", _both(hello, b"", 255)
    alert = b"\x15\x03\x03\0\x02\x02\x28"
    yield "refused", _both(hello, alert, 255)
    yield "no_tls", _both(b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n", 255)
    connect = b"CONNECT a.example:443 HTTP/1.1\r\n\r\n"
    yield "through_a_proxy", _both(connect + client, b"HTTP/1.1 200 OK\r\n\r\n" + server, 255)


def certificate_names() -> Seeds:
    """A certificate with a common name and two alternative names, whole and cut."""
    pair = _der(0x30, _der(6, b"\x55\x04\x03") + _der(0x0C, b"cn.example"))
    subject = _der(0x30, _der(0x31, pair))
    names = _der(0x30, _der(0x82, b"*.s3.example") + _der(0x82, b"s3.example"))
    extension = _der(0x30, _der(6, b"\x55\x1d\x11") + _der(1, b"\xff") + _der(4, names))
    fields = (_der(0xA0, _der(2, b"\2")), _der(2, b"\1"), _der(0x30, b""), subject, _der(0x30, b""), subject)
    tbs = b"".join(fields) + _der(0x30, bytes(130)) + _der(0xA3, _der(0x30, extension))
    certificate = _der(0x30, _der(0x30, tbs) + _der(0x30, b"") + _der(3, bytes(65)))
    message = (len(certificate) + 3).to_bytes(3) + len(certificate).to_bytes(3) + certificate
    yield "names", message
    yield "cut", message[:-120]
    yield "indefinite_length", message[:6] + b"\x30\x80" + certificate[3:]
    yield "empty_list", bytes(3)


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    long = length.to_bytes(2) if length > 0xFF else length.to_bytes(1)
    return bytes([tag]) + (bytes([length]) if length < 0x80 else bytes([0x80 + len(long)]) + long) + content


def datagrams() -> Seeds:
    """Media, a test, a tunnel, a name and a QUIC handshake, each numbered where it has numbers."""

    def sent(choice: int, payloads: Sequence[bytes]) -> bytes:
        return b"".join(bytes((choice, 20, len(payload))) + payload for payload in payloads)

    numbers = (1, 2, 3, 5, 4, 9)
    yield "rtp", sent(5, [struct.pack("!BBHII", 0x80, 0, n, 160 * n, 7) + bytes(20) for n in numbers])
    yield "iperf3", sent(6, [struct.pack("!III", 9, 20_000 * n, n) + bytes(40) for n in numbers])
    yield "wireguard", sent(7, [struct.pack("<IIQ", 4, 7, n) + bytes(32) for n in numbers])
    yield "esp", sent(3, [struct.pack("!II", 4096, n) + bytes(32) for n in numbers])
    yield "quic", sent(2, [b"\xc3\0\0\0\1\4abcd\0" + bytes(40)])
    yield "dns", sent(0, [b"\0\7\1\0\0\1\0\0\0\0\0\0\2s3\0\0\1\0\1"])


def quic_datagrams() -> Seeds:
    """Headers of every kind, nothing sealed."""
    ids = b"\x08\x83\x94\xc8\xf0\x3e\x51\x57\x08" + b"\x08" + b"\xc1" * 8
    first, second = b"\0\0\0\1", b"\x6b\x33\x43\xcf"
    initial = b"\xc0" + first + ids + b"\0" + b"\x40\x40" + bytes(64)

    def sent(*payloads: bytes) -> bytes:
        return b"".join(bytes([at & 1]) + len(each).to_bytes(2) + each for at, each in enumerate(payloads))

    yield "initial", sent(initial, initial)
    yield "version_2", sent(b"\xd0" + second + ids + b"\0" + b"\x40\x40" + bytes(64))
    yield "retry", sent(initial, b"\xf0" + first + ids + bytes(40))
    yield "negotiation", sent(initial, b"\x80\0\0\0\0" + ids + first + second)
    yield "short", sent(initial, b"\xe0" + first + ids + b"\x40\x40" + bytes(64), b"\x61" + b"\xc1" * 40)


def http2_frames() -> Seeds:
    """Settings, data and credit in turns, and both ends of a connection."""

    def frame(kind: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3) + bytes([kind, 0]) + stream.to_bytes(4) + payload

    settings = frame(4, 0, b"\0\4\0\0\x40\0")
    yield (
        "settings",
        settings + frame(1, 1, b"x" * 26) + frame(0, 1, bytes(41)) + frame(8, 1, b"\0\0\x40\0" + bytes(37)),
    )
    yield "data", settings + frame(0, 1, bytes(16_000)) + frame(8, 0, b"\0\1\0\0")
    yield "pings", settings + frame(6, 0, bytes(8)) * 40
    yield (
        "goaway",
        frame(7, 0, bytes(4) + b"\0\0\0\x0b" + bytes(33)) + frame(3, 1, b"\0\0\0\x08") + frame(6, 0, bytes(8)),
    )


def dns_messages() -> Seeds:
    """A question, an answer with an alias and compression, and both behind their lengths."""
    question = b"\2s3\7example\0\0\1\0\1"
    query = b"\0\7\1\0\0\1\0\0\0\0\0\0" + question
    alias = b"\xc0\x0c\0\5\0\1\0\0\0\x3c\0\4\1r\xc0\x0f"
    address = b"\xc0\x2a\0\1\0\1\0\0\0\x3c\0\4\xc0\0\2\1"
    answer = b"\0\7\x81\x80\0\1\0\2\0\0\0\0" + question + alias + address
    yield "question", query
    yield "answer", answer
    yield "over_tcp", b"".join(len(message).to_bytes(2) + message for message in (query, answer, query, answer))
    yield "circle", answer[:-16] + b"\xc0\x2c"


def _both(client: bytes, server: bytes, size: int, dice: int = 0) -> bytes:
    total = len(client) + len(server)
    split = -(-256 * len(client) // total) if server else 255
    return bytes([min(split, 255), size, dice]) + client + server


def _client_hello(version: ssl.TLSVersion) -> bytes:
    context = ssl.create_default_context()
    context.minimum_version = version
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="a.example").do_handshake()
    return outgoing.read()


def _handshake_without_certificate() -> tuple[bytes, bytes]:
    """What both sides of an anonymous TLS 1.2 connection send."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = []
    for protocol, incoming, outgoing in (
        (ssl.PROTOCOL_TLS_CLIENT, to_client, to_server),
        (ssl.PROTOCOL_TLS_SERVER, to_server, to_client),
    ):
        context = ssl.SSLContext(protocol)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("aNULL:@SECLEVEL=0")
        sides.append(context.wrap_bio(incoming, outgoing, server_side=protocol == ssl.PROTOCOL_TLS_SERVER))
    client, server = sides
    sent: dict[bool, bytes] = {True: b"", False: b""}
    steps: list[tuple[bool, Callable[[], object]]] = [
        *[(bool(turn % 2 == 0), (client if turn % 2 == 0 else server).do_handshake) for turn in range(6)],
        (True, lambda: client.write(b"request")),
        (False, lambda: server.write(b"response" * 100)),
    ]
    for from_client, step in steps:
        with contextlib.suppress(ssl.SSLWantReadError):
            step()
        out = to_server if from_client else to_client
        data = out.read()
        out.write(data)
        sent[from_client] += data
    return sent[True], sent[False]


def fast_path() -> Seeds:
    """Openings and steps of packet soup: `core/tests/soup/talk.rs` says what the bytes decide."""
    runs = bytes([0, 0, 11, 0, 0, 16, 0, 0, 0, 12, 9])
    # Setting, then two bytes of the connection and two of its opening.
    for name, opening in (
        ("timestamps", bytes(5)),
        ("no_timestamps_and_no_sack", b"\0\x60\0\0\0"),
        ("wraps", b"\0\x02\0\0\0"),
        ("ipv6", b"\0\x04\0\0\0"),
        ("tls", b"\0\0\x02\0\0"),
        ("dns", b"\0\0\x03\0\0"),
        ("marks_of_congestion", b"\0\0\x0c\0\0"),
        ("from_mid_stream", b"\0\0\0\x05"),
        ("user_limit", b"\x07\0\0\0\0"),
    ):
        yield name, opening + runs * 12
    losses = bytes([0, 0, 11, 0, 0x80 + 27, 0, 19, 0, 22, 0])
    yield "lost_and_repaired", bytes(5) + losses * 12
    for step, name in (
        (26, "sent_again"),
        (27, "overtaken"),
        (29, "captured_twice"),
        (31, "keep_alive"),
        (32, "closed_window"),
        (34, "lost_before_the_capture"),
        (35, "closed"),
        (38, "clock_set"),
        (41, "reset"),
        (42, "ports_used_again"),
        (43, "odd"),
    ):
        yield name, bytes(5) + (runs * 2 + bytes([0, step, 2])) * 8
    yield "offload", bytes(5) + bytes([0, 0, 11, 0x7F, 0]) * 12
    yield "two_connections", bytes([0x60]) + bytes(8) + bytes([0, 0, 0, 11, 0, 0, 1, 0, 0, 11, 0, 0]) * 12


def transfer() -> tuple[bytes, ...]:
    """Ten segments of port 40000, each acknowledged by port 443."""

    def frame(forth: bool, sequence: int, acknowledged: int, payload: bytes) -> bytes:
        ports, ends = ((40000, 443), (1, 2)) if forth else ((443, 40000), (2, 1))
        segment = struct.pack(">HHIIBBHHH", *ports, sequence, acknowledged, 5 << 4, 0x10, 502, 0, 0) + payload
        addresses = bytes([10, 0, 0, ends[0], 10, 0, 0, ends[1]])
        number = sequence if forth else acknowledged
        return ethernet(
            0x0800, struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(segment), number, 0, 64, 6, 0) + addresses + segment
        )

    pairs = ((frame(True, n * 9, 5, b"some data"), frame(False, 5, n * 9 + 9, b"")) for n in range(1, 11))
    return tuple(one for pair in pairs for one in pair)


def whole_analysis() -> Seeds:
    """Whole files, the samples among them."""
    yield "pcap", pcap()
    frames_ = transfer()
    times_s = tuple(n / 100 for n in range(len(frames_)))
    late = tuple(time_s + n % 3 * 0.02 for n, time_s in enumerate(times_s))
    yield "stored_out_of_order", pcap(contents=frames_, times_s=late)
    yield "clock_set_back", pcap(contents=frames_, times_s=tuple(t - 0.08 * (n > 9) for n, t in enumerate(times_s)))
    for name, ahead_s in (("ahead", 5.0), ("behind", -0.4), ("hours_ahead", 7200.0)):
        both = sorted(
            [
                *zip(times_s, frames_, strict=True),
                *((t + ahead_s, one) for t, one in zip(times_s, frames_, strict=True)),
            ]
        )
        yield (
            f"second_point_{name}",
            pcap(contents=tuple(one for _, one in both), times_s=tuple(t + 1 for t, _ in both)),
        )
    yield "points_one_behind_the_other", pcap(contents=frames_ * 2, times_s=times_s + times_s)
    yield "one_direction", pcap(contents=frames_[::2])
    yield "pcapng", pcapng()
    yield "snoop", snoop()
    yield "gzip", gzip.compress(pcap(), mtime=0)


def soup_analysis() -> Seeds:
    """The same behind a byte that decides on the snap length, and the strange steps of `core/tests/soup/strange.rs`."""
    for name, seed in fast_path():
        yield name, b"\1" + seed
    run = bytes([0, 0, 11, 0, 0])
    for number, name in enumerate(("joined_again", "syn_acks", "reset_not_taken", "one_side", "unanswered")):
        step = bytes([0, 43, 8, number, 7, 90, 3, 7, 9])
        yield name, b"\1" + bytes(5) + run + step + run + step + run


TARGETS: dict[str, Callable[[], Seeds]] = {
    function.__name__: function
    for function in (
        read_pcap,
        read_pcapng,
        read_compressed,
        decode_frame,
        tcp_options,
        bpf_program,
        tls_stream,
        certificate_names,
        dns_messages,
        datagrams,
        quic_datagrams,
        http2_frames,
        fast_path,
        soup_analysis,
        whole_analysis,
    )
}


def of_samples(samples: Path) -> Iterator[tuple[str, str, bytes]]:
    """Target, name and bytes of each seed that a sample gives."""
    for path in sorted(samples.glob("*.pcap*")):
        data = path.read_bytes()[:LARGEST_BYTES]
        yield "whole_analysis", path.name, data
        for number, magic in enumerate(PCAP_MAGICS):
            if data.startswith(magic):
                yield "read_pcap", path.name, bytes([number]) + data[len(magic) :]
        if data.startswith(SECTION):
            yield "read_pcapng", path.name, data[len(SECTION) :]
        for number, magic in enumerate(COMPRESSIONS):
            if data.startswith(magic):
                yield "read_compressed", path.name, bytes([number]) + data[len(magic) :]


def write(folder: Path, samples: Path) -> int:
    """Writes all seeds below `folder` and gives their number."""
    seeds = [(target, name, data) for target, make in TARGETS.items() for name, data in make()]
    seeds += of_samples(samples)
    for target, name, data in seeds:
        path = folder / target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data[:LARGEST_BYTES])
    return len(seeds)


if __name__ == "__main__":
    print(f"fuzz seeds: {write(Path(sys.argv[1]), ROOT / 'samples')}")
