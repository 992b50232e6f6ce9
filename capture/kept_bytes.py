"""How many bytes of each packet are kept when nobody asked for a snap length: its headers, and complete TLS handshakes.

The kernel decides it, with the BPF program that is made here, so that payload is never copied:

* TCP: all headers as long as they are, and 16 bytes of payload: the header of a TLS record, and enough to tell what a
  connection that was open before the capture carries. A segment whose payload begins with a TLS record of the type
  handshake, alert or change_cipher_spec is kept whole.
* UDP: headers and 64 bytes, in which numbers of media, tests and tunnels stand; DNS (port 53) whole, because its
  answers name the servers of what follows; QUIC's long headers whole: its handshake; to the ports of VXLAN and GENEVE
  as below.
* All else (ICMP, ARP, IP in IP, GRE, fragments, IPv6 with extension headers): 192 bytes, which is room for a tunnel:
  Ethernet 14 + IPv6 40 + UDP 8 + VXLAN 8 + Ethernet 14 + IPv6 40 + TCP with all options 60 = 184.

A handshake often goes on in a further segment (a certificate chain longer than the MTU, or, with offload, longer than
what the server writes at once: 4096 bytes for OpenSSL), which looks like any other. With `remember`, what follows such
a record in its direction is kept, too, up to 16 KiB behind it; that takes a filter with a memory (`ebpf`). Without, the
segment is cut.

A packet of Ethernet may have VLAN tags inside (`any` and most cards hand them over beside the packet). The loads are
guarded as `bpf` explains: a short or strange packet is kept, never rejected.
"""

from __future__ import annotations

from vmtrace.capture import ebpf
from vmtrace.capture.bpf import (
    ADD,
    ADD_X,
    AND,
    IF_AT_LEAST,
    IF_AT_LEAST_X,
    IF_BITS,
    IF_EQUAL,
    IF_GREATER,
    INTERFACE_INDEX,
    JUMP,
    LOAD_BYTE_AT_X,
    LOAD_HALF,
    LOAD_HALF_AT_X,
    LOAD_LENGTH,
    LOAD_WORD,
    LOAD_WORD_AT_X,
    LOAD_X,
    LOAD_X_MEMORY,
    PACKET_OUTGOING,
    PACKET_TYPE,
    PROTOCOL,
    RETURN,
    RETURN_A,
    SHIFT_LEFT,
    SHIFT_RIGHT,
    STORE,
    SUBTRACT_X,
    TO_A,
    TO_X,
    Assembler,
    Instruction,
)

WHOLE_PACKET_BYTES = 262_144  # libpcap's largest snap length
TUNNEL_HEADERS_BYTES = 192
PAYLOAD_BYTES = 16
DATAGRAM_BYTES = 64

_TCP, _UDP = 6, 17
_IPV4, _IPV6, _VLAN, _SERVICE_VLAN = 0x0800, 0x86DD, 0x8100, 0x88A8
_DNS_PORT = 53
_QUIC_VERSIONS = (0, 1, 0x6B3343CF)  # negotiation, RFC 9000, RFC 9369
_TUNNEL_PORTS = (4789, 8472, 6081)  # VXLAN, VXLAN as Linux first had it, GENEVE
_CHANGE_CIPHER_SPEC, _HANDSHAKE = 20, 22  # RFC 8446, 5.1; alert is 21
_SSL3, _TLS13 = 0x0300, 0x0304
_LONGEST_RECORD_BYTES = 16_384 + 2048  # RFC 5246, 6.2.3
_RECORD_HEADER_BYTES = 5
_DLT_ETHERNET, _DLT_RAW, _DLT_COOKED, _DLT_COOKED_2 = 1, 12, 113, 276
KNOWN_LINK_TYPES = frozenset({_DLT_ETHERNET, _DLT_RAW, _DLT_COOKED, _DLT_COOKED_2})


