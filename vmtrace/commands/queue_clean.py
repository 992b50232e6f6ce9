"""`vmtrace queue clean`: collect what a run left in its queue, and remove the queue if the run made it.

Exit status: 0 nothing is left; 1 something is, one line says what and why.
"""

import argparse
from pathlib import Path

from vmtrace.analyze.words.units import plural
from vmtrace.commands import options
from vmtrace.errors import Exit, complain

NAME = "clean"
LINE = "Collect and remove the messages that a run left in its queue, and the queue that it made."
EXAMPLES = """  vmtrace queue clean run1
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("run", metavar="RUN", nargs="+", type=Path, help="folder of a run")
    options.add_ca_bundle(parser, "the run's")


def run(arguments: argparse.Namespace) -> int:
    """Clean each run; returns the exit status."""
    from vmtrace.commands.queue_accounts import accounts_text
    from vmtrace.providers.errors import ProvidersError
    from vmtrace.providers.queues.cleaning import clean_queue_run

    status = Exit.DONE
    for path in arguments.run:
        try:
            cleaned = clean_queue_run(path, arguments.ca_bundle)
        except ProvidersError as error:
            complain(str(error))
            status = Exit.FAILED
            continue
        queue = "" if cleaned.queue is None else f", and queue {cleaned.queue}"
        print(f"{path}: {plural(cleaned.collected, 'message')} removed{queue}; {accounts_text(path)}")
    return status
