"""Whether an interface hands over packets larger than the wire's: segmentation and receive offload, by ethtool's ioctl.

A capture shows what the card cuts up later (TSO, GSO) or has joined before (GRO, LRO): the analysis must know it.
"""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from dataclasses import asdict, dataclass

_SIOCETHTOOL = 0x8946
# linux/ethtool.h
_GET_TSO, _GET_GSO, _GET_GRO, _GET_FLAGS = 0x1E, 0x23, 0x2B, 0x25
_FLAG_LRO = 1 << 15
_NAME_BYTES = 16  # IFNAMSIZ
_VALUE = struct.Struct("=II")  # struct ethtool_value: command, data


@dataclass(frozen=True)
class Offload:
    """True, false, or None where it cannot be told (`any`, an interface that is gone, no ethtool)."""

    tso: bool | None = None
    gso: bool | None = None
    gro: bool | None = None
    lro: bool | None = None

    def as_record(self) -> dict[str, bool | None]:
        """For a JSON file."""
        return asdict(self)


def read_offload(interface: str) -> Offload:
    """The settings as they are now, in the network namespace of the calling thread."""
    flags = _read(interface, _GET_FLAGS)
    tso, gso, gro = (_read(interface, command) for command in (_GET_TSO, _GET_GSO, _GET_GRO))
    return Offload(
        tso=None if tso is None else bool(tso),
        gso=None if gso is None else bool(gso),
        gro=None if gro is None else bool(gro),
        lro=None if flags is None else bool(flags & _FLAG_LRO),
    )


def _read(interface: str, command: int) -> int | None:
    value = ctypes.create_string_buffer(_VALUE.pack(command, 0), _VALUE.size)
    name = interface.encode()[: _NAME_BYTES - 1]
    # struct ifreq: the name, and a pointer in a union of 24 bytes.
    request = struct.pack(f"{_NAME_BYTES}sP", name, ctypes.addressof(value)).ljust(40, b"\0")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, _SIOCETHTOOL, request)
        except OSError:  # no such interface, or one without such a setting
            return None
    return int(_VALUE.unpack(value.raw)[1])
