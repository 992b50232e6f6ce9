"""libpcap by ctypes: the calls that a live capture needs, each failure one line.

No Python runs for a packet: `Live.dispatch` gives libpcap its own `pcap_dump` as the callback, and ctypes releases
the GIL while it works. A handle must be used by one thread at a time. What a capture is made of, and in which order,
is decided in `recorder`.
"""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.libpcap_calls import POINTER, library

# pcap/pcap.h
ERRBUF_BYTES = 256
_NANOSECONDS = 1
_ERROR_BREAK = -2
_ERROR_NO_SUCH_DEVICE = -5
_ERROR_PERMISSION = (-8, -11)  # to capture; to be promiscuous
_ERROR_NOT_UP = -9
_DIRECTIONS = {"both": 0, "in": 1, "out": 2}
_NETMASK_UNKNOWN = 0xFFFFFFFF
_LOOPBACK, _UP, _RUNNING = 1, 2, 4
_TIMESTAMPS_OF_HOST = 0
_STREAM_FULLY_BUFFERED = 0  # stdio.h: _IOFBF


class Stats(NamedTuple):
    """`struct pcap_stat`, each a count modulo 2^32 since the capture began."""

    received: int
    dropped_by_kernel: int
    dropped_by_interface: int


class Device(NamedTuple):
    """An interface that libpcap can open."""

    name: str
    description: str | None
    loopback: bool
    up: bool
    running: bool


class InterfaceGoneError(CaptureError):
    """There is no interface of that name."""


class NoRightsError(CaptureError):
    """The kernel does not let this program capture."""


class InterruptedCaptureError(CaptureError):
    """The kernel gives no more packets; what it gave before may still be in the buffer."""


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint), ("instructions", ctypes.c_void_p))


class _Stat(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint) for name in Stats._fields)


class _Device(ctypes.Structure):
    pass


_Device._fields_ = [
    ("next", ctypes.POINTER(_Device)),
    ("name", ctypes.c_char_p),
    ("description", ctypes.c_char_p),
    ("addresses", ctypes.c_void_p),
    ("flags", ctypes.c_uint32),
]


@lru_cache(maxsize=1)
def _libc() -> ctypes.CDLL:
    loaded = ctypes.CDLL(None, use_errno=True)
    loaded.fdopen.restype, loaded.fdopen.argtypes = POINTER, (ctypes.c_int, ctypes.c_char_p)
    loaded.setvbuf.argtypes = (POINTER, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t)
    loaded.ferror.argtypes = loaded.fflush.argtypes = (POINTER,)
    return loaded


def lib_version() -> str:
    """What libpcap says of itself: `libpcap version 1.10.3 (with TPACKET_V3)`."""
    return str(library().pcap_lib_version().decode())


def find_all_devices() -> list[Device]:
    """Every interface that libpcap knows, without any right."""
    first = ctypes.POINTER(_Device)()
    error = ctypes.create_string_buffer(ERRBUF_BYTES)
    if library().pcap_findalldevs(ctypes.byref(first), error) != 0:
        raise CaptureError(f"interfaces cannot be listed: {_text(error.value)}")
    try:
        return list(_devices(first))
    finally:
        library().pcap_freealldevs(first)


def _devices(first: ctypes._Pointer[_Device]) -> Iterator[Device]:
    at = first
    while at:  # type: ignore[truthy-bool] # a null pointer is false
        one = at.contents
        description = _text(one.description) if one.description else None
        yield Device(
            _text(one.name), description, bool(one.flags & _LOOPBACK), bool(one.flags & _UP), bool(one.flags & _RUNNING)
        )
        at = one.next


