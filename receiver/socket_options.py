"""The socket options that a sender asks for, at this end: checked before a transfer, set on its connections.

What shapes the SYN (MSS) is the sender's alone.
"""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

from vmtrace.receiver.refusal import Refusal
from vmtrace.sender.wire.endpoint import apply_options
from vmtrace.sender.wire.records import SocketOptions

_ALGORITHMS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_LARGEST_DSCP = 63
_LARGEST_BUFFER_BYTES = (1 << 31) - 1


def check_options(options: SocketOptions) -> None:
    """Raise `Refusal` for what cannot be set here."""
    # Asked for by name, the kernel would load a module of that name for a receiver that runs as root.
    algorithm = options.congestion_control
    if algorithm is not None and algorithm not in _algorithms():
        raise Refusal(f"the receiver has no congestion control {algorithm}, but {', '.join(_algorithms())}")
    if options.dscp is not None and not 0 <= options.dscp <= _LARGEST_DSCP:
        raise Refusal(f"DSCP {options.dscp}: 0 to {_LARGEST_DSCP} are possible")
    for size, name in ((options.send_buffer_bytes, "send"), (options.receive_buffer_bytes, "receive")):
        if size is not None and not 1 <= size <= _LARGEST_BUFFER_BYTES:
            raise Refusal(f"a {name} buffer of {size} bytes: 1 to {_LARGEST_BUFFER_BYTES} are possible")


def set_options(sock: socket.socket, options: SocketOptions) -> None:
    """Set them on an accepted connection; an `OSError` names the option that the system refuses."""
    apply_options(sock, dataclasses.replace(options, mss_bytes=None))


def _algorithms() -> list[str]:
    try:
        return _ALGORITHMS.read_text().split()
    except OSError:
        return []
