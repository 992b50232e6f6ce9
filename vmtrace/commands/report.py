"""`vmtrace report`: its options. What it does with them is `vmtrace.commands.run_report`."""

from pathlib import Path
from typing import Annotated

import typer

from vmtrace.commands.options import Debug, Json, NoColor, Quiet

EXAMPLES = """Examples:

  vmtrace report RUN
      Table 2 on the terminal, and everything as RUN/report.html

  vmtrace report RUN --figures figures --csv tables
      figures for print (PNG, SVG, and their data), and all tables

  vmtrace report lan ec2 planetlab --html compared.html
      several runs side by side

  vmtrace report RUN --pair 17 --html pair-17.html
      draw the packets of pair 17
"""


def report(  # noqa: PLR0913, PLR0917 - each option is an argument: that is how typer reads them
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Run folders that vmtrace send left.")],
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write one HTML file with all tables and zoomable figures; needs no network. By itself"
            " RUN/report.html, for one run and no other output.",
        ),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write figures for print (PNG, SVG) and their data (CSV) into this folder."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write all tables as CSV files into this folder.")
    ] = None,
    json: Json = None,
    pair: Annotated[
        int | None,
        typer.Option(
            metavar="SEQUENCE",
            help="Draw the packets of this pair, instead of the one with the lowest data throughput.",
            min=1,
        ),
    ] = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
    debug: Debug = False,
) -> int:
    """Report on runs of connection pairs: RTT and loss by index, what probes tell, and the figures of the study."""
    from vmtrace.commands.run_report import Request, run

    return run(
        Request(
            folders=tuple(runs),
            html=html,
            figures=figures,
            csv=csv,
            json=json,
            pair=pair,
            quiet=quiet,
            no_color=no_color,
            debug=debug,
        )
    )
