"""`vmtrace storage run`: a workload against a service, with its own SDK, and the packets of it.

Exit status: 0 the whole plan was done; 1 it was not, or something failed; 2 wrong usage; 130 stopped by Ctrl-C. What
was measured is in the run folder, and what was created is removed or named.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.commands.values import amount, checked_url, factor, repeats, required
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from providers.campaign import End
    from providers.order import Order
    from providers.plan import Plan

NAME = "run"
LINE = "Run a workload against a storage service and record its packets."
EXAMPLES = """  sudo -E vmtrace storage run --provider s3 --region eu-west-1 --out run1 --quick
  vmtrace storage run --provider azure --out run2 --plan bocchi2014 --workload 1000x4kB --repeat 5 --no-capture
  vmtrace storage run --provider swift --out run3 --scale 0.01 --endpoint-url https://host/auth/v1.0 --ca-bundle ca.pem
  vmtrace storage run --provider s3 --out run4 --bucket mine --interface eth0 --max-bytes 100MB
  vmtrace storage run --provider glacier --out run5 --option retrieval=Expedited --prices mine.toml --max-cost 2.50
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("--provider", metavar="NAME", required=True, help="s3, glacier, azure-blob or swift; a beginning is enough")
    add("--out", metavar="RUN", type=Path, required=True, help="folder to be made for the run")
    add = parser.add_argument_group("the service").add_argument
    add(
        "--endpoint-url", metavar="URL", help="a compatible server (Swift: its authentication URL) instead of the SDK's"
    )
    add("--region", metavar="R", help="default: the SDK's")
    add("--bucket", metavar="NAME", help="bucket, container or vault that is there (default: one of the run's own)")
    add("--create-bucket", action="store_true", help="make the one named by --bucket, and remove it at the end")
    add("--ca-bundle", metavar="FILE", type=Path, help="certificate authorities to trust for TLS")
    add("--option", metavar="NAME=VALUE", action="append", default=[], help="of the service; a wrong one lists them")
    add("--restore-timeout", metavar="TIME", help="how long to wait for archived objects (default: 6h)")
    add = parser.add_argument_group("the plan").add_argument
    add("--plan", metavar="NAME|FILE", default="bocchi2014", help="bocchi2014 (default) or a TOML file")
    add("--workload", metavar="NAME", action="append", default=[], help="only this one of the plan; may be repeated")
    add("--repeat", metavar="N", help="how often, instead of what the plan says")
    add("--scale", metavar="X", help="multiply sizes and pauses")
    add("--quick", action="store_true", help="once, without pauses and without files beyond 10 MB")
    add = parser.add_argument_group("limits").add_argument
    add("--max-bytes", metavar="SIZE", help="never move more than this, repeats included")
    add("--max-cost", metavar="AMOUNT", help="never be charged more than this, by --prices")
    add("--prices", metavar="NAME|FILE", help="table of prices: a TOML file, or bocchi2014 (those of 2014)")
    add = parser.add_argument_group("packets").add_argument
    add("--interface", metavar="IF", help="default: the one towards the service")
    add("--no-capture", action="store_true", help="record no packets (needs no rights)")
    add("--snaplen", metavar="N", help="bytes kept of each packet (default: headers, and TLS handshakes whole)")
    add("--filter", metavar="BPF", help="default: the service's ports, name lookups, ICMP and ARP")
    add = parser.add_argument_group("output").add_argument
    add("--name", metavar="NAME", help="of the data set, for reports (default: the folder's)")
    add("--json", action="store_true", help="print run.json at the end")
    add("--quiet", "-q", action="store_true", help="print only what goes wrong")


def run(arguments: argparse.Namespace) -> int:
    """Run the plan; returns the exit status."""
    from providers import errors
    from providers.campaign import run_benchmark
    from providers.display import choose

    try:
        order = _order(arguments)
        currency = "" if order.prices is None else order.prices.currency
        end = run_benchmark(order, choose(quiet=arguments.quiet, currency=currency))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace storage run --help)") from error
    except errors.ServiceError as error:
        complain(error.told(arguments.provider))
        return Exit.FAILED
    return _told(end, arguments)


