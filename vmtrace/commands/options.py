"""Options that mean the same in several subcommands."""

from typing import Annotated

import typer

Json = Annotated[
    str | None,
    typer.Option(metavar="OUT|-", help="Write everything as JSON (- is standard output), and print no table."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no table and no progress.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colour, even on a terminal.")]
Debug = Annotated[bool, typer.Option("--debug", help="On an error, print where in the program it happened.")]
