"""Filters with a memory, run by the kernel itself: on datagrams between Unix sockets, which it cuts in the same way."""

from __future__ import annotations

import platform
import re
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

from vmtrace.capture import bpf, ebpf, kept_bytes
from vmtrace.capture.bpf import Instruction, ProgramError

LINK = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
FOUR = IP(src="198.18.0.1", dst="198.18.0.2")
SIX = IPv6(src="fd00::1", dst="fd00::2")
HELLO = b"\x16\x03\x03\x40\x00" + bytes(1443)
CERTIFICATES = bytes(range(1, 256)) * 6


class KernelFilter:
    """A program in the kernel: `kept` is how many bytes of a packet it keeps."""

    def __init__(self, program: Sequence[Instruction], *, extended: bool) -> None:
        self._sender, self._receiver = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._receiver.setblocking(False)
        (ebpf if extended else bpf).attach(self._receiver.fileno(), program)

    def kept(self, packet: bytes) -> int:
        self._sender.send(packet)
        try:
            return len(self._receiver.recv(1 << 18))
        except BlockingIOError:
            return 0

    def close(self) -> None:
        self._sender.close()
        self._receiver.close()


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def payload_kept(memory: KernelFilter, headers: Packet, payload: bytes) -> int:
    packet = bytes(headers / Raw(payload))
    return memory.kept(packet) - (len(packet) - len(payload))


@pytest.fixture(scope="module")
def may_remember() -> None:
    try:
        KernelFilter([Instruction(0x06, 0, 0, 1)], extended=True).close()
    except ebpf.UnavailableError as error:
        pytest.skip(f"this kernel or user has no filters with a memory: {error}")


@pytest.fixture
def memory(may_remember: None) -> Iterator[KernelFilter]:
    running = KernelFilter(kept_bytes.headers_and_handshakes(1, remember=True), extended=True)
    yield running
    running.close()


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("link", [LINK, LINK / Dot1Q(vlan=5)], ids=["plain", "VLAN"])
@pytest.mark.parametrize("network", [FOUR, SIX], ids=["IPv4", "IPv6"])
def test_segments_behind_the_beginning_of_a_handshake_are_kept(
    memory: KernelFilter, network: Packet, link: Packet
) -> None:
    def headers(sequence: int, port: int = 443) -> Packet:
        return link / network / TCP(sport=port, dport=40_000, seq=sequence)

    assert payload_kept(memory, headers(2000), CERTIFICATES) == 16  # nothing is remembered yet
    assert payload_kept(memory, headers(1000), HELLO) == len(HELLO)
    assert payload_kept(memory, headers(2448), CERTIFICATES) == len(CERTIFICATES)
    assert payload_kept(memory, headers(3978), CERTIFICATES) == len(CERTIFICATES)
    assert payload_kept(memory, headers(3978, port=444), CERTIFICATES) == 16
    other_way = link / network / TCP(sport=40_000, dport=443, seq=3978)
    assert payload_kept(memory, other_way, CERTIFICATES) == 16


@pytest.mark.root
@pytest.mark.untimed
def test_what_is_kept_ends_16_kib_behind_the_beginning_however_large_a_packet_is(memory: KernelFilter) -> None:
    limit = ebpf.HANDSHAKE_BYTES

    def at(distance: int) -> Packet:
        return LINK / FOUR / TCP(sport=443, dport=40_000, seq=10_000 + distance)

    assert payload_kept(memory, at(0), HELLO) == len(HELLO)

    assert payload_kept(memory, at(limit - 100), CERTIFICATES) == 100 + 16
    assert payload_kept(memory, at(1448), b"x" * 50_000) == limit - 1448 + 16
    assert payload_kept(memory, at(limit - 1), CERTIFICATES) == 1 + 16
    assert payload_kept(memory, at(limit), CERTIFICATES) == 16
    assert payload_kept(memory, at(-1500), CERTIFICATES) == 16


@pytest.mark.root
@pytest.mark.untimed
def test_sequence_numbers_may_wrap_and_a_later_handshake_begins_anew(memory: KernelFilter) -> None:
    def at(sequence: int) -> Packet:
        return LINK / SIX / TCP(sport=443, dport=40_000, seq=sequence % (1 << 32))

    assert payload_kept(memory, at(-500), HELLO) == len(HELLO)
    assert payload_kept(memory, at(948), CERTIFICATES) == len(CERTIFICATES)
    assert payload_kept(memory, at(1 << 30), HELLO) == len(HELLO)
    assert payload_kept(memory, at(948), CERTIFICATES) == 16
    assert payload_kept(memory, at((1 << 30) + 1448), CERTIFICATES) == len(CERTIFICATES)


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("kind", [20, 21])
def test_an_alert_or_change_of_cipher_begins_no_handshake(memory: KernelFilter, kind: int) -> None:
    record = struct.pack("!BHH", kind, 0x0303, 2) + bytes(2)
    assert payload_kept(memory, LINK / FOUR / TCP(seq=1), record + bytes(500)) == len(record) + 500
    assert payload_kept(memory, LINK / FOUR / TCP(seq=508), CERTIFICATES) == 16


@pytest.mark.root
@pytest.mark.untimed
def test_all_else_is_kept_as_without_a_memory(memory: KernelFilter) -> None:
    for packet, bytes_kept in (
        (LINK / FOUR / TCP() / Raw(b"GET / HTTP/1.1\r\n" * 9), 14 + 20 + 20 + 16),
        (LINK / SIX / UDP(sport=40000, dport=40001) / Raw(bytes(100)), 14 + 40 + 8 + 64),
        (Ether(src=LINK.src, dst=LINK.dst, type=0x8847) / Raw(bytes(500)), 192),
    ):
        assert memory.kept(bytes(packet)) == bytes_kept


