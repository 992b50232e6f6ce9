"""`vmtrace watch`: its options. What it does with them is `vmtrace.commands.watching`."""

import argparse

from vmtrace.capture.options import add_duration, add_filter, add_interface, add_quiet, lasting
from vmtrace.commands.options import add_file, add_keylog, add_memory, add_otlp, add_oversize_abs, new_parser
from vmtrace.errors import UsageError
from vmtrace.formats.quantities import duration_s, size_bytes

_LONGEST_S = 366 * 86_400.0
_KEPT_BYTES = 100_000_000
_MOST_PORT = 65_535
_MOST_KEPT_BYTES = 16_000_000_000
_DESCRIPTION = (
    "Analyse packets while they pass: connections, flows, lookups, what limits them now, and the costliest findings."
    " What it says is what `vmtrace analyze` says of the same packets."
)
_EXAMPLES = """\
  vmtrace watch --interface eth0                        a screen; s saves the last packets, q or Ctrl-C ends
  vmtrace watch --interface eth0 --filter 'tcp port 443' --keep 5min
  vmtrace watch growing.pcap                            a file that another program writes
  tcpdump -i eth0 -U -w - | vmtrace watch -
  ssh host tcpdump -U -w - not port 22 | vmtrace watch -
  vmtrace watch --interface eth0 --quiet --prometheus :9810 --otlp http://localhost:4318
  vmtrace watch --interface eth0 --json-lines | jq -c 'select(.record == "finding")'
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace watch`."""
    parser = new_parser("watch", "(--interface IF | FILE)", _DESCRIPTION, _EXAMPLES)
    parser.add_argument("file", metavar="FILE", nargs="?", help="a growing file or a pipe; - is standard input")
    packets = parser.add_argument_group("which packets")
    add_interface(packets, "record this interface; any: all of them", "-i")
    add_filter(packets, "only packets that match, e.g. 'tcp port 443'")
    add_keylog(packets)
    add_duration(packets, "end after this time (60, 10min)", lasting(_LONGEST_S))
    packets.add_argument(
        "--until-idle", metavar="TIME", type=lasting(_LONGEST_S), help="end when nothing has come for this time"
    )
    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--every", metavar="TIME", type=lasting(3600), default=2.0, help="time between two updates (default: 2s)"
    )
    shown.add_argument("--lines", action="store_true", help="a line at each update, even on a terminal")
    shown.add_argument("--json-lines", action="store_true", help="for programs: one JSON object a line")
    shown.add_argument("--no-color", action="store_true", help="no colour, even on a terminal")
    add_quiet(shown, "print the answer at the end, and nothing before")
    add_oversize_abs(shown, "count a pause as unusually long from this many milliseconds on (default: adaptive)")
    metrics = parser.add_argument_group("metrics by service")
    add_otlp(metrics)
    metrics.add_argument(
        "--prometheus",
        metavar="[ADDRESS]:PORT",
        type=_place,
        help="serve metrics for Prometheus, e.g. :9810; without an address for this machine alone",
    )
    memory = parser.add_argument_group("memory")
    memory.add_argument(
        "--keep",
        metavar="SIZE|TIME",
        type=_kept,
        default=(_KEPT_BYTES, None),
        help="keep the last packets of this size or time, to be saved by the key s or SIGUSR1 (default: 100MB)",
    )
    add_file(memory, "--save-to", "folder for what is saved (default: the current one)", "DIR")
    memory.add_argument(
        "--forget-after",
        metavar="TIME",
        type=lasting(_LONGEST_S),
        default=600.0,
        help="forget connections, flows and lookups that ended so long ago (default: 10min)",
    )
    kept = "what connections may take before those that were silent for longest are forgotten (default: 1.3GB)"
    add_memory(memory, kept, 1_300_000_000)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Watch until the end; returns the exit status."""
    from vmtrace.commands import watching

    if (arguments.file is None) == (arguments.interface is None):
        raise UsageError("name either --interface or a FILE (- is standard input)")
    return watching.run(arguments)


def _place(text: str) -> tuple[str, int]:
    address, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r}: expected [ADDRESS]:PORT, e.g. :9810")
    return address.strip("[]") or "127.0.0.1", int(port)


def _kept(text: str) -> tuple[int, float | None]:
    """Bytes, and seconds if a time was given: that has a bound in bytes, too."""
    try:
        return min(size_bytes(text), _MOST_KEPT_BYTES), None
    except ValueError:
        pass
    try:
        return 10 * _KEPT_BYTES, duration_s(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a size (200MB) nor a time (5min)") from None