class Live:
    """A capture handle: made, set, activated, read, closed. An error closes nothing: that is for `close`."""

    def __init__(self, interface: str) -> None:
        self._library = library()
        self._interface = interface
        error = ctypes.create_string_buffer(ERRBUF_BYTES)
        self._handle: int | None = self._library.pcap_create(os.fsencode(interface), error)
        if not self._handle:
            raise CaptureError(f"{interface}: cannot be opened: {_text(error.value)}")
        self._dump = ctypes.cast(self._library.pcap_dump, POINTER)

    def set(self, snaplen: int, buffer_bytes: int, timeout_ms: int, *, promiscuous: bool, nanoseconds: bool) -> None:
        """What must be known before `activate`. A kernel without nanoseconds gives microseconds."""
        self._library.pcap_set_snaplen(self._handle, snaplen)
        self._library.pcap_set_buffer_size(self._handle, buffer_bytes)
        self._library.pcap_set_timeout(self._handle, timeout_ms)
        self._library.pcap_set_promisc(self._handle, int(promiscuous))
        if nanoseconds:
            self._library.pcap_set_tstamp_precision(self._handle, _NANOSECONDS)

    def activate(self) -> str | None:
        """Open the interface; returns libpcap's warning, if it has one."""
        status = self._library.pcap_activate(self._handle)
        if status == 0:
            return None
        said = self.error() or _text(self._library.pcap_statustostr(status))
        if status > 0:
            return f"{self._interface}: {said}"
        if status == _ERROR_NO_SUCH_DEVICE:
            raise InterfaceGoneError(f"there is no interface {self._interface}")
        if status in _ERROR_PERMISSION:
            raise NoRightsError(f"{self._interface}: no right to capture: {said}")
        if status == _ERROR_NOT_UP:
            raise CaptureError(f"{self._interface} is down: bring it up first (ip link set {self._interface} up)")
        raise CaptureError(f"{self._interface}: capture cannot start: {said}")

    def set_nonblocking(self) -> None:
        """`dispatch` returns at once when there is nothing."""
        error = ctypes.create_string_buffer(ERRBUF_BYTES)
        if self._library.pcap_setnonblock(self._handle, 1, error) != 0:
            raise CaptureError(f"{self._interface}: capture cannot start: {_text(error.value)}")

    def set_direction(self, direction: str) -> None:
        """`both`, `in` or `out`."""
        if self._library.pcap_setdirection(self._handle, _DIRECTIONS[direction]) != 0:
            raise CaptureError(f"{self._interface}: direction {direction} is not possible here: {self.error()}")

    def set_filter(self, expression: str) -> None:
        """Let only packets through that match a BPF expression; an empty one lets all through.

        Raises:
            CaptureError: it is not a filter, or not one for this link type.
        """
        with self._compiled(expression) as program:
            if self._library.pcap_setfilter(self._handle, ctypes.byref(program)) != 0:
                raise CaptureError(f"{self._interface}: the filter {expression!r} cannot be set: {self.error()}")

    @contextmanager
    def _compiled(self, expression: str) -> Iterator[_Program]:
        program = _Program()
        text = os.fsencode(expression)
        if self._library.pcap_compile(self._handle, ctypes.byref(program), text, 1, _NETMASK_UNKNOWN) != 0:
            raise CaptureError(f"filter {expression!r} cannot be used on {self._interface}: {self.error()}")
        try:
            yield program
        finally:
            self._library.pcap_freecode(ctypes.byref(program))

    @property
    def descriptor(self) -> int:
        """The packet socket, for its filter; -1 if the handle is no socket."""
        return int(self._library.pcap_fileno(self._handle))

    @property
    def selectable(self) -> int:
        """What becomes readable when a part of the buffer is full or old."""
        return int(self._library.pcap_get_selectable_fd(self._handle))

    @property
    def link_type(self) -> int:
        """libpcap's DLT_ number."""
        return int(self._library.pcap_datalink(self._handle))

    def try_link_type(self, number: int) -> bool:
        """Ask for a link type; false, and nothing changed, if it is not offered."""
        return bool(self._library.pcap_set_datalink(self._handle, number) == 0)

    @property
    def link_type_name(self) -> str:
        """`EN10MB`, `LINUX_SLL2`, ..."""
        name = self._library.pcap_datalink_val_to_name(self.link_type)
        return _text(name) if name else f"DLT {self.link_type}"

    @property
    def nanoseconds(self) -> bool:
        """Whether time stamps have nanoseconds."""
        return bool(self._library.pcap_get_tstamp_precision(self._handle) == _NANOSECONDS)

    @property
    def time_source(self) -> str:
        """libpcap's name of what makes the time stamps: the host's clock, in the kernel."""
        return _text(self._library.pcap_tstamp_type_val_to_name(_TIMESTAMPS_OF_HOST))

    def dispatch(self, dumper: Dumper, count: int) -> int:
        """Write what is ready, at most `count` packets, to `dumper`; returns how many.

        Raises:
            InterruptedCaptureError: the capture cannot go on; what was handed over until now is in the dumper.
        """
        written = int(self._library.pcap_dispatch(self._handle, count, self._dump, dumper.pointer))
        if written == _ERROR_BREAK:
            return 0
        if written < 0:
            raise InterruptedCaptureError(f"{self._interface}: {self.error()}")
        return written

    def stats(self) -> Stats:
        """Counts since the capture began, as they are now."""
        counts = _Stat()
        if self._library.pcap_stats(self._handle, ctypes.byref(counts)) != 0:
            raise CaptureError(f"{self._interface}: counts cannot be read: {self.error()}")
        return Stats(counts.received, counts.dropped_by_kernel, counts.dropped_by_interface)

    def error(self) -> str:
        """What went wrong last, in libpcap's words."""
        return _text(self._library.pcap_geterr(self._handle))

    @property
    def pointer(self) -> int | None:
        """The `pcap_t`."""
        return self._handle

    def close(self) -> None:
        """Free everything; a second time does nothing."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.pcap_close(handle)


class Dumper:
    """A capture file that libpcap writes through stdio. It owns the descriptor from the beginning, also on failure."""

    def __init__(self, live: Live, descriptor: int, buffer_bytes: int) -> None:
        self._library = library()
        self._descriptor = descriptor
        self._stream = _libc().fdopen(descriptor, b"wb")
        if not self._stream:
            number = ctypes.get_errno()
            os.close(descriptor)
            raise OSError(number, os.strerror(number))
        _libc().setvbuf(self._stream, None, _STREAM_FULLY_BUFFERED, buffer_bytes)
        self.pointer: int | None = self._library.pcap_dump_fopen(live.pointer, self._stream)
        if not self.pointer:
            # Whether the stream is closed now depends on libpcap's version, so it is left alone.
            raise CaptureError(f"the capture file cannot be begun: {live.error()}")

    def flush(self) -> None:
        """Hand everything to the kernel.

        Raises:
            OSError: it could not be written, now or earlier.
        """
        ctypes.set_errno(0)
        failed = _libc().fflush(self._stream) != 0
        if failed or _libc().ferror(self._stream):
            # The reason is lost if it was libpcap's call, not ours, that failed.
            number = ctypes.get_errno() if failed else 0
            raise OSError(number, os.strerror(number) if number else "writing failed")

    def close(self) -> None:
        """Close the file; what cannot be written is left out. A second time does nothing."""
        pointer, self.pointer = self.pointer, None
        if pointer:
            self._library.pcap_dump_close(pointer)


def interface_names() -> list[str]:
    """Interfaces of this network namespace by the kernel's own list."""
    return [name for _, name in socket.if_nameindex()]


def _text(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())
