"""`vmtrace corpus`: many captures, on as many machines as there are. Each subcommand is a module `corpus_*`."""

import argparse

from vmtrace.commands import corpus_analyze, corpus_bucket, corpus_merge, corpus_query, corpus_split
from vmtrace.commands.subcommands import parser_of, run_chosen


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace corpus`."""
    description = "Analyze many captures as one, on several processes or machines, with the result of a single process."
    modules = (corpus_analyze, corpus_query, corpus_split, corpus_bucket, corpus_merge)
    return parser_of("vmtrace corpus", description, modules)


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    from vmtrace.analyze._engine import TraceError
    from vmtrace.analyze.read.stores import PlaceError
    from vmtrace.corpus.errors import CorpusError
    from vmtrace.errors import CommandError, UsageError, describe

    try:
        return run_chosen(arguments)
    except PlaceError as error:
        raise UsageError(str(error)) from None
    except (CorpusError, TraceError, OSError) as error:
        raise CommandError(describe(error)) from None
