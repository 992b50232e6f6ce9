"""`vmtrace corpus merge`: what single commands have split and analysed, to one result. Missing buckets are analysed.

Exit status: 0 done; 1 it could not be.
"""

import argparse
from contextlib import closing

from vmtrace.capture.options import add_json_printed, add_out
from vmtrace.commands.corpus_analyze import report_done
from vmtrace.commands.corpus_options import StageDisplay, add_common
from vmtrace.errors import Exit

NAME = "merge"
LINE = "Merge the buckets that single commands have analysed: tables, document, page."
EXAMPLES = """  vmtrace corpus merge s3://bucket/work --out s3://bucket/results
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("split", metavar="URL", help="where vmtrace corpus split wrote its slices")
    add_out(parser, "where vmtrace corpus bucket wrote its results", "URL", type=str, required=True)
    add_json_printed(parser, "write analysis.json, too: the buckets were analysed with --json")
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    """Merge; returns the exit status."""
    from vmtrace.corpus.running import Run, Settings
    from vmtrace.corpus.workers import ThisProcess

    settings = Settings(
        out=arguments.out,
        endpoint_url=arguments.endpoint_url,
        buckets=None,
        memory_bytes=arguments.memory,
        json=arguments.json,
        keep_slices=True,
    )
    with closing(StageDisplay(wanted=not arguments.quiet)) as display:
        done = Run(settings, ThisProcess(display.reading), display).of_split(arguments.split)
    report_done(done, arguments.out, quiet=arguments.quiet)
    return Exit.DONE
