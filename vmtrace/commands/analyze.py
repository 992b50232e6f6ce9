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


_Files = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Captures, folders of captures, patterns; - is standard input.")
]
_Json = Annotated[
    str | None,
    typer.Option(metavar="OUT|-", help="Write everything measured as JSON (- is standard output), and print no table."),
]
_Csv = Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables as CSV files into this folder.")]
_Parquet = Annotated[Path | None, typer.Option(metavar="DIR", help="Write tables as Parquet files into this folder.")]
_Report = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="Write one HTML page: verdict, zoomable lanes, packets, all connections."),
]
_Figures = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Write figures for print (PNG and SVG) into this folder.")
]
_FilterExpression = Annotated[
    str | None, typer.Option("--filter", metavar="BPF", help="Read only packets that match, e.g. 'tcp port 443'.")
]
_Connection = Annotated[
    list[int] | None,
    typer.Option(
        metavar="ID",
        help="Show all of this connection, and draw and write its packets; may be given several times.",
    ),
]
_By = Annotated[Grouping | None, typer.Option(help="Sum up connections by whose service they went to.")]
_AddressRanges = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="With --by provider: published address ranges, for servers that no name tells (AWS ip-ranges.json,"
        " Azure ServiceTags, Google cloud.json, or CSV lines of prefix,name); may be given several times.",
    ),
]
_FailIf = Annotated[str | None, typer.Option(metavar="EXPR", help=_FAIL_IF_HELP)]
_OversizeAbs = Annotated[
    float | None,
    typer.Option(metavar="MS", help="Count a packet spacing as oversize from this many milliseconds on.", min=0.001),
]
_InstanceType = Annotated[
    str | None,
    typer.Option(metavar="TYPE", help="Compare with the published bandwidth of this EC2 instance type, e.g. m5.large."),
]
_Allowance = Annotated[
    str | None,
    typer.Option(metavar="RATE", help="Compare with this rate, e.g. 5Gbit/s: an interface's or a contract's."),
]
_Threads = Annotated[int, typer.Option(metavar="N", help="Threads to use; 0: one for each core.", min=0, max=1024)]
_Limit = Annotated[int, typer.Option(metavar="N", help="Rows of the table.", min=1)]
_Separate = Annotated[
    bool | None,
    typer.Option(
        "--separate/--merge",
        help="Take each file as a capture of its own, or all as parts of one run. By itself: as one run, unless two"
        " hold the same traffic captured at two points.",
    ),
]
_Anonymize = Annotated[
    bool, typer.Option("--anonymize", help="Replace addresses and server names, the same way in every output.")
]


def analyze(  # noqa: PLR0913, PLR0917 - each option is an argument: that is how typer reads them
    files: _Files,
    json: _Json = None,
    csv: _Csv = None,
    parquet: _Parquet = None,
    report: _Report = None,
    figures: _Figures = None,
    filter_expression: _FilterExpression = None,
    connection: _Connection = None,
    by: _By = None,
    address_ranges: _AddressRanges = None,
    fail_if: _FailIf = None,
    oversize_abs: _OversizeAbs = None,
    instance_type: _InstanceType = None,
    allowance: _Allowance = None,
    threads: _Threads = 0,
    limit: _Limit = 20,
    separate: _Separate = None,
    anonymize: _Anonymize = False,
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
