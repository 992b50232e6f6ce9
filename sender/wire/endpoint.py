"""Where the receiver is, and how a TCP connection to it is opened."""

from __future__ import annotations

import ipaddress
import socket
import struct
from dataclasses import dataclass
from typing import Callable

from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.socket_options import SocketOptions, apply_options

DEFAULT_PORT = 5810
_FAMILIES = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}
# linux/tcp.h; Python 3.9 does not name it.
_TCP_USER_TIMEOUT = 18


@dataclass(frozen=True)
class Endpoint:
    """A receiver as the user names it, and from where to reach it."""

    host: str
    port: int = DEFAULT_PORT
    bind_address: str | None = None
    bind_interface: str | None = None
    ip_version: int | None = None
    """4 or 6; None takes what the name resolves to first."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Address:
    """A resolved address: connections of one run all go to the same."""

    family: int
    socket_address: tuple[object, ...]

    @property
    def host(self) -> str:
        """The address in its numeric form."""
        return str(self.socket_address[0])


def resolve(endpoint: Endpoint) -> Address:
    """The first address of the receiver's name; raises `ReceiverGone` when there is none."""
    try:
        found = socket.getaddrinfo(endpoint.host, endpoint.port, _FAMILIES[endpoint.ip_version], socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        version = f" for IPv{endpoint.ip_version}" if endpoint.ip_version else ""
        why = getattr(error, "strerror", None) or error
        raise ReceiverGone(f"{endpoint.host}: no address{version} ({why}){_port_in(endpoint.host)}") from error
    family, _, _, _, address = found[0]
    if family == socket.AF_INET6 and _lacks_interface(str(address[0]), address[-1]) and not endpoint.bind_interface:
        raise ReceiverGone(f"{endpoint.host}: a link-local address is one on an interface: write {endpoint.host}%eth0")
    return Address(family, address)


def _port_in(host: str) -> str:
    """What to do about a port that stands behind the name."""
    name, _, port = host.rpartition(":")
    return f": the port goes by --port {port}" if name and port.isdecimal() else ""


def _lacks_interface(address: str, scope: object) -> bool:
    return scope == 0 and ipaddress.IPv6Address(address).is_link_local


def connect(
    endpoint: Endpoint,
    address: Address,
    options: SocketOptions,
    timeout_s: float,
    keep: Callable[[socket.socket], object] | None = None,
) -> socket.socket:
    """An established connection with these options set before its SYN, in blocking mode.

    `keep` gets the socket before it connects: `shut_down` then ends the wait from another thread.

    Raises `ReceiverGone` when there is none in time, `OSError` when the system refuses an option or the local address.
    """
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        apply_options(sock, options)
        _bind(sock, endpoint)
        if keep is not None:
            keep(sock)
        sock.settimeout(timeout_s)
        try:
            sock.connect(address.socket_address)
        except socket.timeout as error:
            raise ReceiverGone(
                f"{endpoint}: no reply within {timeout_s:g} s: is the receiver running, and the port open?"
            ) from error
        except OSError as error:
            raise ReceiverGone(
                f"{endpoint}: {error.strerror or error}: is the receiver running, and the port open?"
            ) from error
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(None)
    except BaseException:
        sock.close()
        raise
    return sock


def give_up_after(sock: socket.socket, stall_s: float) -> None:
    """Let blocking calls fail once no byte could be moved for this long, without leaving blocking mode.

    Python's own timeouts would put the socket into non-blocking mode and cost a poll for each call.
    """
    seconds = int(stall_s)
    interval = struct.pack("@ll", seconds, int((stall_s - seconds) * 1e6))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, interval)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, interval)
    sock.setsockopt(socket.IPPROTO_TCP, _TCP_USER_TIMEOUT, int(stall_s * 1000))


def keep_alive(sock: socket.socket, silence_s: int) -> None:
    """Let the kernel find out within a few times `silence_s` that the other side is gone."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, silence_s)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, max(1, silence_s // 2))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)


def shut_down(sock: socket.socket) -> None:
    """End a connection, so that whatever thread waits for it goes on. Harmless on one that is over.

    With TLS this is the socket's own call: `ssl.SSLSocket` would forget its TLS under the hands of the other thread,
    which would then read and write in the clear.
    """
    try:
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
    except OSError:
        return  # not connected any more


def plain_host(host: str) -> str:
    """An address without its scope; IPv4 in its own form also on a socket for both versions."""
    return _unmapped(host.partition("%")[0])


def name_of(socket_address: object) -> str:
    """`address:port` of a socket's end, IPv6 in brackets, IPv4 in its own form also on a socket for both."""
    host, port = _unmapped(socket_address[0]), socket_address[1]  # type: ignore[index]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unmapped(host: str) -> str:
    """`198.18.0.1` of `::ffff:198.18.0.1` (RFC 4291, 2.5.5.2); any other address as it is."""
    return host[len("::ffff:") :] if host.startswith("::ffff:") and "." in host else host


def _bind(sock: socket.socket, endpoint: Endpoint) -> None:
    if endpoint.bind_interface is not None:
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, endpoint.bind_interface.encode() + b"\0")
        except OSError as error:
            raise OSError(error.errno, f"cannot use interface {endpoint.bind_interface}: {error.strerror}") from error
    if endpoint.bind_address is not None:
        try:
            sock.bind((endpoint.bind_address, 0))
        except OSError as error:
            raise OSError(error.errno, f"cannot send from {endpoint.bind_address}: {error.strerror}") from error
