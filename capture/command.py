"""`vmtrace capture`, `python3 -m vmtrace.capture`: its options, and one recording from begin to end.

Exit status: 0 recorded until it was ended, also by Ctrl-C or SIGTERM where no end was asked for; 1 it could not begin
or had to end early (the files hold what came until then); 2 wrong usage; 130 interrupted before `--duration` or
`--count`.
Dropped packets do not change the status: they are in the health, and told at the end.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.display import LiveLine, health_text
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import HEALTH_SUFFIX, CaptureHealth
from vmtrace.capture.interfaces import interface_lines
from vmtrace.capture.options import (
    above,
    add_duration,
    add_filter,
    add_interface,
    add_json_printed,
    add_quiet,
    lasting,
    whole,
)
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.rotation import Rotation
from vmtrace.capture.settings import DIRECTIONS, LARGEST_BUFFER_BYTES, LARGEST_SNAPLEN, CaptureSettings
from vmtrace.formats import STANDARD_OUTPUT

_FILES_NAMED = 3
_LONGEST_S = 10 * 366 * 86_400.0
_DONE, _FAILED, _USAGE, _INTERRUPTED = 0, 1, 2, 130
_EXAMPLES = """\
examples:
  vmtrace capture --list
  vmtrace capture --interface eth0 --write trace.pcap
  vmtrace capture --interface eth0 --write trace.pcap --filter 'tcp port 443' --duration 60
  vmtrace capture --interface any --write day.pcap --rotate-size 500M --rotate-seconds 3600
  vmtrace capture --interface eth0 --write - --snaplen 262144 | tshark -r -

