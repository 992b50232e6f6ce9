"""What may be set on the sockets of a transfer: each option is declared once, with its values and how it is set.

Plans, `run.json`, the preview of a plan, both ends' sockets and the receiver's check go by these declarations.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional

_ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_TCP_CONGESTION = 13  # linux/tcp.h; Python 3.9 does not name it
_LARGEST_DSCP = 63
_LARGEST_BUFFER_BYTES = (1 << 31) - 1


@dataclass(frozen=True)
class Option:
    """A field of `SocketOptions`."""

    name: str
    """In what a person reads."""
    set_on: Callable[[socket.socket, Any], object]
    least: int = 0
    most: int = 0
    """In a plan; 0: it is a kernel's name."""
    is_size: bool = False
    """A number of bytes, which a plan may write with its unit."""
    preview: str = ""
    """How a plan's preview shows a value; empty: not at all."""
    refusal: Callable[[Any], str | None] = lambda _: None
    """Why the receiver does not set a value."""
    at_receiver: bool = True
    """Else it is the sender's alone, as what shapes its SYN."""


def option(name: str, set_on: Callable[[socket.socket, Any], object], **more: Any) -> Any:
    """The declaration of an option; `more` are further fields of `Option`."""
    return dataclasses.field(default=None, metadata={"option": Option(name, set_on, **more)})


def _plain(level: int, number: int) -> Callable[[socket.socket, Any], object]:
    return lambda sock, value: sock.setsockopt(level, number, value)


def _set_dscp(sock: socket.socket, dscp: int) -> None:
    if sock.family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    if sock.family == socket.AF_INET or _is_mapped(sock):
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def _is_mapped(sock: socket.socket) -> bool:
    """An accepted connection of IPv4 on a socket for both versions: its packets have a TOS, no traffic class."""
    try:
        return str(sock.getpeername()[0]).startswith("::ffff:")
    except OSError:
        return False  # not connected yet: then it is IPv6's


def _unknown_algorithm(name: str) -> str | None:
    """Asked for by name, the kernel would load a module of that name for a receiver that runs as root."""
    try:
        known = _ALGORITHMS.read_text().split()
    except OSError:
        known = []
    return None if name in known else f"the receiver has no congestion control {name}, but {', '.join(known)}"


def _outside(what: str, least: int, most: int) -> Callable[[int], str | None]:
    return lambda value: None if least <= value <= most else f"{what.format(value)}: {least} to {most} are possible"


def _buffer(name: str, number: int) -> Any:
    refusal = _outside(f"a {name} buffer of {{}} bytes", 1, _LARGEST_BUFFER_BYTES)
    set_on = _plain(socket.SOL_SOCKET, number)
    return option(f"{name} buffer", set_on, least=1, most=1 << 30, is_size=True, refusal=refusal)


@dataclass(frozen=True)
class SocketOptions:
    """What is set on the sockets of a transfer, at both ends; None leaves the system's default."""

    congestion_control: Optional[str] = option(
        "congestion control",
        lambda sock, name: sock.setsockopt(socket.IPPROTO_TCP, _TCP_CONGESTION, name.encode()),
        preview="{}",
        refusal=_unknown_algorithm,
    )
    send_buffer_bytes: Optional[int] = _buffer("send", socket.SO_SNDBUF)
    receive_buffer_bytes: Optional[int] = _buffer("receive", socket.SO_RCVBUF)
    dscp: Optional[int] = option(
        "DSCP", _set_dscp, most=_LARGEST_DSCP, preview="DSCP {}", refusal=_outside("DSCP {}", 0, _LARGEST_DSCP)
    )
    # Linux refuses a TCP_MAXSEG outside of these (net/ipv4/tcp.c).
    mss_bytes: Optional[int] = option(
        "MSS", _plain(socket.IPPROTO_TCP, socket.TCP_MAXSEG), least=88, most=32767, preview="MSS {}", at_receiver=False
    )


def declared(options: type[SocketOptions]) -> dict[str, Option]:
    """The options, by the names of their fields."""
    return {one.name: one.metadata["option"] for one in dataclasses.fields(options)}


def given(options: SocketOptions) -> Iterator[tuple[Option, Any]]:
    """Those that are not left to the system, with their values."""
    for name, one in declared(type(options)).items():
        if getattr(options, name) is not None:
            yield one, getattr(options, name)


def apply_options(sock: socket.socket, options: SocketOptions) -> None:
    """Set what is asked for on a socket; an `OSError` names the option that the system refuses."""
    for one, value in given(options):
        _apply(sock, one, value)


def _apply(sock: socket.socket, one: Option, value: Any) -> None:
    try:
        one.set_on(sock, value)
    except (OSError, OverflowError, TypeError) as error:  # Python tells of a number too large in its own ways
        number = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
        raise OSError(number, f"the system refuses {one.name} {value}: {os.strerror(number)}") from error
