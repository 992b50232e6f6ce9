"""`vmtrace mcp`: answers for language models, as a server of the Model Context Protocol on standard input and output.

Exit status: 0 the other side closed it; 1 it could not start; 2 wrong usage.
"""

import argparse
from pathlib import Path

from vmtrace.analyze.reports.models.budget import DEFAULT_TOKENS, LEAST_TOKENS
from vmtrace.commands.options import new_parser
from vmtrace.errors import CommandError, Exit, UsageError
from vmtrace.missing import require

_DESCRIPTION = (
    "Answer a language model's questions about captures (Model Context Protocol, on standard input and output):"
    " summary, findings, connections, flows, packets, comparisons, what would help, plots. No file outside FOLDER is"
    " read."
)
_EXAMPLES = """  vmtrace mcp traces/                        what an assistant's configuration names as the command
  vmtrace mcp traces/ runs/ --tokens 2000    answers of at most 2,000 tokens
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace mcp`."""
    parser = new_parser("mcp", "FOLDER ...", _DESCRIPTION, _EXAMPLES)
    add = parser.add_argument
    add("folders", metavar="FOLDER", nargs="+", type=Path, help="captures in and below it may be asked about")
    add(
        "--tokens",
        metavar="N",
        type=int,
        default=DEFAULT_TOKENS,
        help=f"the most tokens of an answer (default: {DEFAULT_TOKENS})",
    )
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Serve until the other side closes; returns the exit status."""
    require("mcp", "matplotlib")
    from vmtrace.analyze.reports.models.folders import Folders
    from vmtrace.analyze.reports.models.questions import Questions
    from vmtrace.analyze.reports.models.server import server

    if arguments.tokens < LEAST_TOKENS:
        raise UsageError(f"--tokens: {LEAST_TOKENS:,} or more, not {arguments.tokens:,}")
    for folder in arguments.folders:
        if not folder.is_dir():
            raise CommandError(f"{folder}: no such folder")
    server(Questions(Folders(arguments.folders)), arguments.tokens).run()
    return Exit.DONE