def headers_and_handshakes(link_type: int, *, remember: bool = False) -> list[Instruction]:
    """The program for a live capture of one of `KNOWN_LINK_TYPES`: returns the number of bytes to keep, never 0.

    With `remember` it has instructions that `ebpf` alone understands.
    """
    program = Assembler()
    if link_type == _DLT_ETHERNET:
        _ethernet(program)
    elif link_type in KNOWN_LINK_TYPES:
        # The kernel's packet begins with the network header; libpcap puts the cooked header before it afterwards.
        program.add(LOAD_X, 0)
        program.add(LOAD_WORD, PROTOCOL)
        program.add(IF_EQUAL, _IPV4, if_true="ipv4")
        program.add(IF_EQUAL, _IPV6, "ipv6", "other")
    else:
        raise ValueError(f"link type {link_type} is not known")
    _network(program, remember)
    _transport(program, remember)
    return program.assemble()


def plain(snaplen: int) -> list[Instruction]:
    """The first `snaplen` bytes of every packet."""
    return [Instruction(RETURN, 0, 0, snaplen)]


def only_incoming() -> list[Instruction]:
    """Rejects what this host sends. On loopback each packet is seen twice, and this is the copy that is kept."""
    program = Assembler()
    program.add(LOAD_WORD, PACKET_TYPE)
    program.add(IF_EQUAL, PACKET_OUTGOING, "reject", "accept")
    return _verdict(program)


def only_outgoing() -> list[Instruction]:
    """Rejects what this host receives."""
    program = Assembler()
    program.add(LOAD_WORD, PACKET_TYPE)
    program.add(IF_EQUAL, PACKET_OUTGOING, "accept", "reject")
    return _verdict(program)


def each_once(loopback_index: int) -> list[Instruction]:
    """On `any`: rejects the outgoing copy of what passes loopback."""
    program = Assembler()
    program.add(LOAD_WORD, PACKET_TYPE)
    program.add(IF_EQUAL, PACKET_OUTGOING, if_false="accept")
    program.add(LOAD_WORD, INTERFACE_INDEX)
    program.add(IF_EQUAL, loopback_index, "reject", "accept")
    return _verdict(program)


def _verdict(program: Assembler) -> list[Instruction]:
    program.label("reject")
    program.add(RETURN, 0)
    program.label("accept")
    program.add(RETURN, WHOLE_PACKET_BYTES)
    return program.assemble()


def _ethernet(program: Assembler) -> None:
    """Leaves the offset of the network header in X, behind up to two VLAN tags."""
    for tags in range(3):
        header_bytes = 14 + 4 * tags
        program.label(f"tags{tags}")
        program.add(LOAD_LENGTH)
        program.add(IF_AT_LEAST, header_bytes, if_false="other")
        program.add(LOAD_X, header_bytes)
        program.add(LOAD_HALF, header_bytes - 2)
        program.add(IF_EQUAL, _IPV4, if_true="ipv4")
        program.add(IF_EQUAL, _IPV6, if_true="ipv6")
        if tags < 2:
            program.add(IF_EQUAL, _VLAN, if_true=f"tags{tags + 1}")
            program.add(IF_EQUAL, _SERVICE_VLAN, f"tags{tags + 1}", "other")
        else:
            program.add(JUMP, if_true="other")


def _network(program: Assembler, remember: bool) -> None:
    """IPv4 and IPv6: leaves the offset of the transport header in X."""
    program.label("ipv4")
    _need(program, 20, "other")
    program.add(LOAD_HALF_AT_X, 6)
    program.add(IF_BITS, 0x1FFF, if_true="other")  # a later fragment has no transport header
    if remember:
        _addresses(program, 12, 16)
    program.add(LOAD_BYTE_AT_X, 0)
    program.add(AND, 0x0F)
    program.add(SHIFT_LEFT, 2)
    program.add(ADD_X)
    program.add(STORE, 1)
    program.add(LOAD_BYTE_AT_X, 9)
    program.add(LOAD_X_MEMORY, 1)
    program.add(IF_EQUAL, _TCP, if_true="tcp")
    program.add(IF_EQUAL, _UDP, "udp", "other")
    program.label("ipv6")
    _need(program, 40, "other")
    if remember:
        # Their ends: two hosts that have these in common, and ports, cost some bytes more, nothing else.
        _addresses(program, 20, 36)
    program.add(TO_A)
    program.add(ADD, 40)
    program.add(STORE, 1)
    program.add(LOAD_BYTE_AT_X, 6)
    program.add(LOAD_X_MEMORY, 1)
    program.add(IF_EQUAL, _TCP, if_true="tcp")
    program.add(IF_EQUAL, _UDP, "udp", "other")


