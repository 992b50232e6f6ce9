"""`vmtrace corpus bucket`: the slices of one bucket to connections. Done again it does nothing.

Exit status: 0 it is analysed; 1 it could not be.
"""

import argparse

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_json_printed, add_out, whole
from vmtrace.commands.corpus_options import MOST_BUCKETS, add_common
from vmtrace.errors import Exit

NAME = "bucket"
LINE = "Analyse one bucket of the slices: the second of two commands for any scheduler of jobs."
EXAMPLES = """  vmtrace corpus bucket s3://bucket/work --bucket 3 --out s3://bucket/results
  for b in $(seq 0 7); do vmtrace corpus bucket work --bucket $b --out results; done
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("split", metavar="URL", help="where vmtrace corpus split wrote its slices")
    add("--bucket", metavar="N", type=whole(0, MOST_BUCKETS - 1), required=True, help="number of the bucket, from 0")
    add_out(parser, "folder or prefix for the results, the same for all buckets", "URL", type=str, required=True)
    add_json_printed(parser, "also write what analysis.json needs")
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    """Analyse; returns the exit status."""
    from vmtrace.corpus.buckets import BucketTask, analyze_bucket

    task = BucketTask(
        split=arguments.split,
        bucket=arguments.bucket,
        out=arguments.out,
        endpoint_url=arguments.endpoint_url,
        json=arguments.json,
        memory_bytes=arguments.memory,
    )
    name = analyze_bucket(task)
    if not arguments.quiet:
        merge = command("vmtrace", "corpus", "merge", arguments.split, "--out", arguments.out)
        show_afterwards([f"{arguments.out}/{name}"], f"{merge}    # once all buckets are analysed")
    return Exit.DONE
