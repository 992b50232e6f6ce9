"""`vmtrace storage clean`: remove what a run left at the service when it was killed or could not reach it.

Exit status: 0 nothing is left; 1 something is, one line says what and why.
"""

import argparse
from pathlib import Path

from vmtrace.analyze.words.units import plural
from vmtrace.commands import options
from vmtrace.errors import Exit, complain

NAME = "clean"
LINE = "Remove what a run left behind at the service."
EXAMPLES = """  vmtrace storage clean run1
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("run", metavar="RUN", nargs="+", type=Path, help="folder of a run")
    options.add_ca_bundle(parser, "the run's")


def run(arguments: argparse.Namespace) -> int:
    """Clean each run; returns the exit status."""
    from vmtrace.providers.cleaning import clean_run, first_and_more
    from vmtrace.providers.errors import ProvidersError

    status = Exit.DONE
    for path in arguments.run:
        try:
            cleaned = clean_run(path, arguments.ca_bundle)
        except ProvidersError as error:
            complain(str(error))
            status = Exit.FAILED
            continue
        container = "" if cleaned.container is None else f", and {cleaned.container}"
        print(f"{path}: {plural(cleaned.objects, 'object')} removed{container}")
        if cleaned.left_behind:
            complain(f"{path}: still at the service: {first_and_more(cleaned.left_behind)}")
            status = Exit.FAILED
    return status