def _addresses(program: Assembler, source: int, destination: int) -> None:
    for offset, word in ((source, ebpf.SOURCE), (destination, ebpf.DESTINATION)):
        program.add(LOAD_WORD_AT_X, offset)
        program.add(STORE, word)


def _transport(program: Assembler, remember: bool) -> None:
    program.label("udp")
    _need(program, 8, "other")
    program.add(LOAD_HALF_AT_X, 0)
    program.add(IF_EQUAL, _DNS_PORT, if_true="dns")
    program.add(LOAD_HALF_AT_X, 2)
    program.add(IF_EQUAL, _DNS_PORT, if_true="dns")
    for port in _TUNNEL_PORTS:
        program.add(IF_EQUAL, port, if_true="other")
    _long_header(program)
    program.label("datagram")
    program.add(TO_A)
    program.add(ADD, 8 + DATAGRAM_BYTES)
    program.add(RETURN_A)
    program.label("dns")
    program.add(RETURN, WHOLE_PACKET_BYTES)
    program.label("tcp")
    _need(program, 20, "other")
    if remember:
        for offset, word in ((0, ebpf.PORTS), (4, ebpf.SEQUENCE)):
            program.add(LOAD_WORD_AT_X, offset)
            program.add(STORE, word)
    program.add(LOAD_BYTE_AT_X, 12)
    program.add(AND, 0xF0)
    program.add(SHIFT_RIGHT, 2)
    program.add(ADD_X)
    program.add(TO_X)
    _need(program, _RECORD_HEADER_BYTES, "headers")
    _tls_record(program, remember)
    program.label("no record")
    if remember:
        _need(program, PAYLOAD_BYTES + 1, "headers")
        program.add(ebpf.RECALL)
    program.label("headers")
    program.add(TO_A)
    program.add(ADD, PAYLOAD_BYTES)
    program.add(RETURN_A)
    program.label("other")
    program.add(RETURN, TUNNEL_HEADERS_BYTES)


def _long_header(program: Assembler) -> None:
    """Keeps the datagram whole if its payload begins with a long header of QUIC (RFC 8999)."""
    _need(program, 8 + 5, "datagram")
    program.add(LOAD_BYTE_AT_X, 8)
    program.add(IF_BITS, 0x80, if_false="datagram")
    program.add(LOAD_WORD_AT_X, 9)
    for version in _QUIC_VERSIONS:
        program.add(IF_EQUAL, version, if_true="dns")


def _tls_record(program: Assembler, remember: bool) -> None:
    """Keeps the packet whole if the payload at X begins with a record of a handshake."""
    program.add(LOAD_BYTE_AT_X, 0)
    program.add(IF_AT_LEAST, _CHANGE_CIPHER_SPEC, if_false="no record")
    program.add(IF_GREATER, _HANDSHAKE, if_true="no record")
    program.add(LOAD_HALF_AT_X, 1)
    program.add(IF_AT_LEAST, _SSL3, if_false="no record")
    program.add(IF_GREATER, _TLS13, if_true="no record")
    program.add(LOAD_HALF_AT_X, 3)
    program.add(IF_EQUAL, 0, if_true="no record")
    program.add(IF_GREATER, _LONGEST_RECORD_BYTES, if_true="no record")
    if remember:
        program.add(LOAD_BYTE_AT_X, 0)
        program.add(IF_EQUAL, _HANDSHAKE, if_false="whole")
        program.add(ebpf.REMEMBER)
        program.label("whole")
    program.add(RETURN, WHOLE_PACKET_BYTES)


def _need(program: Assembler, count: int, otherwise: str) -> None:
    """Goes on if the packet has `count` bytes from X on, and to `otherwise` if not; X stays as it is."""
    program.add(LOAD_LENGTH)
    program.add(IF_AT_LEAST_X, if_false=otherwise)
    program.add(SUBTRACT_X)
    program.add(IF_AT_LEAST, count, if_false=otherwise)
