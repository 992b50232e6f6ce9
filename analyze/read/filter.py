"""Packet filters: a BPF expression (`tcp port 443`) into the instructions that the engine runs over each packet.

libpcap compiles them, called through ctypes: its grammar is the one that everybody in the field writes. It needs no
privilege and no interface for that.
"""

import ctypes
import ctypes.util
import os
import struct
from collections.abc import Callable
from functools import cache

_DEFAULT_SNAP_LENGTH = 262_144
_NETMASK_UNKNOWN = 0xFFFFFFFF
_INSTRUCTION_BYTES = 8


_NOTHING_MATCHES = "expression rejects all packets"
"""libpcap's words for a filter that is one, but holds for no packet of the link type."""
_KEEP_NOTHING = struct.pack("=HBBI", 6, 0, 0, 0)
"""The program that returns 0."""


class FilterError(ValueError):
    """The filter cannot be compiled; the message is one line."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


@cache
def _libpcap() -> ctypes.CDLL:
    # The usual names first: find_library starts other programs, which takes longer than the analysis of a small file.
    for name in ("libpcap.so.0.8", "libpcap.so.1", "libpcap.dylib", None):
        found = name or ctypes.util.find_library("pcap")
        try:
            library = ctypes.CDLL(found) if found else None
        except OSError:
            continue
        if library is not None:
            break
    else:
        raise FilterError("a filter needs libpcap, which is not installed (Debian, Ubuntu: apt install libpcap0.8)")
    library.pcap_open_dead.argtypes = (ctypes.c_int, ctypes.c_int)
    library.pcap_open_dead.restype = ctypes.c_void_p
    library.pcap_compile.argtypes = (
        ctypes.c_void_p,
        ctypes.POINTER(_Program),
        ctypes.c_char_p,
        ctypes.c_int,
        ctypes.c_uint32,
    )
    library.pcap_compile.restype = ctypes.c_int
    library.pcap_geterr.argtypes = (ctypes.c_void_p,)
    library.pcap_geterr.restype = ctypes.c_char_p
    library.pcap_freecode.argtypes = (ctypes.POINTER(_Program),)
    library.pcap_freecode.restype = None
    library.pcap_close.argtypes = (ctypes.c_void_p,)
    library.pcap_close.restype = None
    return library


def compile_filter(expression: str, link_type: int, snap_length: int = 0) -> bytes:
    """Compile `expression` for a link type: packed `struct bpf_insn`, 8 bytes each, in the machine's byte order.

    Raises `FilterError` if it is not a filter, cannot be used on this link type, or libpcap is missing. What no packet
    of the link type can match (`ip6` on raw IPv4) leaves them all out: other interfaces may have some.
    """
    return _compiled(expression, link_type, snap_length) or _KEEP_NOTHING


def _compiled(expression: str, link_type: int, snap_length: int = 0) -> bytes | None:
    """The program; None for one that keeps nothing."""
    library = _libpcap()
    if "\0" in expression:
        raise FilterError("filter: a NUL character cannot be part of a filter")
    snap_length = snap_length if 0 < snap_length < 2**31 else _DEFAULT_SNAP_LENGTH
    handle = library.pcap_open_dead(_dlt(link_type), snap_length)
    if not handle:
        raise FilterError("filter: libpcap has no memory left")
    program = _Program()
    try:
        if library.pcap_compile(handle, ctypes.byref(program), os.fsencode(expression), 1, _NETMASK_UNKNOWN) != 0:
            reason = library.pcap_geterr(handle).decode(errors="replace")
            if reason == _NOTHING_MATCHES:
                return None
            raise FilterError(f"filter {expression!r}: {' '.join(reason.split())}")
        try:
            return ctypes.string_at(program.instructions, program.length * _INSTRUCTION_BYTES)
        finally:
            library.pcap_freecode(ctypes.byref(program))
    finally:
        library.pcap_close(handle)


def _dlt(link_type: int) -> int:
    """The DLT_ number libpcap uses in memory for a file's LINKTYPE_ number: they differ for raw IP on Linux, which
    OpenBSD numbers in yet another way."""
    linktype_raw, linktype_raw_openbsd, dlt_raw = 101, 14, 12
    return dlt_raw if link_type in (linktype_raw, linktype_raw_openbsd) else link_type


def checked(expression: str) -> str:
    """The expression itself, after making sure (for Ethernet or raw IP) that it is a filter at all."""
    linktype_ethernet, linktype_raw = 1, 101
    errors = []
    for link_type in (linktype_ethernet, linktype_raw):
        try:
            if _compiled(expression, link_type) is not None:
                return expression
            errors.append(FilterError(f"filter {expression!r}: {_NOTHING_MATCHES}"))
        except FilterError as error:
            errors.append(error)
    raise errors[0]


def compiler(expression: str | None) -> Callable[[int, int], bytes] | None:
    """What compiles the expression for each link type, as the engine wants it; None for no filter."""
    if expression is None:
        return None
    return lambda link_type, snap_length: compile_filter(expression, link_type, snap_length)
