"""A capture copied as pcapng with remarks on its packets, on the file, and on addresses. No packet changes by a byte.

pcapng is copied block by block; classic pcap gets a section and an interface of its own. Formats:
draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap; what a file holds beyond that is an `AnnotateError`.
"""

import struct
from collections.abc import Collection, Iterator
from ipaddress import ip_address
from typing import BinaryIO, NamedTuple

from vmtrace.analyze.reports.annotated.remarks import Remarks

_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _NAMES, _PACKET = 0x0A0D0D0A, 1, 2, 3, 4, 6
_LITTLE = b"\x4d\x3c\x2b\x1a"
_COMMENT, _RESOLUTION, _FCS = 1, 9, 13
_IPV4_NAME, _IPV6_NAME = 1, 2
_LONGEST_BLOCK = 1 << 28
_LONGEST_TEXT = 65_000


class _Classic(NamedTuple):
    """A kind of classic pcap."""

    order: str
    digits: int
    """Of the fraction of a second."""
    header_bytes: int
    """Of a record: "modified" ones have eight more."""


_CLASSIC = {
    b"\xd4\xc3\xb2\xa1": _Classic("<", 6, 16),
    b"\xa1\xb2\xc3\xd4": _Classic(">", 6, 16),
    b"\x4d\x3c\xb2\xa1": _Classic("<", 9, 16),
    b"\xa1\xb2\x3c\x4d": _Classic(">", 9, 16),
    b"\x34\xcd\xb2\xa1": _Classic("<", 6, 24),
    b"\xa1\xb2\xcd\x34": _Classic(">", 6, 24),
}


class AnnotateError(Exception):
    """A capture that cannot be copied; the message says why."""


def annotate(source: BinaryIO, sink: BinaryIO, remarks: Remarks, only: Collection[int] | None = None) -> int:
    """Copy a capture with its remarks; of its frames those in `only`, or all. Returns how many packets were written."""
    magic = source.read(4)
    if magic in _CLASSIC:
        return _of_pcap(source, sink, remarks, only, _CLASSIC[magic])
    if magic == struct.pack("<I", _SECTION):
        return _of_pcapng(source, sink, remarks, only)
    raise AnnotateError("only pcap and pcapng can be annotated: convert it with editcap -F pcapng")


def _of_pcap(
    source: BinaryIO, sink: BinaryIO, remarks: Remarks, only: Collection[int] | None, classic: _Classic
) -> int:
    order, digits, header = classic
    *_, snaplen, network = struct.unpack(f"{order}HHiIII", _exactly(source, 20))
    options = _option(order, _RESOLUTION, bytes([digits]))
    if network & 0x0400_0000:
        options += _option(order, _FCS, bytes([(network >> 28) * 2]))
    interface = struct.pack(f"{order}HHI", network & 0xFFFF, 0, snaplen) + options + _option(order, 0, b"")
    sink.write(_section(order, remarks) + _block(order, _INTERFACE, interface) + _name_block(order, remarks))
    written = frame = 0
    while head := source.read(header):
        if len(head) < header:
            break  # torn off: the analysis has said so
        second, part, kept, length = struct.unpack_from(f"{order}IIII", head)
        if kept > _LONGEST_BLOCK:
            raise AnnotateError(f"damaged behind frame {frame:,}: repair it with editcap first")
        data = source.read(kept)
        if len(data) < kept:
            break
        frame += 1
        if only is not None and frame not in only:
            continue
        time = second * 10**digits + part
        body = struct.pack(f"{order}IIIII", 0, time >> 32, time & 0xFFFF_FFFF, kept, length) + _padded(data)
        sink.write(_block(order, _PACKET, body + _comments(order, remarks.frames.get(frame, ()), b"")))
        written += 1
    return written


