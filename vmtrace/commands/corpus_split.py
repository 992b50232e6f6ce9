"""`vmtrace corpus split`: a run of captures to slices. Done again it does nothing; done at the same time, no harm.

Exit status: 0 it is split; 1 it could not be.
"""

import argparse

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import whole
from vmtrace.commands.corpus_options import MOST_BUCKETS, add_common, found_inputs
from vmtrace.commands.options import add_read_packets
from vmtrace.errors import Exit, complain

NAME = "split"
LINE = "Split captures by address pair into slices: the first of two commands for any scheduler of jobs."
EXAMPLES = """  vmtrace corpus split day1.pcap --buckets 8 --to s3://bucket/work
  vmtrace corpus split eth0.pcap eth1.pcap --buckets 8 --to /shared/work    overlapping captures together
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="+", help="captures that are read as one run: files, folders, patterns, URLs")
    add("--buckets", metavar="B", type=whole(1, MOST_BUCKETS), required=True, help="slices to make of each run")
    add("--to", metavar="URL", required=True, help="folder or prefix for slices, the same for all runs")
    add_read_packets(parser)
    add_common(parser)


def run(arguments: argparse.Namespace) -> int:
    """Split; returns the exit status."""
    from vmtrace.corpus.splitting import SplitTask, manifests, split

    found = found_inputs(arguments, "split")
    task = SplitTask(
        found.inputs,
        arguments.buckets,
        arguments.to,
        arguments.endpoint_url,
        memory_bytes=arguments.memory,
        filter=arguments.filter,
    )
    name = split(task)
    [manifest] = manifests(arguments.to, arguments.endpoint_url, [name])
    for problem in manifest.problems:
        complain(problem)
    if not arguments.quiet:
        print(f"{manifest.packets:,} TCP packets in {len(manifest.slices):,} slices")
        following = f"{command('vmtrace', 'corpus', 'bucket', arguments.to)} --bucket 0 --out RESULTS"
        show_afterwards(
            [f"{arguments.to}/{name}"], f"{following}    # and for each bucket up to {arguments.buckets - 1}"
        )
    return Exit.DONE