Without --snaplen the headers of each packet are kept, complete TLS handshakes, and 16 bytes of payload. Next to each
file is its health, FILE.capture.json: packets received, dropped, written. Ctrl-C ends a recording; its files are
complete.
"""
_SIZE = re.compile(r"([0-9]+)([kKMG]?)(i?)B?")
_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3}


def build_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        prog="vmtrace capture",
        description="Record the packets of an interface with libpcap.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    recording = parser.add_argument_group("recording")
    add = recording.add_argument
    add_interface(recording, "record this interface; any: all of them", "-i")
    add("--write", "-w", metavar="FILE", type=Path, help="pcap file to write; -: standard output")
    add("--overwrite", action="store_true", help="replace FILE if it exists")
    add_filter(recording, "record only what matches, e.g. 'tcp port 443'", default="")
    add(
        "--snaplen",
        metavar="N",
        type=whole(1, LARGEST_SNAPLEN),
        help=f"keep N bytes of each packet, {LARGEST_SNAPLEN} for all (default: headers, and complete TLS handshakes)",
    )
    add(
        "--buffer-bytes",
        metavar="BYTES",
        type=_buffer,
        help="kernel buffer (default: sized for the link, 32 to 256 MiB)",
    )
    add("--direction", choices=DIRECTIONS, default="both", help="only what comes in or goes out (default: both)")
    add("--promiscuous", action="store_true", help="also record packets addressed to other hosts")
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add_duration(limits, "stop after this time (60, 10min)", lasting(_LONGEST_S))
    add("--count", metavar="N", type=whole(1, 1 << 62), help="stop after this many packets")
    add("--rotate-size", metavar="BYTES", type=size, help="start a new file after this many bytes (500M, 1Gi)")
    add("--rotate-seconds", metavar="S", type=above(0, _LONGEST_S), help="start a new file after this many seconds")
    output = parser.add_argument_group("output")
    add = output.add_argument
    add_json_printed(output, "print the recording's counters as JSON at the end")
    add_quiet(output)
    add("--list", action="store_true", help="list the interfaces, and exit")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    try:
        if arguments.list:
            print("\n".join(interface_lines()))
            return _DONE
        wrong = _wrong_usage(arguments)
        if wrong:
            return _complain(f"{wrong} (see --help)", _USAGE)
        return _record(arguments)
    except CaptureError as error:
        return _complain(str(error), _FAILED)


def size(text: str) -> int:
    """`1000`, `500k`, `64M`, `1Gi`: bytes."""
    match = _SIZE.fullmatch(text)
    if not match or (match[3] and not match[2]) or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes (1000, 500k, 64M, 1Gi)")
    power: int = (1024 if match[3] else 1000) ** _POWERS[match[2]]
    return int(match[1]) * power


class _Signals:
    """Ctrl-C, SIGTERM and SIGHUP end the recording in good order; a second one ends it as it would without us."""

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[int, object] = {}

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Until the end of the block, and only in the main thread, where Python allows it."""
        if threading.current_thread() is threading.main_thread():
            self._before = {
                number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
            }
            for number, handler in self._before.items():
                # What nohup or a shell's & told us to ignore stays ignored, but for SIGTERM, which nobody means so.
                if handler is not signal.SIG_IGN:
                    signal.signal(number, self._asked)
        try:
            yield
        finally:
            self._restore()

    def _asked(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def _record(arguments: argparse.Namespace) -> int:
    recorder = Recorder(
        CaptureSettings(
            interface=arguments.interface,
            filter=arguments.filter,
            snaplen=arguments.snaplen,
            buffer_bytes=arguments.buffer_bytes,
            direction=arguments.direction,
            promiscuous=arguments.promiscuous,
        ),
        arguments.write,
        Rotation(arguments.rotate_size, arguments.rotate_seconds),
        arguments.count,
    )
    signals = _Signals()
    line = LiveLine(wanted=not arguments.quiet and not arguments.json)
    with signals.caught():
        recorder.start()
        try:
            if not arguments.quiet and not arguments.json:
                print(f"recording {arguments.interface} (Ctrl-C to end)", file=sys.stderr, flush=True)
            end_s = math.inf if arguments.duration is None else time.monotonic() + arguments.duration
            while not signals.asked and time.monotonic() < end_s:
                if recorder.wait(min(0.1, max(0.0, end_s - time.monotonic()))):
                    break
                line.show(recorder.progress())
        finally:
            line.clear()
            health = recorder.stop()
    _tell(arguments, health, recorder.healths())
    if health.error:
        return _complain(health.error, _FAILED)
    limited = arguments.duration is not None or arguments.count is not None
    return _INTERRUPTED if signals.asked and limited else _DONE


def _tell(arguments: argparse.Namespace, health: CaptureHealth, healths: list[CaptureHealth]) -> None:
    if arguments.json:
        print(json.dumps({**health.as_record(), "files": [one.as_record() for one in healths]}, indent=1))
    elif not arguments.quiet or health.dropped or health.warnings:
        # Standard output may be the capture itself.
        out = sys.stderr if arguments.write == Path(STANDARD_OUTPUT) or arguments.quiet else sys.stdout
        print(health_text(health, len(healths)), file=out)
        if not arguments.quiet:
            files, following = _afterwards(arguments.write, healths)
            show_afterwards(files, following, to=out)


def _afterwards(place: Path, healths: list[CaptureHealth]) -> tuple[list[str], str]:
    """The files of a recording, and the command that reads them; of a pipe there is none."""
    files = [place.with_name(one.file) for one in healths if place != Path(STANDARD_OUTPUT)]
    if not files:
        return [], ""
    if len(files) <= _FILES_NAMED:
        return [*map(str, files)], command("vmtrace", "analyze", *files)
    every = place.with_name(f"{place.stem}-*{place.suffix}")
    return [str(files[0]), "...", str(files[-1])], command("vmtrace", "analyze", every)


def _wrong_usage(arguments: argparse.Namespace) -> str | None:
    for name in ("interface", "write"):
        if not getattr(arguments, name):
            return f"--{name} is missing"
    if arguments.write == Path(STANDARD_OUTPUT):
        if arguments.json:
            return "--json and --write - both want standard output"
        if arguments.rotate_size or arguments.rotate_seconds:
            return "standard output is one file: it cannot be rotated"
        if sys.stdout.isatty():
            return "--write - would put packets on the terminal: pipe it into a program"
    elif arguments.write.name.endswith(HEALTH_SUFFIX):
        return f"{arguments.write} is the name of a health file, not of a capture"
    else:
        first = Rotation(arguments.rotate_size, arguments.rotate_seconds).path(arguments.write, 1)
        if first.is_file() and not arguments.overwrite:
            return f"--write {first}: this file exists; --overwrite replaces it"
    return None


def _complain(message: str, status: int) -> int:
    print(f"vmtrace: {message}", file=sys.stderr)
    return status


def _buffer(text: str) -> int:
    count = size(text)
    if count > LARGEST_BUFFER_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is more than libpcap takes, {LARGEST_BUFFER_BYTES} bytes")
    return count
