"""`vmtrace swarm seed`: share a file as an ordinary seed until Ctrl-C.

Exit status: 0 it shared until it was asked to end; 1 it could not; 2 wrong usage.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.afterwards import show_afterwards
from vmtrace.capture.options import add_duration, add_json_printed, add_quiet
from vmtrace.commands.values import read_option
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from vmtrace.providers.swarm.seed import SeedOrder, SeedState
    from vmtrace.providers.swarm.torrent import Torrent

NAME = "seed"
LINE = "Share a file as an ordinary seed; makes the torrent if there is none."
EXAMPLES = """  vmtrace swarm seed data.bin --write-torrent data.torrent --tracker http://198.18.0.1:6969/announce
  vmtrace swarm seed data.bin --torrent data.torrent --port 6881 --rate 5MB
"""
DEFAULT_PORT = 6881


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="the file to share")
    add("--torrent", metavar="FILE", type=Path, help="torrent of the file (default: create one)")
    add("--write-torrent", metavar="FILE", type=Path, help="write the new torrent to this file")
    add(
        "--piece-size",
        metavar="SIZE",
        help="piece size of the new torrent: a power of two from 16KiB (default: by size)",
    )
    add("--tracker", metavar="URL", action="append", default=[], help="announce to this tracker; may be repeated")
    add("--port", metavar="P", default=str(DEFAULT_PORT), help=f"TCP port to listen at (default: {DEFAULT_PORT})")
    add("--bind", metavar="ADDRESS", action="append", default=[], help="address to listen at (default: all)")
    add("--rate", metavar="SIZE", help="upload rate limit per second, e.g. 5MB (default: none)")
    add_duration(parser, "end after this time (default: at Ctrl-C)")
    add_json_printed(parser, "print what was uploaded as JSON at the end")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Share; returns the exit status."""
    from vmtrace.capture.live_display import Lines
    from vmtrace.providers import errors
    from vmtrace.providers.swarm.seed import check_seed, share

    try:
        order = _order(arguments)
        check_seed(order)

        def ready() -> None:
            if not arguments.quiet:
                Lines().say(_ready_text(order))
                if arguments.write_torrent is not None:
                    show_afterwards([arguments.write_torrent], to=sys.stderr)

        state = share(order, ready, lambda line: Lines().say(f"vmtrace: {line}"), _shows(quiet=arguments.quiet))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace swarm seed --help)") from error
    except errors.ProvidersError as error:
        complain(str(error))
        return Exit.FAILED
    if arguments.json:
        print(json.dumps({"info_hash": order.torrent.info_hash, "uploaded_bytes": state.uploaded_bytes}))
    elif not arguments.quiet:
        print(f"uploaded {state.uploaded_bytes:,} bytes")
    return Exit.DONE


def _order(arguments: argparse.Namespace) -> "SeedOrder":
    from vmtrace.formats.quantities import duration_s, size_bytes
    from vmtrace.providers import errors
    from vmtrace.providers.swarm.seed import SeedOrder

    if arguments.torrent is not None and arguments.write_torrent is not None:
        raise errors.UsageError("--write-torrent: goes with a torrent that is made: leave --torrent out")
    torrent = _torrent(arguments)
    rate = read_option("--rate", arguments.rate, lambda text: size_bytes(text.removesuffix("/s")))
    if rate is not None and rate < 1:
        raise errors.UsageError(f"--rate {arguments.rate}: expected more than 0")
    return SeedOrder(
        file=arguments.file,
        torrent=torrent,
        trackers=tuple(arguments.tracker) or torrent.trackers,
        bind=tuple(arguments.bind) or ("0.0.0.0", "::"),
        port=_port(arguments.port),
        rate_bytes_s=rate,
        duration_s=read_option("--duration", arguments.duration, duration_s),
    )


def _torrent(arguments: argparse.Namespace) -> "Torrent":
    from vmtrace.formats.quantities import size_bytes
    from vmtrace.providers import errors
    from vmtrace.providers.swarm.torrent import made_torrent, piece_size_of, read_torrent, write_torrent

    if arguments.torrent is not None:
        if arguments.piece_size is not None:
            raise errors.UsageError("--piece-size: goes with a torrent that is made: leave --torrent out")
        return read_torrent(arguments.torrent)
    piece_bytes = read_option("--piece-size", arguments.piece_size, size_bytes) or 0
    made = made_torrent(arguments.file, tuple(arguments.tracker), piece_size_of(piece_bytes))
    if arguments.write_torrent is not None:
        write_torrent(made, arguments.write_torrent)
    return made


def _port(text: str) -> int:
    from vmtrace.providers import errors

    if not text.isascii() or not text.isdigit() or not 0 < int(text) < 65_536:
        raise errors.UsageError(f"--port {text}: expected a number from 1 to 65535")
    return int(text)


def _ready_text(order: "SeedOrder") -> str:
    from vmtrace.formats.quantities import shown_decimal_bytes

    torrent = order.torrent
    limit = "" if order.rate_bytes_s is None else f" at most {shown_decimal_bytes(order.rate_bytes_s)}/s"
    where = f"announced to {', '.join(order.trackers)}" if order.trackers else "no tracker"
    size = shown_decimal_bytes(torrent.size_bytes)
    return f"seeding {torrent.name} ({size}, {torrent.info_hash}) at port {order.port}{limit}, {where}; Ctrl-C ends it"


class _Shows:
    """Rewrites one line at a terminal; elsewhere it is silent."""

    def __call__(self, state: "SeedState") -> None:
        from vmtrace.formats.quantities import shown_decimal_bytes, shown_rate

        text = f"{shown_decimal_bytes(state.uploaded_bytes)} up, {shown_rate(state.rate_bps)}, {state.peers} peers"
        print(f"\r{text:<60}", end="", file=sys.stderr, flush=True)


def _shows(*, quiet: bool) -> "_Shows | type[_Silent]":
    return _Silent if quiet or not sys.stderr.isatty() else _Shows()


class _Silent:
    """Shows nothing."""

    def __init__(self, _state: "SeedState") -> None:
        pass
