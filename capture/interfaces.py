"""Which interfaces there are, and which one the route to an address uses. libpcap's own list is `libpcap`'s."""

from __future__ import annotations

import os
import socket
import struct

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.libpcap import Device, find_all_devices, interface_names
from vmtrace.capture.settings import ANY

# linux/netlink.h, linux/rtnetlink.h
_NETLINK_ROUTE = 0
_GET_ROUTE, _ERROR = 26, 2
_REQUEST = 1
_DESTINATION, _OUTGOING_INTERFACE = 1, 4
_LOOKUP_PREFIX = {socket.AF_INET: 32, socket.AF_INET6: 128}
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr
_ROUTE = struct.Struct("=BBBBBBBBI")  # struct rtmsg
_ATTRIBUTE = struct.Struct("=HH")  # struct rtattr


def interface_towards(address: str) -> str:
    """The interface that packets to an address (or host name) leave by; `lo` for the machine's own addresses.

    Raises:
        CaptureError: the name is unknown, or there is no route.
    """
    family, packed, scope = _resolved(address)
    index = scope or _ask_kernel(address, family, packed)
    return socket.if_indextoname(index)


def no_such_interface(name: str) -> str:
    """The line for a name that no interface has."""
    return f"there is no interface {name}; there are {', '.join(interface_names())}, and any"


def interface_lines() -> list[str]:
    """What can be recorded, one line each: name and state."""
    devices = [device for device in find_all_devices() if device.name == ANY or device.name in interface_names()]
    width = max((len(device.name) for device in devices), default=0)
    return [f"{device.name.ljust(width)}  {_state(device)}".rstrip() for device in devices]


def _state(device: Device) -> str:
    words = ["up" if device.up and device.running else "no link" if device.up else "down"]
    if device.loopback:
        words.append("loopback")
    if device.description:
        words.append(device.description)
    return ", ".join(words)


def _resolved(address: str) -> tuple[int, bytes, int]:
    try:
        found = socket.getaddrinfo(address, None, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise CaptureError(f"{address}: its interface cannot be found: {error}") from None
    family, _, _, _, where = found[0]
    scope = int(where[3]) if family == socket.AF_INET6 and len(where) > 3 else 0
    return family, socket.inet_pton(family, str(where[0]).partition("%")[0]), scope


def _ask_kernel(address: str, family: int, packed: bytes) -> int:
    """As `ip route get` does."""
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(packed), _DESTINATION) + packed
    body = _ROUTE.pack(family, _LOOKUP_PREFIX[socket.AddressFamily(family)], 0, 0, 0, 0, 0, 0, 0) + attribute
    message = _HEADER.pack(_HEADER.size + len(body), _GET_ROUTE, _REQUEST, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
        kernel.send(message)
        answer = kernel.recv(65_536)
    length, kind, *_ = _HEADER.unpack_from(answer)
    if kind == _ERROR:
        number = -struct.unpack_from("=i", answer, _HEADER.size)[0]
        raise CaptureError(f"{address}: there is no route to it: {os.strerror(number)}")
    at = _HEADER.size + _ROUTE.size
    while at + _ATTRIBUTE.size <= length:
        size, name = _ATTRIBUTE.unpack_from(answer, at)
        if name == _OUTGOING_INTERFACE:
            return int(struct.unpack_from("=I", answer, at + _ATTRIBUTE.size)[0])
        at += max(size + 3 & ~3, _ATTRIBUTE.size)
    raise CaptureError(f"{address}: the kernel names no interface for it")
