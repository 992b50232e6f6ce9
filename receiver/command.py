"""The command line of the receiver: `vmtrace receive`, `python3 -m vmtrace.receiver`, and the agent's `receive`."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Callable, NamedTuple

from vmtrace.capture.instance_metadata import check_setting
from vmtrace.capture.interfaces import no_such_interface
from vmtrace.capture.interruption import ending_signals
from vmtrace.capture.libpcap import interface_names
from vmtrace.capture.options import add_interface, add_no_capture, add_out, add_quiet, whole
from vmtrace.capture.rights import missing_rights
from vmtrace.capture.settings import ANY
from vmtrace.formats.durable import make_folder
from vmtrace.receiver.log import Log
from vmtrace.receiver.places import open_files
from vmtrace.receiver.server import Server
from vmtrace.receiver.settings import ReceiverSettings
from vmtrace.sender.wire.endpoint import DEFAULT_PORT
from vmtrace.sender.wire.keys import ENVIRONMENT, load_key, write_new_key
from vmtrace.sender.wire.version import vmtrace_version

_LARGEST_PORT = 65535
_MOST_STREAMS = 1024
_EXAMPLES = """examples:
  vmtrace receive --key-file vmtrace.key                 make a key if there is none, record every transfer
  vmtrace receive --key-file vmtrace.key --no-capture    without the rights to record packets
  vmtrace receive --key-file vmtrace.key --bind 198.51.100.7 --out /data/vmtrace

The key file goes to the sender over a safe channel (scp). Nobody without it is served: docs/security.md.
"""


def build_parser() -> argparse.ArgumentParser:
    """All options of the receiver."""
    parser = argparse.ArgumentParser(
        prog="vmtrace receive",
        description="Wait for a sender and receive its transfers: the far end of a connection-pair campaign.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--key-file", metavar="FILE", help=f"the shared key; created if there is no such file (or set {ENVIRONMENT})"
    )
    parser.add_argument("--bind", metavar="ADDR", help="listen on this address only (default: all, IPv4 and IPv6)")
    parser.add_argument(
        "--port",
        metavar="PORT",
        type=whole(0, _LARGEST_PORT),
        default=DEFAULT_PORT,
        help="TCP port (default: 5810; 0: any)",
    )
    add_out(parser, "folder of the recordings (default: %(default)s)", "DIR", default=Path("vmtrace-receiver"))
    recording = parser.add_argument_group("recording")
    capture = recording.add_mutually_exclusive_group()
    add_interface(capture, "record here (default: the interface towards the sender)")
    add_no_capture(capture, "record no packets")
    recording.add_argument("--no-host-counters", action="store_true", help="record no counters of this host")
    parser.add_argument(
        "--certificate",
        metavar="FILE",
        type=Path,
        help="PEM file with certificate and key for TLS (default: create one)",
    )
    limits = parser.add_argument_group("limits")
    for option in _limits():
        limits.add_argument(
            option.flag,
            metavar=option.metavar,
            type=option.type,
            default=option.default,
            help=f"{option.what} (default: %(default)s)",
        )
    output = parser.add_argument_group("output")
    output.add_argument("--json-lines", action="store_true", help="report events as one JSON object per line")
    add_quiet(output, "print only the address, errors and warnings")
    return parser


class _Limit(NamedTuple):
    """An option that bounds what clients may ask for, in whole numbers from 1 on."""

    flag: str
    metavar: str
    what: str
    default: int
    type: Callable[[str], int]


def _limits() -> tuple[_Limit, ...]:
    settings = ReceiverSettings(Path())
    limits, per_second = settings.limits, settings.admission.connections_per_s
    limit = whole(1, 2**63 - 1)
    return (
        _Limit("--max-sessions", "N", "senders served at a time", settings.sessions, limit),
        _Limit("--max-streams", "N", "streams of a transfer", limits.streams, whole(1, _MOST_STREAMS)),
        _Limit("--max-transfer-bytes", "N", "bytes of a transfer", limits.transfer_bytes, limit),
        _Limit("--max-session-bytes", "N", "bytes of a session", limits.session_bytes, limit),
        _Limit("--max-transfer-time", "S", "seconds a transfer may take", int(limits.transfer_s), limit),
        _Limit("--max-session-time", "S", "seconds a session may take", int(limits.session_s), limit),
        _Limit("--max-connection-rate", "N", "connections per second from one address", int(per_second), limit),
    )


def run(arguments: argparse.Namespace) -> int:
    """Serve until it is told to end. Returns the exit status; trouble that ends the receiver is raised as `OSError` or
    `ValueError` with one clear line."""
    log = Log(json_lines=arguments.json_lines, quiet=arguments.quiet)
    key = _key(arguments.key_file, log)
    settings = settings_of(arguments)
    if settings.interface is not None and settings.interface not in (*interface_names(), ANY):
        raise ValueError(no_such_interface(settings.interface))
    if settings.host_counters:
        check_setting()
    make_folder(settings.folder)
    open_files(as_many_as_allowed=True)
    server = Server(settings, key, log, vmtrace_version())
    _stop_on_signals(server)
    if settings.capture:
        reason = missing_rights()
        if reason is not None:
            log.trouble(f"transfers will not be recorded here: {reason}; --no-capture goes on without this warning")
    log.event("listening", f"listening on {server.address}", address=server.address, port=server.port)
    server.serve()
    return 0


def settings_of(arguments: argparse.Namespace) -> ReceiverSettings:
    """The settings that the options stand for."""
    defaults = ReceiverSettings(arguments.out)
    limits = dataclasses.replace(
        defaults.limits,
        transfer_bytes=arguments.max_transfer_bytes,
        session_bytes=arguments.max_session_bytes,
        transfer_s=float(arguments.max_transfer_time),
        session_s=float(arguments.max_session_time),
        streams=arguments.max_streams,
    )
    rate = float(arguments.max_connection_rate)
    return dataclasses.replace(
        defaults,
        bind=arguments.bind,
        port=arguments.port,
        capture=not arguments.no_capture,
        interface=arguments.interface,
        sessions=arguments.max_sessions,
        limits=limits,
        admission=dataclasses.replace(defaults.admission, connections_per_s=rate),
        certificate=arguments.certificate,
        host_counters=not arguments.no_host_counters,
    )


def _key(path: str | None, log: Log) -> bytes:
    if path is not None and not Path(path).exists():
        write_new_key(Path(path))
        print(
            f"vmtrace: made a new key in {path}: copy this file to the sender over a safe channel, such as scp",
            file=sys.stderr,
            flush=True,
        )
        log.event("new_key", f"made a new key in {path}", path=path)
    return load_key(path)


def _stop_on_signals(server: Server) -> None:
    def stop(_number: int, _frame: FrameType | None) -> None:
        server.stop()

    for number in ending_signals():
        signal.signal(number, stop)
