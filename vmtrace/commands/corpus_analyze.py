"""`vmtrace corpus analyze`: all stages of a run, here or on a cluster, resumed where an earlier one stopped.

Exit status: 0 done (what is no capture was left out and reported); 1 it could not be done; 130 interrupted.
"""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_json_printed, add_out, whole
from vmtrace.commands.corpus_options import MOST_BUCKETS, StageDisplay, add_common, found_inputs
from vmtrace.commands.options import add_read_packets, filled
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from vmtrace.corpus.running import Done
    from vmtrace.corpus.workers import Workers

NAME = "analyze"
LINE = "Analyse captures as one run, on several processes or machines; the same command resumes it."
EXAMPLES = """  vmtrace corpus analyze 's3://bucket/2026/*.pcap.gz' --out s3://bucket/results
  vmtrace corpus analyze captures/ --out results --workers 4 --memory 1GiB
  vmtrace corpus analyze 's3://bucket/*.pcap' --out s3://bucket/out --scheduler tcp://10.0.0.5:8786
"""
_MOST_WORKERS = 256


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("files", metavar="URL", nargs="+", help="captures: files, folders, patterns, s3:// gs:// az:// URLs")
    add_out(parser, "folder or prefix for the results", "URL", type=str, required=True)
    who = parser.add_mutually_exclusive_group()
    who.add_argument("--scheduler", metavar="tcp://HOST:8786", help="use the workers of this Dask scheduler")
    who.add_argument(
        "--workers",
        metavar="N",
        type=whole(1, _MOST_WORKERS),
        default=1,
        help="processes to use on this machine (default: 1)",
    )
    add(
        "--buckets",
        metavar="B",
        type=whole(1, MOST_BUCKETS),
        help="number of parts to analyse (default: by the size of the corpus)",
    )
    add_json_printed(parser, "also write analysis.json, byte for byte as a single process writes it")
    add("--keep-slices", action="store_true", help="keep slices and partial results")
    add_read_packets(parser)
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run it; returns the exit status."""
    from vmtrace.corpus import inputs
    from vmtrace.corpus.running import Run, Settings

    found = found_inputs(arguments, "analyse")
    if len(found.inputs) > inputs.MOST_INPUTS:
        most = f"{inputs.MOST_INPUTS:,}"
        raise UsageError(f"{len(found.inputs):,} captures: at most {most} are one run; join some with mergecap")
    settings = filled(Settings, arguments, memory_bytes=arguments.memory)
    with closing(StageDisplay(wanted=not arguments.quiet)) as display, _workers(arguments, display) as workers:
        done = Run(settings, workers, display).of(found)
    report_done(done, arguments.out, quiet=arguments.quiet)
    return Exit.DONE


@contextmanager
def _workers(arguments: argparse.Namespace, display: StageDisplay) -> "Iterator[Workers]":
    from vmtrace.corpus import workers

    if arguments.scheduler is not None:
        with workers.cluster_at(arguments.scheduler) as cluster:
            yield cluster
    elif arguments.workers > 1:
        with workers.local_cluster(arguments.workers, arguments.memory) as cluster:
            yield cluster
    else:
        yield workers.ThisProcess(display.reading)


def report_done(done: "Done", out: str, *, quiet: bool) -> None:
    """What went wrong; then, unless that alone is wanted, the answer and where all of it is."""
    for problem in done.problems:
        complain(problem)
    if not quiet:
        _print_done(done, out)


def _print_done(done: "Done", out: str) -> None:
    """The answer first, then where all of it is."""
    from vmtrace.formats.quantities import plural

    for line in done.answer:
        print(line)
    print(f"{plural(done.connections, 'connection')} in {plural(len(done.header['inputs']), 'capture')}")
    question = "SELECT verdict_factor, count(*) FROM connections GROUP BY 1"
    show_afterwards([out, f"{out}/report.html"], command("vmtrace", "corpus", "query", out, question))
