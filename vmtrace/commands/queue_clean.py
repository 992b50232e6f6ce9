"""`vmtrace queue clean`: collect what a run left in its queue, and remove the queue if the run made it.

The line that accounts for every message of a run is here, for the end of `queue run` as well.

Exit status: 0 nothing is left; 1 something is, one line says what and why.
"""

import argparse
from pathlib import Path

from vmtrace.commands.service_runs import add_clean_options, clean_runs
from vmtrace.formats.quantities import plural

NAME = "clean"
LINE = "Collect and remove the messages that a run left in its queue, and the queue that it made."
EXAMPLES = """  vmtrace queue clean run1
"""
add_options = add_clean_options


def run(arguments: argparse.Namespace) -> int:
    """Clean each run; returns the exit status."""
    from vmtrace.providers.queues.cleaning import clean_queue_run

    def clean(path: Path) -> tuple[str, str]:
        cleaned = clean_queue_run(path, arguments.ca_bundle)
        queue = "" if cleaned.queue is None else f", and queue {cleaned.queue}"
        return f"{plural(cleaned.collected, 'message')} removed{queue}; {accounts_text(path)}", ""

    return clean_runs(arguments, clean)


def accounts_text(folder: Path) -> str:
    """`12,000 messages: 11,990 delivered, 10 pending`; says so where the run cannot be read."""
    from vmtrace.analyze.read.records.run_folder import RunFolderError
    from vmtrace.analyze.reports.queues.fates import accounts, fates_text
    from vmtrace.analyze.reports.queues.run_folder import read_queue_run

    try:
        return fates_text(accounts(read_queue_run(folder)))
    except (RunFolderError, OSError, ValueError) as error:
        return f"messages not accounted for: {error}"
