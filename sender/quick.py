"""A plan out of a few options, as iperf3 has them: `send HOST -t 10 -P 4 -R`, without a plan file.

One pair after the other, each a small probe and a data transfer. By time, data transfers grow until one fills what is
left (`Plan.fill`); by size, there is one pair.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Callable

from vmtrace.capture.options import whole
from vmtrace.formats.quantities import duration_s, size_bytes
from vmtrace.sender.errors import UsageError
from vmtrace.sender.plan import Entry, Plan, TransferPlan
from vmtrace.sender.plan_record import LONGEST_S, MOST_BYTES, MOST_STREAMS
from vmtrace.sender.wire.records import BOTH, DOWNLOAD, UPLOAD
from vmtrace.sender.wire.socket_options import SocketOptions

_DEFAULT_S = 10.0
_PROBE_BYTES = 64 << 10
_FIRST_DATA_BYTES = 256 << 10
"""Of each stream, before anything is known of the path."""
_OPTIONS = {"time": "-t", "size": "-n", "streams": "-P", "direction": "-R or --bidir", "algorithm": "-C"}
_INSTEAD_OF = {"plan": "--plan", "repeat": "--repeat", "duration": "--for", "scale": "--scale"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options, with the letters that iperf3 gives them."""
    group = parser.add_argument_group("without a plan")
    length = group.add_mutually_exclusive_group()
    length.add_argument("-t", "--time", metavar="TIME", type=time_s, help="duration of the transfer (default: 10s)")
    length.add_argument("-n", "--bytes", dest="size", metavar="SIZE", type=_size, help="bytes to transfer, e.g. 1GB")
    group.add_argument(
        "-P", "--parallel", dest="streams", metavar="N", type=whole(1, MOST_STREAMS), help="streams at once"
    )
    way = group.add_mutually_exclusive_group()
    way.add_argument(
        "-R", "--reverse", dest="direction", action="store_const", const=DOWNLOAD, help="the receiver sends"
    )
    way.add_argument("--bidir", dest="direction", action="store_const", const=BOTH, help="both send at the same time")
    group.add_argument("-C", "--congestion", dest="algorithm", metavar="NAME", help="congestion control, e.g. bbr")


def is_wanted(arguments: argparse.Namespace) -> bool:
    """Whether the options ask for such a plan; raises `UsageError` where they ask for another, too."""
    quick = [letter for name, letter in _OPTIONS.items() if getattr(arguments, name, None) is not None]
    other = [option for name, option in _INSTEAD_OF.items() if getattr(arguments, name, None) is not None]
    if quick and other:
        raise UsageError(f"{quick[0]} makes its own plan: it cannot be combined with {other[0]}")
    return bool(quick)


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options stand for."""
    direction, streams = arguments.direction or UPLOAD, arguments.streams or 1
    options = SocketOptions(congestion_control=arguments.algorithm)
    probe = TransferPlan(_PROBE_BYTES, direction, options=options)
    size = arguments.size or _FIRST_DATA_BYTES * streams
    entry = Entry("quick", 1, probe, TransferPlan(max(streams, size), direction, streams, options=options))
    if arguments.size is not None:
        return Plan("quick", (entry,))
    return Plan("quick", (entry,), repeat=None, duration_s=arguments.time or _DEFAULT_S, fill=True)


def new_folder() -> Path:
    """Where a run goes for which no folder was named: a new one here, by the time."""
    return Path(time.strftime("vmtrace-%Y%m%d-%H%M%S"))


def time_s(text: str) -> float:
    """A time of an option, above zero."""
    seconds = _read(text, duration_s)
    if not 0 < seconds <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text}: must be more than 0, and at most ten years")
    return seconds


def _size(text: str) -> int:
    size = int(_read(text, size_bytes))
    if not 1 <= size <= MOST_BYTES:
        raise argparse.ArgumentTypeError(f"{text}: must be 1 to {MOST_BYTES:,} bytes")
    return size


def _read(text: str, read: Callable[[str], float]) -> float:
    try:
        return read(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
