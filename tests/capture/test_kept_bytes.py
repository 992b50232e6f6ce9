"""How much of which packet is kept; the program is run here as the kernel runs it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether
from scapy.packet import Packet, Raw

from tests.capture.bpf_machine import kept
from vmtrace.capture import kept_bytes

ETHERNET, RAW, COOKED, COOKED_2 = 1, 12, 113, 276
WHOLE = kept_bytes.WHOLE_PACKET_BYTES
# Without addresses scapy would ask the network for them.
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02")
LINK = Ether(src=MACS[0], dst=MACS[1])
FOUR = IP(src="198.18.0.1", dst="198.18.0.2")
SIX = IPv6(src="fd00::1", dst="fd00::2")
TEXT = b"GET /secret HTTP/1.1\r\nAuthorization: Basic c2VjcmV0\r\n" * 4


def record(kind: int, version: int = 0x0303, length: int = 200) -> bytes:
    return struct.pack("!BHH", kind, version, length) + bytes(length)


def ethernet(packet: Packet) -> int:
    return kept(kept_bytes.headers_and_handshakes(ETHERNET), bytes(packet))


@pytest.mark.parametrize("network", [FOUR, SIX], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize(
    "link", [LINK, LINK / Dot1Q(vlan=5), LINK / Dot1AD(vlan=6) / Dot1Q(vlan=5)], ids=["plain", "VLAN", "QinQ"]
)
@pytest.mark.parametrize("options", [[], [("Timestamp", (1, 2))], [("SAck", (1, 2, 3, 4, 5, 6))]])
def test_of_tcp_all_headers_and_16_bytes_are_kept(network: Packet, link: Packet, options: list[object]) -> None:
    headers = link / network / TCP(options=options)
    assert ethernet(headers / Raw(TEXT)) == len(headers) + 16


@pytest.mark.parametrize(
    "network", [FOUR, SIX, IP(src="198.18.0.1", dst="198.18.0.2", options=[b"\x07\x07\x04\x00\x00\x00\x00\x00"])]
)
@pytest.mark.parametrize("kind", [20, 21, 22], ids=["change_cipher_spec", "alert", "handshake"])
@pytest.mark.parametrize("version", [0x0300, 0x0301, 0x0303, 0x0304])
def test_a_segment_that_begins_a_handshake_record_is_kept_whole(network: Packet, kind: int, version: int) -> None:
    assert ethernet(LINK / network / TCP() / Raw(record(kind, version))) == WHOLE
    assert ethernet(LINK / Dot1Q(vlan=5) / network / TCP() / Raw(record(kind, version))) == WHOLE


@pytest.mark.parametrize(
    "payload",
    [
        record(23),
        record(19),
        record(22, 0x0305),
        record(22, 0x02FF),
        record(22, length=0) + TEXT,
        struct.pack("!BHH", 22, 0x0303, 20_000) + TEXT,
        TEXT,
        b"\x16\x03\x03\x00",
        b"\x16",
        b"",
    ],
)
def test_other_payload_is_not_kept(payload: bytes) -> None:
    headers = LINK / FOUR / TCP()
    assert ethernet(headers / Raw(payload)) == len(headers) + 16


@pytest.mark.parametrize("network", [FOUR, SIX])
def test_of_udp_all_headers_and_64_bytes_are_kept_but_of_tunnels_all_headers(network: Packet) -> None:
    headers = LINK / network / UDP(sport=5353, dport=5354)
    assert ethernet(headers / Raw(TEXT)) == len(headers) + 64
    for port in (4789, 8472, 6081):
        assert ethernet(LINK / network / UDP(sport=40000, dport=port) / Raw(TEXT)) == 192


@pytest.mark.parametrize("network", [FOUR, SIX])
@pytest.mark.parametrize(
    ("payload", "is_whole"),
    [
        (b"\xc3\x00\x00\x00\x01" + bytes(1200), True),
        (b"\xd3\x6b\x33\x43\xcf" + bytes(1200), True),
        (b"\x80\x00\x00\x00\x00" + bytes(1200), True),
        (b"\x43\x00\x00\x00\x01" + bytes(1200), False),
        (b"\xc3\x00\x00\x00\x02" + bytes(1200), False),
        (b"\xc3\x00\x00\x00", False),
    ],
)
def test_of_quic_long_headers_are_kept_whole(network: Packet, payload: bytes, is_whole: bool) -> None:
    headers = LINK / network / UDP(sport=40000, dport=443)
    assert ethernet(headers / Raw(payload)) == (WHOLE if is_whole else len(headers) + 64)


@pytest.mark.parametrize("network", [FOUR, SIX])
@pytest.mark.parametrize("transport", [UDP(sport=40000, dport=53), UDP(sport=53, dport=40000)])
def test_name_lookups_are_kept_whole(network: Packet, transport: Packet) -> None:
    assert ethernet(LINK / network / transport / Raw(TEXT)) == kept_bytes.WHOLE_PACKET_BYTES


def test_192_bytes_are_enough_for_tcp_with_all_options_in_vxlan_over_ipv6() -> None:
    inner = LINK / SIX / TCP(options=[("Timestamp", (1, 2)), ("SAck", (1, 2, 3, 4, 5, 6)), ("NOP", None)])
    assert len(LINK / SIX / UDP() / Raw(bytes(8)) / inner) <= kept_bytes.TUNNEL_HEADERS_BYTES


@pytest.mark.parametrize(
    "packet",
    [
        LINK / ARP(hwsrc=MACS[0], psrc="198.18.0.1"),
        LINK / FOUR / ICMP() / Raw(TEXT),
        LINK / IP(src="198.18.0.1", dst="198.18.0.2", frag=100, proto=6) / Raw(TEXT),
        LINK / IP(src="198.18.0.1", dst="198.18.0.2", proto=47) / Raw(TEXT),
        LINK / SIX / IPv6ExtHdrFragment() / Raw(TEXT),
        Ether(src=MACS[0], dst=MACS[1], type=0x8847) / Raw(TEXT),
        LINK / Dot1Q() / Dot1Q() / Dot1Q() / FOUR / TCP(),
    ],
)
def test_what_is_neither_tcp_nor_udp_keeps_room_for_a_tunnel(packet: Packet) -> None:
    assert ethernet(packet) == 192


@pytest.mark.parametrize("link_type", [RAW, COOKED, COOKED_2])
def test_without_a_link_header_the_kernel_begins_at_the_network_header(link_type: int) -> None:
    program = kept_bytes.headers_and_handshakes(link_type)
    for network, ethertype in ((FOUR, 0x0800), (SIX, 0x86DD)):
        headers = network / TCP()
        assert kept(program, bytes(headers / Raw(TEXT)), ethertype) == len(headers) + 16
        assert kept(program, bytes(headers / Raw(record(22))), ethertype) == WHOLE
    assert kept(program, bytes(FOUR / TCP() / Raw(TEXT)), 0x0806) == 192


@given(packet=st.binary(max_size=200), link_type=st.sampled_from([ETHERNET, RAW, COOKED_2]))
def test_no_packet_is_rejected_whatever_is_in_it(packet: bytes, link_type: int) -> None:
    for ethertype in (0x0800, 0x86DD):
        assert kept(kept_bytes.headers_and_handshakes(link_type), packet, ethertype) > 0


@given(cut=st.integers(0, 200), network=st.sampled_from([FOUR, SIX]), kind=st.sampled_from([UDP(), TCP()]))
def test_no_packet_is_rejected_wherever_it_ends(cut: int, network: Packet, kind: Packet) -> None:
    packet = bytes(LINK / network / kind / Raw(record(22)))[:cut]
    assert kept(kept_bytes.headers_and_handshakes(ETHERNET), packet) > 0


def test_an_unknown_link_type_is_refused() -> None:
    with pytest.raises(ValueError, match="link type 127"):
        kept_bytes.headers_and_handshakes(127)
