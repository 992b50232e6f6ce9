"""What commands that run against services share: the order that their options make, the end of a run, and `clean`."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.commands import options
from vmtrace.commands.values import amount, check_ca_bundle, checked_url, read_option
from vmtrace.errors import Exit, complain

if TYPE_CHECKING:
    from vmtrace.capture.campaign import End

Table = TypeVar("Table")


def order_of(arguments: argparse.Namespace, load_prices: Callable[[str], Table], *of_capture: str) -> dict[str, Any]:
    """Fields of a `ServiceOrder`. With `--no-capture` options `of_capture` mean nothing: wrong usage of providers."""
    from vmtrace.capture.campaign import command_line
    from vmtrace.formats.quantities import size_bytes
    from vmtrace.providers import errors
    from vmtrace.providers.budget import Limits
    from vmtrace.providers.options import parsed_options

    if arguments.no_capture and any(getattr(arguments, name) for name in of_capture):
        named = [f"--{name.replace('_', '-')}" for name in of_capture]
        raise errors.UsageError(f"--no-capture: goes neither with {' nor with '.join(named)}")
    check_ca_bundle(arguments.ca_bundle)
    if arguments.endpoint_url is not None:
        checked_url(arguments.endpoint_url)
    prices = None if arguments.prices is None else load_prices(arguments.prices)
    limits = Limits(
        read_option("--max-bytes", arguments.max_bytes, size_bytes),
        read_option("--max-cost", arguments.max_cost, amount),
    )
    if limits.max_cost is not None and prices is None:
        raise errors.UsageError("--max-cost: charges are unknown without a table: give --prices")
    return {
        "provider": arguments.provider,
        "out": arguments.out,
        "endpoint_url": arguments.endpoint_url,
        "region": arguments.region,
        "location": arguments.location,
        "ca_bundle": arguments.ca_bundle,
        "options": parsed_options(arguments.option),
        "interface": arguments.interface,
        "capture": not arguments.no_capture,
        "snaplen": read_option("--snaplen", arguments.snaplen, int),
        "filter": arguments.filter,
        "limits": limits,
        "prices": prices,
        "name": arguments.name,
        "command": command_line(sys.argv[1:]),
    }


def shown_end(
    end: "End", arguments: argparse.Namespace, summary: Callable[[], str], report: str, left: Iterable[str] = ()
) -> int:
    """Print how a run ended, and what to type next; returns the exit status. `left` is what remains at the service."""
    if arguments.json:
        print(json.dumps(end.state, indent=1))
    elif not arguments.quiet and (said := summary()):
        print(said)
        show_afterwards([arguments.out], command("vmtrace", *report.split(), arguments.out))
    troubles = [*([] if end.error is None else [end.error]), *left]
    for one in troubles:
        complain(one)
    if end.status == "interrupted":
        return Exit.INTERRUPTED
    return Exit.FAILED if troubles else Exit.DONE


def add_clean_options(parser: argparse.ArgumentParser) -> None:
    """The options of `clean`."""
    parser.add_argument("run", metavar="RUN", nargs="+", type=Path, help="folder of a run")
    options.add_ca_bundle(parser, "the run's")


def clean_runs(arguments: argparse.Namespace, clean: Callable[[Path], tuple[str, str]]) -> int:
    """Clean each run: what was removed, and what is left. Returns the exit status."""
    from vmtrace.providers.errors import ProvidersError

    status = Exit.DONE
    for path in arguments.run:
        try:
            removed, left = clean(path)
        except ProvidersError as error:
            complain(str(error))
            status = Exit.FAILED
            continue
        print(f"{path}: {removed}")
        if left:
            complain(f"{path}: still at the service: {left}")
            status = Exit.FAILED
    return status