def _told(end: "End", arguments: argparse.Namespace) -> int:
    if arguments.json:
        print(json.dumps(end.state, indent=1))
    elif not arguments.quiet:
        print(summary(end, arguments.out))
    if end.error is not None:
        complain(end.error)
    if end.state["left_behind"]:
        from providers.cleaning import first_and_more

        left = first_and_more(end.state["left_behind"])
        complain(f"{end.state['provider']}: left at the service: {left}: run vmtrace storage clean {arguments.out}")
    if end.status == "interrupted":
        return Exit.INTERRUPTED
    return Exit.FAILED if end.error is not None or end.state["left_behind"] else Exit.DONE


def summary(end: "End", out: Path) -> str:
    """What was done, in one or two lines."""
    from capture.quantities import shown_decimal_bytes
    from providers.prices import shown_charge

    state, used = end.state, end.state["used"] or {}
    done = f"{state['transactions_finished']} of {state['transactions_planned']} transactions"
    up, down = (shown_decimal_bytes(used.get(which, 0)) for which in ("uploaded_bytes", "downloaded_bytes"))
    moved = f"{up} up, {down} down"
    cost = used.get("cost")
    prices = state["prices"] or {}
    charged = (
        "charges unknown"
        if cost is None
        else f"charges {shown_charge(cost)} {prices.get('currency', '')} by {prices['name']}"
    )
    return f"{end.status}: {done}, {moved}, {charged}\n{out}"


def _order(arguments: argparse.Namespace) -> "Order":
    from capture.quantities import duration_s, size_bytes
    from providers import errors
    from providers.budget import Limits
    from providers.campaign import command_line
    from providers.options import parsed_options
    from providers.order import Order
    from providers.prices import load_prices

    if arguments.create_bucket and arguments.bucket is None:
        raise errors.UsageError("--create-bucket: goes with --bucket")
    if arguments.no_capture and (arguments.filter or arguments.snaplen):
        raise errors.UsageError("--no-capture: goes neither with --filter nor with --snaplen")
    if arguments.ca_bundle is not None and not arguments.ca_bundle.is_file():
        raise errors.UsageError(f"--ca-bundle {arguments.ca_bundle}: there is no such file")
    if arguments.endpoint_url is not None:
        checked_url(arguments.endpoint_url)
    prices = None if arguments.prices is None else load_prices(arguments.prices)
    limits = Limits(
        None if arguments.max_bytes is None else required("--max-bytes", arguments.max_bytes, size_bytes),
        None if arguments.max_cost is None else required("--max-cost", arguments.max_cost, amount),
    )
    if limits.max_cost is not None and prices is None:
        raise errors.UsageError("--max-cost: charges are unknown without a table: give --prices")
    timeout = arguments.restore_timeout
    return Order(
        provider=arguments.provider,
        out=arguments.out,
        plan=_plan(arguments),
        container=arguments.bucket,
        create_container=arguments.create_bucket,
        endpoint_url=arguments.endpoint_url,
        region=arguments.region,
        ca_bundle=arguments.ca_bundle,
        options=parsed_options(arguments.option),
        interface=arguments.interface,
        capture=not arguments.no_capture,
        snaplen=None if arguments.snaplen is None else int(required("--snaplen", arguments.snaplen, int)),
        filter=arguments.filter,
        limits=limits,
        prices=prices,
        restore_timeout_s=6 * 3600.0 if timeout is None else required("--restore-timeout", timeout, duration_s),
        name=arguments.name,
        command=command_line(sys.argv[1:]),
    )


def _plan(arguments: argparse.Namespace) -> "Plan":
    from dataclasses import replace

    from providers import errors
    from providers.plans import load_plan

    plan = load_plan(arguments.plan)
    try:
        if arguments.workload:
            plan = plan.only(arguments.workload)
    except ValueError as error:
        raise errors.UsageError(f"--workload {error}") from error
    if arguments.quick:
        plan = plan.quick()
    if arguments.scale is not None:
        plan = plan.scaled(required("--scale", arguments.scale, factor))
    if arguments.repeat is not None:
        plan = replace(plan, repeat=required("--repeat", arguments.repeat, repeats))
    return plan
