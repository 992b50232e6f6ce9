"""`vmtrace analyze`: its options. What it does with them is `vmtrace.commands.analysis`."""

import argparse
from pathlib import Path

from vmtrace.analyze.findings.connection_order import NOTABLE, SORTS
from vmtrace.analyze.words.outcomes import SHORT_NAMES as OUTCOMES
from vmtrace.capture.options import whole
from vmtrace.commands.options import (
    add_csv,
    add_display,
    add_endpoint_url,
    add_figures,
    add_html,
    add_json,
    add_keylog,
    add_memory,
    add_otlp,
    add_oversize_abs,
    add_parquet,
    add_read_packets,
    filled,
    new_parser,
)
from vmtrace.commands.request import Request

_MOST_THREADS = 1024
_MOST_ROWS = 1_000_000_000
_EXAMPLES = """\
  vmtrace analyze trace.pcap                            a line for each connection, and what limited it
  vmtrace analyze traces/ --report page.html            a page to open in a browser, and to send to others
  vmtrace analyze 's3://bucket/2026/*.pcap.gz'          captures in an object store
  vmtrace analyze trace.pcap --connection 3             all that is known of connection 3
  vmtrace analyze trace.pcap --json - | jq .            everything measured, for programs
  vmtrace analyze trace.pcap --json-lines | jq -c 'select(.record == "finding")'
  vmtrace analyze traces/ --filter 'tcp port 443' --sort goodput --limit 10
  vmtrace analyze trace.pcap --fail-if 'loss_rate>0.01'    for scripts: exit status 3 if it holds
  vmtrace analyze trace.pcap --fail-if outcome             the same if a connection did not open or end well
  vmtrace analyze trace.pcap --fail-if 'outcome=syn_unanswered or outcome=syn_refused'
  tcpdump -w - -c 10000 tcp | vmtrace analyze -         from another program
"""
_FAIL_IF_HELP = (
    "exit with status 3 if this holds for any connection: METRIC OPERATOR NUMBER, joined by 'and', 'or', brackets; e.g."
    " 'loss_rate>0.001 and goodput_bps<1e6'. Metrics: loss_rate, retransmission_rate, retransmitted_segments,"
    " lost_segments, rtt_min_s, rtt_mean_s, rtt_median_s, rtt_p99_s, goodput_bps, zero_windows, window_limited,"
    " oversize, oversize_time_s, spacing_max_s (either direction); duration_s, handshake_rtt_s, syn_retransmissions,"
    " tls_handshake_s, overhead_ratio; or any column of connections.csv. 'outcome' holds for a connection that did not"
    f" open, move its data or end well, 'outcome=KIND' for one kind of that: {', '.join(OUTCOMES)}"
)


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace analyze`."""
    what = "Measure captures: goodput, loss, round-trip time, pauses, windows, TLS, and what limited each connection."
    parser = new_parser("analyze", "FILE [FILE ...]", what, _EXAMPLES)
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="captures, folders of captures, patterns, s3:// gs:// az:// http(s):// URLs; - is standard input",
    )
    _add_selection(parser.add_argument_group("which packets"))
    _add_table(parser.add_argument_group("the table"))
    _add_judging(parser.add_argument_group("judging"))
    _add_outputs(parser.add_argument_group("output files"))
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status."""
    from vmtrace.commands import analysis

    return analysis.run(request_of(arguments))


def request_of(arguments: argparse.Namespace) -> Request:
    """The options as the typed values that the analysis works with."""
    return filled(
        Request,
        arguments,
        names=tuple(arguments.files),
        connections=tuple(dict.fromkeys(arguments.connection)),
        by_provider=arguments.by == "provider",
        address_ranges=tuple(arguments.address_ranges),
        oversize_abs_ms=arguments.oversize_abs,
        memory_bytes=arguments.memory,
    )


def _add_selection(group: argparse._ArgumentGroup) -> None:
    add_read_packets(group)
    files = group.add_mutually_exclusive_group()
    files.add_argument(
        "--separate",
        action="store_true",
        default=None,
        help="treat the files as separate captures; default: as one, unless two hold the same traffic captured at two"
        " points",
    )
    files.add_argument("--merge", dest="separate", action="store_false", help="treat the files as one capture")
    group.add_argument(
        "--indexes",
        metavar="URL",
        help="folder of captures' indexes, e.g. OUT/indexes of vmtrace corpus analyze (default: next to each capture)",
    )
    add_keylog(group)
    add_endpoint_url(group)
    group.add_argument(
        "--threads", metavar="N", type=whole(0, _MOST_THREADS), default=0, help="threads to use (default: one per core)"
    )
    add_memory(group, "memory to take at most (default: half of what the process may have)", None)


def _add_table(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--connection",
        metavar="ID",
        type=whole(0, 2**63 - 1),
        action="append",
        default=[],
        help="show all of this connection, and draw and write its packets; may be given several times",
    )
    group.add_argument("--by", choices=("provider",), help="provider: sum up connections by the service they went to")
    group.add_argument(
        "--address-ranges",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="with --by provider: published IP ranges, used to identify servers without a hostname (AWS ip-ranges.json,"
        " Azure ServiceTags, Google cloud.json, or CSV lines of prefix,name); may be given several times",
    )
    group.add_argument(
        "--limit", metavar="N", type=whole(1, _MOST_ROWS), default=20, help="rows of the table (default: 20)"
    )
    group.add_argument(
        "--sort",
        choices=SORTS,
        default=NOTABLE,
        help="order of the table: notable (default: those with an outcome, verdict or warning first, then by bytes),"
        " or bytes, goodput (slowest first), time, rtt, retrans, start, id",
    )
    add_display(group)


def _add_judging(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fail-if", metavar="EXPR", help=_FAIL_IF_HELP)
    add_oversize_abs(group, "count a pause as unusually long from this many milliseconds on (default: adaptive)")
    group.add_argument(
        "--instance-type", metavar="TYPE", help="compare with the published bandwidth of this EC2 type, e.g. m5.large"
    )
    group.add_argument(
        "--allowance", metavar="RATE", help="compare with this rate, e.g. 5Gbit/s: an interface's or a contract's"
    )


def _add_outputs(group: argparse._ArgumentGroup) -> None:
    page = "one HTML page: verdict, zoomable lanes, packets, all connections"
    add_html(group, page, "--report", metavar="FILE.html")
    add_json(group)
    group.add_argument(
        "--json-lines",
        action="store_true",
        help="one JSON object a line on standard output: each connection, flow, lookup and finding (its `record`)",
    )
    add_csv(group, "tables")
    add_parquet(group, "tables")
    add_figures(group, "figures for print (PNG and SVG) in this folder")
    add_otlp(group)
    group.add_argument(
        "--anonymize", action="store_true", help="replace addresses and server names, the same way in every output"
    )
