"""From settings to a running capture: opened, filtered, and nothing in it that the filter does not let through.

The order matters, and this is the reason of each step:

1. When libpcap activates an interface, every packet goes into the buffer, whole. So a filter that rejects all is set
   at once.
2. libpcap compiles the user's filter and hands it to the kernel, translated for `any` where there is no link header.
3. That translated program is read back. If there is none, libpcap filters by itself, after the packets were copied,
   and ignores how many bytes a filter would keep: then the snap length is a plain one, and a warning says so.
4. It is joined with two programs of ours: one for the direction (on loopback libpcap would drop each packet's second
   copy only after it took room in the buffer), one that says how many bytes are kept (`kept_bytes`).
5. libpcap is given a filter that lets all through: it goes on to filter the first parts of the buffer by itself, by
   what was kept of each packet, and would drop what the filter looks for behind that.
6. What came in before is thrown away.
7. The joined program is set, and from here on `received` - `dropped` = `written`, exactly.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from vmtrace.capture import bpf, buffer_size, ebpf, kept_bytes
from vmtrace.capture.bpf import Instruction
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interfaces import no_such_interface
from vmtrace.capture.libpcap import Dumper, InterfaceGoneError, Live, NoRightsError, Stats
from vmtrace.capture.rights import how_to_grant
from vmtrace.capture.settings import ANY, LARGEST_SNAPLEN, CaptureSettings

# A part of the buffer is handed over when it is full or so old. Short: a capture ends after two of these. Long: each
# hand-over uses up a part of 256 KiB, however little is in it, while the reader is held up.
HAND_OVER_MS = 40
_LOOPBACK = "lo"
_SIOCGIFFLAGS, _IFF_LOOPBACK = 0x8913, 0x8  # linux/sockios.h, linux/if.h
_DLT_ETHERNET, _DLT_COOKED_2 = 1, 276
_KEPT_WITHOUT_KERNEL_BYTES = kept_bytes.TUNNEL_HEADERS_BYTES


@dataclass(frozen=True)
class Opened:
    """A running capture. `exact`: the kernel filters, so what it received and did not drop is what gets written."""

    live: Live
    filter: str
    snaplen: int | None
    buffer_bytes: int | None
    exact: bool
    before: Stats
    start_ns: int
    warnings: tuple[str, ...]


def open_capture(settings: CaptureSettings) -> Opened:
    """Start capturing into the kernel's buffer, in the network namespace of the calling thread.

    Raises:
        CaptureError: it cannot be done; nothing is left open.
    """
    opened = _attempt(settings, settings.snaplen or LARGEST_SNAPLEN)
    if opened.exact or settings.snaplen is not None:
        return opened
    opened.live.close()
    again = _attempt(settings, _KEPT_WITHOUT_KERNEL_BYTES, plain=True)
    warning = f"the kernel does not run this filter: packets are cut at {_KEPT_WITHOUT_KERNEL_BYTES} bytes, TLS too"
    return replace(again, warnings=(*again.warnings, warning))


def stop_receiving(opened: Opened) -> None:
    """Let no further packet into the buffer; what is in it stays."""
    if opened.exact:
        bpf.attach(opened.live.descriptor, bpf.REJECT_ALL)


def _attempt(settings: CaptureSettings, snaplen: int, *, plain: bool = False) -> Opened:
    live = Live(settings.interface)
    try:
        live.set(
            snaplen,
            settings.buffer_wanted_bytes(),
            HAND_OVER_MS,
            promiscuous=settings.promiscuous,
            nanoseconds=settings.nanoseconds,
        )
        warning = _activate(live, settings)
        return _filtered(live, settings, snaplen if plain else settings.snaplen, (warning,) if warning else ())
    except BaseException:
        live.close()
        raise


def _activate(live: Live, settings: CaptureSettings) -> str | None:
    try:
        warning = live.activate()
    except InterfaceGoneError:
        raise CaptureError(no_such_interface(settings.interface)) from None
    except NoRightsError:
        raise CaptureError(how_to_grant()) from None
    if _is_packet_socket(live.descriptor):
        bpf.attach(live.descriptor, bpf.REJECT_ALL)
    live.set_nonblocking()
    return warning


def _filtered(live: Live, settings: CaptureSettings, snaplen: int | None, warnings: tuple[str, ...]) -> Opened:
    if settings.interface == ANY:
        live.try_link_type(_DLT_COOKED_2)  # names the interface of each packet
    if settings.direction == "out" and _is_loopback(settings.interface):
        raise CaptureError("on loopback every packet is recorded as it comes in: direction out has none")
    live.set_direction(settings.direction)
    expression = _expression(live, settings)
    live.set_filter(expression)
    users = bpf.attached(live.descriptor) if _is_packet_socket(live.descriptor) else []
    program = _kernel_program(live, settings, snaplen, users)
    if program:
        live.set_filter("")
        bpf.attach(live.descriptor, bpf.REJECT_ALL)
        _discard(live)
        before = live.stats()
        try:
            warnings += _attach(live, program, _remembering(live, settings, snaplen, users))
        except OSError:  # it is too large for this kernel's memory for options
            live.set_filter(expression)
            program = []
    else:
        live.set_filter(expression)  # lifts the filter that rejects all
        before = live.stats()
    granted = buffer_size.granted_bytes(live.descriptor)
    return Opened(live, expression, snaplen, granted, bool(program), before, time.time_ns(), warnings)


def _expression(live: Live, settings: CaptureSettings) -> str:
    """The filter as libpcap is given it."""
    cable = live.link_type == _DLT_ETHERNET and not _is_loopback(settings.interface)
    if not settings.also_tagged or not settings.filter or not cable:
        return settings.filter
    return f"({settings.filter}) or (vlan and ({settings.filter}))"


def _kernel_program(
    live: Live, settings: CaptureSettings, snaplen: int | None, users: Sequence[Instruction]
) -> list[Instruction]:
    """What the kernel is to run; empty where libpcap has to filter."""
    if not users or (snaplen is None and live.link_type not in kept_bytes.KNOWN_LINK_TYPES):
        return []
    if snaplen is None:
        return _joined(settings, users, kept_bytes.headers_and_handshakes(live.link_type))
    return _joined(settings, users, kept_bytes.plain(snaplen))


def _remembering(
    live: Live, settings: CaptureSettings, snaplen: int | None, users: Sequence[Instruction]
) -> list[Instruction]:
    """The same with a memory for handshakes that go on in a further segment; empty where it is of no use."""
    if snaplen is not None:
        return []
    return _joined(settings, users, kept_bytes.headers_and_handshakes(live.link_type, remember=True))


def _joined(settings: CaptureSettings, users: Sequence[Instruction], keep: Sequence[Instruction]) -> list[Instruction]:
    try:
        return bpf.then(_direction(settings), bpf.then(users, keep))
    except bpf.ProgramError:
        return []


def _attach(live: Live, program: Sequence[Instruction], remembering: Sequence[Instruction]) -> tuple[str, ...]:
    """Give the kernel the program with a memory, or else the one without; returns what is to be said of it."""
    warnings = []
    if remembering:
        try:
            ebpf.attach(live.descriptor, remembering)
            return ()
        except (OSError, bpf.ProgramError) as error:
            warnings.append(f"of TLS handshakes only segments that begin a record are kept complete ({_reason(error)})")
    bpf.attach(live.descriptor, program)
    return tuple(warnings)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.EPERM:
        return "to remember where it began needs root or CAP_BPF"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _direction(settings: CaptureSettings) -> list[Instruction]:
    if settings.direction == "out":
        return kept_bytes.only_outgoing()
    if settings.direction == "in" or _is_loopback(settings.interface):
        return kept_bytes.only_incoming()
    if settings.interface == ANY:
        try:
            return kept_bytes.each_once(socket.if_nametoindex(_LOOPBACK))
        except OSError:  # a namespace without loopback
            pass
    return kept_bytes.plain(kept_bytes.WHOLE_PACKET_BYTES)


def _discard(live: Live) -> None:
    """Throw away what is in the buffer: it is handed over within two periods after the filter rejects all."""
    if live.stats().received == 0:
        return
    nothing = Dumper(live, os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC), 4096)
    try:
        poller = select.poll()
        poller.register(live.selectable, select.POLLIN)
        end = time.monotonic() + 2.5 * HAND_OVER_MS / 1000
        while (left := end - time.monotonic()) > 0:
            poller.poll(left * 1000)
            live.dispatch(nothing, -1)
    finally:
        nothing.close()


def _is_packet_socket(descriptor: int) -> bool:
    """Bluetooth, USB and netfilter's logs come by other ways."""
    try:
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            return copy.family == socket.AF_PACKET
    except OSError:
        return False


def _is_loopback(interface: str) -> bool:
    """By ioctl, which asks in the network namespace of this thread; /sys may show another."""
    request = struct.pack("16s24x", interface.encode()[:15])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            answer = fcntl.ioctl(control, _SIOCGIFFLAGS, request)
        except OSError:  # `any` and other pseudo-interfaces
            return False
    return bool(struct.unpack_from("H", answer, 16)[0] & _IFF_LOOPBACK)
