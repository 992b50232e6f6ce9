"""`vmtrace index`: which stretches of a capture hold which connections, so that a second reading fetches only those.

Exit status: 0 all captures have an index; 1 some have none.
"""

import argparse
import sys

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_out, add_quiet
from vmtrace.commands.options import add_endpoint_url, new_parser
from vmtrace.errors import CommandError, Exit, UsageError, complain, describe
from vmtrace.formats import STANDARD_OUTPUT
from vmtrace.progress import Bar

_DESCRIPTION = (
    "Write an index next to each capture (CAPTURE.vmtrace-index): which stretches of it hold which connections."
    " Packets of chosen connections, reports and figures then fetch only those. Captures must not be compressed."
)
_EXAMPLES = """  vmtrace index big.pcap
  vmtrace index 's3://bucket/2026/*.pcapng'
  vmtrace index https://host/big.pcap --out big.pcap.vmtrace-index    web servers are read-only
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace index`."""
    parser = new_parser("index", "CAPTURE ...", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("files", metavar="CAPTURE", nargs="+", help="captures: files, folders, patterns, s3:// gs:// az:// URLs")
    add_out(parser, "where to write the index of one capture (default: next to the capture)", "FILE", type=str)
    add_endpoint_url(parser)
    add_quiet(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Index captures; returns the exit status."""
    from vmtrace.analyze.read import capture_files
    from vmtrace.analyze.read.stores import PlaceError

    try:
        found = capture_files.find(arguments.files, arguments.endpoint_url)
    except PlaceError as error:
        raise UsageError(str(error)) from None
    for problem in found.problems:
        complain(problem)
    paths = [path for path in found.paths if not str(path).endswith(capture_files.INDEX_ENDING)]
    if not paths:
        raise CommandError("no captures to index")
    if arguments.out is not None and len(paths) > 1:
        raise UsageError("--out: goes with one capture; the indexes of several are written next to them")
    failures = len(found.problems) + sum(not _index(path, arguments) for path in paths)
    return Exit.FAILED if failures else Exit.DONE


def _index(path: str, arguments: argparse.Namespace) -> bool:
    """True if it was written."""
    from vmtrace.analyze import _engine
    from vmtrace.analyze.read import index_file

    try:
        with Bar([path], wanted=not arguments.quiet) as bar:
            index, errors = index_file.made(path, bar)
        for error in errors:
            complain(describe(error))
        if index.obstacle is not None:
            complain(f"{path}: no index: {index.obstacle}; it can only be read from its beginning")
            return False
        place = arguments.out or index_file.place_of(path)
        content = index_file.as_bytes(index, str(path))
        index_file.put(place, content, arguments.endpoint_url)
    except (_engine.TraceError, OSError) as error:
        complain(describe(error))
        return False
    if not arguments.quiet:
        stretches = f"{len(index.stretches):,} stretches"
        out = sys.stderr if place == STANDARD_OUTPUT else sys.stdout
        print(f"{index.packets:,} TCP packets in {stretches}, {len(content):,} bytes", file=out)
        show_afterwards([place], command("vmtrace", "analyze", path, "--connection", "1"), to=out)
    return True