def _of_pcapng(source: BinaryIO, sink: BinaryIO, remarks: Remarks, only: Collection[int] | None) -> int:
    written = frame = 0
    named = False
    for order, kind, body in _blocks(source):
        if kind == _SECTION:
            shown = _comments(order, [remarks.file] if not frame else (), body[16:])
            # How long the section is changes; -1 says that it is not told.
            sink.write(_block(order, kind, body[:8] + b"\xff" * 8 + shown))
            continue
        if kind not in (_PACKET, _OLD_PACKET, _SIMPLE_PACKET):
            sink.write(_block(order, kind, body))
            if kind == _INTERFACE and not named:
                sink.write(_name_block(order, remarks))
                named = True
            continue
        frame += 1
        if only is not None and frame not in only:
            continue
        texts = remarks.frames.get(frame, ())
        sink.write(_block(order, kind, _with_comments(order, kind, body, texts)))
        written += 1
    return written


def _with_comments(order: str, kind: int, body: bytes, texts: Collection[str]) -> bytes:
    """The body of a packet's block; a simple one has no room for a comment."""
    if kind == _SIMPLE_PACKET or not texts:
        return body
    if len(body) < 20:
        raise AnnotateError("damaged: a packet's block is too short; repair it with editcap first")
    (kept,) = struct.unpack_from(f"{order}I", body, 12)
    end = 20 + -(-kept // 4) * 4
    return body[:end] + _comments(order, texts, body[end:])


def _blocks(source: BinaryIO) -> Iterator[tuple[str, int, bytes]]:
    """Byte order, type and body of every block; the first four bytes have been read."""
    order, kind_bytes = "<", struct.pack("<I", _SECTION)
    while len(kind_bytes) == 4:
        length_bytes = _exactly(source, 4)
        start = b""
        if kind_bytes == struct.pack("<I", _SECTION):
            start = _exactly(source, 4)
            order = "<" if start == _LITTLE else ">"
        kind, length = struct.unpack(f"{order}II", kind_bytes + length_bytes)
        if length % 4 or not 12 + len(start) <= length <= _LONGEST_BLOCK:
            raise AnnotateError("damaged: a block has an impossible length; repair it with editcap first")
        body = start + source.read(length - 12 - len(start))
        end = source.read(4)
        if len(body) + 12 < length or len(end) < 4:
            return  # torn off
        yield order, kind, body
        kind_bytes = source.read(4)


def _section(order: str, remarks: Remarks) -> bytes:
    body = struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1) + _comments(order, [remarks.file], b"")
    return _block(order, _SECTION, body)


def _name_block(order: str, remarks: Remarks) -> bytes:
    """Names of addresses (NRB); empty where none is known."""
    body = b""
    for text, names in remarks.names.items():
        address = ip_address(text)
        value = address.packed + b"".join(name.encode() + b"\0" for name in names)
        if len(value) <= _LONGEST_TEXT:
            kind = _IPV4_NAME if address.version == 4 else _IPV6_NAME
            body += struct.pack(f"{order}HH", kind, len(value)) + _padded(value)
    return _block(order, _NAMES, body + bytes(4)) if body else b""


def _comments(order: str, texts: Collection[str], options: bytes) -> bytes:
    """Options with these comments in front of those that there were."""
    made = b"".join(_option(order, _COMMENT, _cut(text)) for text in texts)
    return made + (options or (_option(order, 0, b"") if made else b""))


def _cut(text: str) -> bytes:
    return text.encode()[:_LONGEST_TEXT].decode(errors="ignore").encode()


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + _padded(value)


def _padded(value: bytes) -> bytes:
    return value + bytes(-len(value) % 4)


def _block(order: str, kind: int, body: bytes) -> bytes:
    length = struct.pack(f"{order}I", 12 + len(body))
    return struct.pack(f"{order}I", kind) + length + body + length


def _exactly(source: BinaryIO, count: int) -> bytes:
    content = source.read(count)
    if len(content) < count:
        raise AnnotateError("torn off in its first bytes")
    return content
