"""The socket options that a sender asks for, at this end: checked before a transfer, set on its connections."""

from __future__ import annotations

import dataclasses
import socket

from vmtrace.receiver.refusal import Refusal
from vmtrace.sender.wire.socket_options import SocketOptions, apply_options, declared, given


def check_options(options: SocketOptions) -> None:
    """Raise `Refusal` for what cannot be set here."""
    for one, value in given(options):
        reason = one.refusal(value)
        if reason is not None:
            raise Refusal(reason)


def set_options(sock: socket.socket, options: SocketOptions) -> None:
    """Set them on an accepted connection; an `OSError` names the option that the system refuses."""
    elsewhere = {name: None for name, one in declared(type(options)).items() if not one.at_receiver}
    apply_options(sock, dataclasses.replace(options, **elsewhere))
