"""Whether this program may capture, and what to do where it may not."""

from __future__ import annotations

import os
import socket
import sys

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.libpcap_calls import library


def missing_rights() -> str | None:
    """None where a capture can be made, else the one line that names what is missing and how to have it."""
    try:
        library()
    except CaptureError as error:
        return str(error)
    try:
        # Protocol 0: the socket gets no packets.
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except PermissionError:
        return how_to_grant()
    except OSError as error:
        return f"this kernel has no packet sockets, so nothing can be captured: {error.strerror}"
    return None


def how_to_grant() -> str:
    """The line for somebody without the capability. It goes to the interpreter itself, not to a link to it."""
    python = os.path.realpath(sys.executable) if sys.executable else "python3"
    return (
        f"no right to capture: this needs the capability CAP_NET_RAW. Run it with sudo, or grant it to all programs of "
        f"this interpreter: sudo setcap cap_net_raw+ep {python}"
    )
