"""`vmtrace analyze`: its options. What it does with them is `vmtrace.commands.analysis`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vmtrace.commands.options import Debug, NoColor, Quiet

_FAIL_IF_HELP = (
    "Exit with status 3 if this holds for any connection: METRIC OPERATOR NUMBER, joined by 'and', 'or', brackets; e.g."
    " 'loss_rate>0.001 and goodput_bps<1e6'. Metrics: loss_rate, retransmission_rate, retransmitted_segments,"
    " lost_segments, rtt_min_s, rtt_mean_s, rtt_median_s, rtt_p99_s, goodput_bps, zero_windows, window_limited,"
    " oversize, oversize_time_s, spacing_max_s (either direction); duration_s, handshake_rtt_s, syn_retransmissions,"
    " tls_handshake_s, overhead_ratio; or any column of connections.csv."
)


class Grouping(StrEnum):
    """What `--by` can group by."""

    PROVIDER = "provider"


def analyze(  # noqa: PLR0913, PLR0917 - each option is an argument: that is how typer reads them
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Captures, folders of captures, patterns; - is standard input.")
    ],
    json: Annotated[
        str | None,
        typer.Option(
            metavar="OUT|-", help="Write everything measured as JSON (- is standard output), and print no table."
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables as CSV files into this folder.")] = None,
    parquet: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write tables as Parquet files into this folder.")
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html", help="Write one HTML page: verdict, zoomable lanes, packets, all connections."
        ),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write figures for print (PNG and SVG) into this folder.")
    ] = None,
    filter_expression: Annotated[
        str | None, typer.Option("--filter", metavar="BPF", help="Read only packets that match, e.g. 'tcp port 443'.")
    ] = None,
    connection: Annotated[
        list[int] | None,
        typer.Option(
            metavar="ID",
            help="Show all of this connection, and draw and write its packets; may be given several times.",
        ),
    ] = None,
    by: Annotated[Grouping | None, typer.Option(help="Sum up connections by whose service they went to.")] = None,
    address_ranges: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="With --by provider: published address ranges, for servers that no name tells (AWS ip-ranges.json,"
            " Azure ServiceTags, Google cloud.json, or CSV lines of prefix,name); may be given several times.",
        ),
    ] = None,
    fail_if: Annotated[str | None, typer.Option(metavar="EXPR", help=_FAIL_IF_HELP)] = None,
    oversize_abs: Annotated[
        float | None,
        typer.Option(
            metavar="MS", help="Count a packet spacing as oversize from this many milliseconds on.", min=0.001
        ),
    ] = None,
    instance_type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE", help="Compare with the published bandwidth of this EC2 instance type, e.g. m5.large."
        ),
    ] = None,
    allowance: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Compare with this rate, e.g. 5Gbit/s: an interface's or a contract's."),
    ] = None,
    threads: Annotated[
        int, typer.Option(metavar="N", help="Threads to use; 0: one for each core.", min=0, max=1024)
    ] = 0,
    limit: Annotated[int, typer.Option(metavar="N", help="Rows of the table.", min=1)] = 20,
    separate: Annotated[
        bool | None,
        typer.Option(
            "--separate/--merge",
            help="Take each file as a capture of its own, or all as parts of one run. By itself: as one run, unless two"
            " hold the same traffic captured at two points.",
        ),
    ] = None,
    anonymize: Annotated[
        bool, typer.Option("--anonymize", help="Replace addresses and server names, the same way in every output.")
    ] = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
    debug: Debug = False,
) -> int:
    """Measure captures: connections, loss, round-trip time, spacing, windows, TLS, and where the bytes went."""
    from vmtrace.commands.analysis import run
    from vmtrace.commands.request import Request

    return run(
        Request(
            names=tuple(files),
            json=json,
            csv=csv,
            parquet=parquet,
            report=report,
            figures=figures,
            filter=filter_expression,
            connections=tuple(dict.fromkeys(connection or ())),
            by_provider=by is Grouping.PROVIDER,
            address_ranges=tuple(address_ranges or ()),
            fail_if=fail_if,
            oversize_abs_ms=oversize_abs,
            instance_type=instance_type,
            allowance=allowance,
            threads=threads,
            limit=limit,
            separate=separate,
            anonymize=anonymize,
            quiet=quiet,
            no_color=no_color,
            debug=debug,
        )
    )
