"""`vmtrace compare`: its options. What it does with them is `vmtrace.commands.run_compare`."""

from pathlib import Path
from typing import Annotated

import typer

from vmtrace.commands.options import Debug, Json, NoColor, Quiet

EXAMPLES = """Examples:

  vmtrace compare sender.pcap receiver.pcap
      loss, one-way delay and located gaps of each connection, and the clock

  vmtrace compare vm.pcap host.pcap --json compared.json --figures figures
      everything for programs; delay and spacing drawn

  vmtrace compare RUN/packets/sender/0001-data.pcap RUN/packets/receiver/0001-data.pcap
      a transfer of a run folder
"""


def compare(  # noqa: PLR0913, PLR0917 - each option is an argument: that is how typer reads them
    sender: Annotated[Path, typer.Argument(metavar="SENDER", help="Capture of one end, usually the sender's.")],
    receiver: Annotated[
        Path, typer.Argument(metavar="RECEIVER", help="Capture of the other end, of the same transfers.")
    ],
    json: Json = None,
    csv: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write connections, gaps, clock steps as CSV into this folder."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write figures (PNG, SVG) of one-way delay and of spacing at both ends, with their data (CSV), into"
            " this folder.",
        ),
    ] = None,
    oversize_abs: Annotated[
        float | None,
        typer.Option(
            metavar="MS", min=0.001, help="Locate pauses from this length on, instead of by the adaptive rule."
        ),
    ] = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    debug: Debug = False,
) -> int:
    """Match two captures of the same transfers: exact loss, one-way delay, clock offset and skew, located pauses."""
    from vmtrace.commands.run_compare import Request, run

    return run(
        Request(
            sender=sender,
            receiver=receiver,
            json=json,
            csv=csv,
            figures=figures,
            oversize_abs_ms=oversize_abs,
            quiet=quiet,
            no_color=no_color,
            debug=debug,
        )
    )
