"""`vmtrace annotate`: a capture with comments for Wireshark, on its packets, on the file and on addresses.

Exit status: 0 it is written; 1 it is not, or the capture could not be read whole; 2 wrong usage.
"""

import argparse
import lzma
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_quiet
from vmtrace.commands.options import new_parser
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.formats.packed import opened
from vmtrace.progress import Bar

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

_DESCRIPTION = (
    "Write a capture as pcapng with comments for Wireshark: evidence of each finding, what triggered each"
    " retransmission, why there were pauses; on the file the findings; and names of addresses. No packet is changed."
)
_EXAMPLES = """  vmtrace annotate trace.pcap --write trace-annotated.pcapng
  vmtrace annotate trace.pcap --connection 3 --write three.pcapng    packets of connection 3 alone
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace annotate`."""
    parser = new_parser("annotate", "CAPTURE --write FILE", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("file", metavar="CAPTURE", type=Path, help="a pcap or pcapng file; gzip, bzip2 and xz are read, too")
    add("--write", metavar="FILE", type=Path, required=True, help="where to write it (pcapng); -: standard output")
    add(
        "--connection",
        metavar="N",
        type=int,
        action="append",
        default=[],
        help="write the packets of this connection alone; may be given several times",
    )
    add("--overwrite", action="store_true", help="replace FILE if it exists")
    add_quiet(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Annotate; returns the exit status."""
    from vmtrace.analyze.read.atomic import writing
    from vmtrace.analyze.reports.annotated.pcapng import AnnotateError, annotate
    from vmtrace.analyze.reports.annotated.remarks import remarks
    from vmtrace.analyze.trace import TraceError, read

    _check_place(arguments)
    bar = Bar([str(arguments.file)], wanted=not arguments.quiet)
    try:
        with bar:
            trace = read(str(arguments.file), progress=bar)
        known = set(trace.values("id"))
        for number in arguments.connection:
            if number not in known:
                raise CommandError(f"no connection {number}: there are {len(known):,}")
        with bar.making("the comments"):
            made = remarks(trace, arguments.connection)
            only = _frames(trace, arguments.connection)
            with (
                opened(arguments.file) as source,
                writing(arguments.write, over_a_capture=arguments.overwrite) as sink,
            ):
                written = annotate(source, sink, made, only)
    except (TraceError, AnnotateError, OSError, EOFError, lzma.LZMAError) as error:
        raise CommandError(
            f"{arguments.file}: {error}" if isinstance(error, AnnotateError) else describe(error)
        ) from None
    problems = [describe(error) for error in trace.errors]
    for problem in problems:
        complain(problem)
    if made.not_listed:
        complain(f"{made.not_listed:,} comments more than a file should have were left out")
    if not arguments.quiet:
        piped = arguments.write == Path(STANDARD_OUTPUT)
        out = sys.stderr if piped else sys.stdout
        print(f"{written:,} packets, {len(made.frames):,} with comments", file=out)
        shown = "" if piped else f"{command('wireshark', arguments.write)}    # filter: frame.comment"
        show_afterwards([arguments.write], shown, to=out)
    return Exit.FAILED if problems else Exit.DONE


def _check_place(arguments: argparse.Namespace) -> None:
    place: Path = arguments.write
    if place.exists() and arguments.file.exists() and place.samefile(arguments.file):
        raise UsageError(f"--write {place}: this is the capture itself; name another file")
    if place.is_file() and not arguments.overwrite:
        raise UsageError(f"--write {place}: this file exists; --overwrite replaces it")


def _frames(trace: "Trace", connections: list[int]) -> set[int] | None:
    return set(trace.packets(connections, columns=("frame",)).values("frame")) if connections else None