def compiled(expression: str) -> list[Instruction]:
    """What libpcap makes of a filter."""
    words = ["tcpdump", "-ddd", "-y", "EN10MB", expression]
    lines = subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()
    return [Instruction(*map(int, line.split())) for line in lines[1:]]


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_remember")
@pytest.mark.parametrize(
    "expression",
    [
        "tcp and host 198.18.0.1 and port 5810 and not port 40000",
        "tcp port 443 or (ip6 and udp)",
        "tcp[13] & 2 != 0",
        "tcp[(tcp[12] >> 4) * 4 : 4] = 0x47455420",
        "ip[2:2] - (ip[0] & 15) * 4 > 100 and len < 900",
        "ip6[40] / 3 = 2 or ip[9] % 5 = 1 or ether[6] | 1 = 3",
        "port 40000 and (ip[8] ^ 0x40 != 0 or ip6)",
    ],
)
def test_a_translated_filter_decides_as_the_classic_one(expression: str) -> None:
    if shutil.which("tcpdump") is None:
        pytest.skip("needs tcpdump")
    program = compiled(expression)
    filters = [KernelFilter(program, extended=extended) for extended in (False, True)]
    packets = [
        bytes(LINK / network / transport / Raw(payload))
        for network in (FOUR, SIX, IP(src="198.18.0.1", dst="198.18.0.9", ttl=3, options=[b"\x01\x01\x01\x01"]))
        for transport in (TCP(sport=5810, dport=443, flags="S"), TCP(sport=5810, dport=40_000), UDP(dport=40_000))
        for payload in (b"", b"GET / HTTP/1.1", bytes(1000))
    ]
    for packet in packets + [packets[1][:length] for length in range(60)]:
        classic, extended = (each.kept(packet) for each in filters)
        assert classic == extended
    for each in filters:
        each.close()


_REGISTER_ONLY = st.sampled_from([0x0C, 0x1C, 0x2C, 0x3C, 0x4C, 0x5C, 0x9C, 0xAC, 0x84, 0x07, 0x87])
_WITH_CONSTANT = st.tuples(
    st.sampled_from([0x00, 0x01, 0x04, 0x14, 0x24, 0x44, 0x54, 0xA4]), st.integers(0, 0xFFFFFFFF)
)
_STEPS = st.one_of(
    _REGISTER_ONLY.map(lambda code: Instruction(code, 0, 0, 0)),
    _WITH_CONSTANT.map(lambda both: Instruction(both[0], 0, 0, both[1])),
    st.tuples(st.sampled_from([0x34, 0x94]), st.integers(1, 0xFFFFFFFF)).map(lambda b: Instruction(b[0], 0, 0, b[1])),
    st.tuples(st.sampled_from([0x64, 0x74]), st.integers(0, 31)).map(lambda b: Instruction(b[0], 0, 0, b[1])),
    st.tuples(st.sampled_from([0x20, 0x28, 0x30, 0xB1]), st.integers(0, 40)).map(
        lambda b: Instruction(b[0], 0, 0, b[1])
    ),
    st.sampled_from([0x80, 0x81]).map(lambda code: Instruction(code, 0, 0, 0)),
    st.tuples(st.sampled_from([0x15, 0x25, 0x35, 0x45, 0x1D, 0x2D, 0x3D, 0x4D]), st.integers(0, 0xFFFFFFFF)).map(
        lambda b: Instruction(b[0], 1, 0, b[1])
    ),
)


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_remember")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEPS, max_size=25), packet=st.binary(min_size=1, max_size=80))
def test_any_program_gives_the_same_number(steps: list[Instruction], packet: bytes) -> None:
    """Ends with the lowest 6 bits of A, and 1 more than nothing."""
    ending = [(0x54, 63), (0x04, 1)]
    program = [*steps, Instruction(0x87, 0, 0, 0) if len(steps) % 2 else Instruction(0x04, 0, 0, 0)]
    program += [Instruction(code, 0, 0, constant) for code, constant in ending] + [Instruction(0x16, 0, 0, 0)]
    filters = [KernelFilter(program, extended=extended) for extended in (False, True)]
    try:
        assert filters[0].kept(packet) == filters[1].kept(packet)
    finally:
        for each in filters:
            each.close()


@pytest.mark.parametrize(
    ("instruction", "said"),
    [
        (Instruction(0x20, 0, 0, 0xFFFFF000 + 20), "asks the kernel for 20"),
        (Instruction(0xFF, 0, 0, 0), "has the instruction 0xff"),
    ],
)
def test_what_has_no_translation_is_reported_before_anything_is_made(instruction: Instruction, said: str) -> None:
    before = open_files()
    with pytest.raises(ProgramError, match=re.escape(said)):
        ebpf.attach(0, [instruction, Instruction(0x06, 0, 0, 1)])
    assert open_files() == before


def test_on_a_machine_whose_system_call_is_not_known_there_is_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(ebpf.UnavailableError, match="not known on vax"):
        ebpf.attach(0, [Instruction(0x06, 0, 0, 1)])


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_remember")
def test_nothing_is_left_open(memory: KernelFilter) -> None:
    before = open_files()
    filter_ = KernelFilter(kept_bytes.headers_and_handshakes(1, remember=True), extended=True)
    filter_.close()
    with Path("/dev/null").open() as no_socket, pytest.raises(ebpf.UnavailableError, match="filter of the socket"):
        ebpf.attach(no_socket.fileno(), [Instruction(0x06, 0, 0, 1)])
    assert open_files() == before
