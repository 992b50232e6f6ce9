"""`vmtrace storage clean`: remove what a run left at the service when it was killed or could not reach it.

Exit status: 0 nothing is left; 1 something is, one line says what and why.
"""

import argparse
from pathlib import Path

from vmtrace.commands.service_runs import add_clean_options, clean_runs
from vmtrace.formats.quantities import plural

NAME = "clean"
LINE = "Remove what a run left behind at the service."
EXAMPLES = """  vmtrace storage clean run1
"""
add_options = add_clean_options


def run(arguments: argparse.Namespace) -> int:
    """Clean each run; returns the exit status."""
    from vmtrace.providers.cleaning import clean_run, first_and_more

    def clean(path: Path) -> tuple[str, str]:
        cleaned = clean_run(path, arguments.ca_bundle)
        container = "" if cleaned.container is None else f", and {cleaned.container}"
        left = first_and_more(cleaned.left_behind) if cleaned.left_behind else ""
        return f"{plural(cleaned.objects, 'object')} removed{container}", left

    return clean_runs(arguments, clean)
