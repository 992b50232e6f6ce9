"""`vmtrace discover run`: resolve names through many resolvers, and measure the way to what they answer.

Exit status: 0 done; 1 nothing was found, or it could not go on; 2 wrong usage; 130 stopped by Ctrl-C. What was measured
is in the run folder.
"""

import argparse
import ipaddress
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from vmtrace.capture.options import add_duration, add_out
from vmtrace.commands import options
from vmtrace.commands.service_runs import shown_end
from vmtrace.commands.values import check_ca_bundle, number_within, read_option, required, time_within
from vmtrace.errors import UsageError

if TYPE_CHECKING:
    from vmtrace.providers.discovery.order import DiscoveryOrder, Repeats
    from vmtrace.providers.discovery.running import DiscoveryEnd

T = TypeVar("T")
NAME = "run"
LINE = "Find the front ends of names through many resolvers; measure round trips and routes to them."
EXAMPLES = """  sudo vmtrace discover run aws-s3 --region eu-west-1 --region us-east-1 --out lausanne --at 46.52,6.57
  vmtrace discover run s3.eu-west-1.amazonaws.com --out run2 --no-capture
  sudo vmtrace discover run azure swift --resolvers resolvers.txt --rate 50 --out run3 --vantage polito
  vmtrace discover run storage.example.org --out run4 --every 1h --for 3d --no-traceroute
"""
_MOST_RATE = 10_000.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("names", metavar="NAME", nargs="+", help="host names, or lists: aws-s3, aws-glacier, azure, swift, your own")
    add_out(parser, "output folder (must not exist)", required=True)
    add = parser.add_argument_group("names and resolvers").add_argument
    add("--names-file", metavar="FILE", type=Path, help="more lists of endpoint names by region (TOML)")
    add("--region", metavar="R", action="append", default=[], help="only this region of the lists; may be repeated")
    add(
        "--resolvers", metavar="FILE", type=Path,
        help="a line each: address or address#port, then country, network, LAT,LON as known (default: this host's)",
    )  # fmt: skip
    add("--client-subnet", metavar="PREFIX", action="append", default=[],
        help="also ask on behalf of this network (EDNS client subnet); may be repeated")  # fmt: skip
    add("--only", choices=("A", "AAAA"), help="ask for addresses of one family (default: both)")
    rounds = parser.add_argument_group("rates and rounds")
    add = rounds.add_argument
    add("--rate", metavar="N", default="100", help="queries per second in total, retries included (default: 100)")
    add("--resolver-rate", metavar="N", default="10", help="queries per second to each resolver (default: 10)")
    add("--timeout", metavar="TIME", default="3s", help="how long to wait for a reply (default: 3s)")
    add("--attempts", metavar="N", default="3", help="attempts at a question (default: 3)")
    add("--every", metavar="TIME", help="repeat everything at this interval")
    add_duration(rounds, "how long to repeat (with --every)")
    add = parser.add_argument_group("this vantage point").add_argument
    add("--at", metavar="LAT,LON", help="where this host is, in degrees; without it distances locate nothing")
    add("--vantage", metavar="NAME", help="what reports call this host (default: the folder's name)")
    add("--landmarks", metavar="FILE", type=Path, help="hosts of known place: a line each, address LAT,LON NAME")
    measurements = parser.add_argument_group("measurements")
    add = measurements.add_argument
    add("--port", metavar="N", default="443", help="TCP port of the service (default: 443)")
    options.add_ca_bundle(measurements, "this host's")
    add("--round-trips", metavar="N", default="10", help="round trips of each kind to each address (default: 10)")
    add("--spacing", metavar="TIME", default="200ms", help="between two round trips to an address (default: 200ms)")
    add("--most", metavar="N", default="2000", help="addresses to measure at most (default: 2000)")
    add("--no-traceroute", action="store_true", help="do not trace the routes")
    options.add_recording(measurements, "front ends")
    options.add_run_output(parser, named=False)


def run(arguments: argparse.Namespace) -> int:
    """Run it; returns the exit status."""
    from vmtrace.commands.discover_libraries import TO_RUN, require
    from vmtrace.providers import errors
    from vmtrace.providers.discovery.display import choose
    from vmtrace.providers.discovery.running import discover

    require(TO_RUN)
    try:
        end = discover(_order(arguments), choose(quiet=arguments.quiet))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace discover run --help)") from error
    return _reported(end, arguments)


def _reported(end: "DiscoveryEnd", arguments: argparse.Namespace) -> int:
    return shown_end(end, arguments, lambda: end.status if end.found else "", "discover report")


def _order(arguments: argparse.Namespace) -> "DiscoveryOrder":
    from vmtrace.capture.campaign import command_line
    from vmtrace.formats.quantities import duration_s
    from vmtrace.providers import errors
    from vmtrace.providers.discovery.distances import Spacing
    from vmtrace.providers.discovery.names import targets
    from vmtrace.providers.discovery.order import DiscoveryOrder, read_landmarks
    from vmtrace.providers.discovery.resolvers import own_resolvers, parse_position, read_resolvers
    from vmtrace.providers.discovery.resolving import Asking

    check_ca_bundle(arguments.ca_bundle)
    if arguments.no_capture and arguments.interface:
        raise errors.UsageError("--no-capture: does not go with --interface")
    return DiscoveryOrder(
        targets=tuple(targets(arguments.names, arguments.names_file, arguments.region)),
        resolvers=tuple(_file("--resolvers", arguments.resolvers, read_resolvers) or own_resolvers()),
        out=arguments.out,
        vantage=arguments.vantage or arguments.out.resolve().name,
        position=read_option("--at", arguments.at, parse_position),
        kinds=("A", "AAAA") if arguments.only is None else (arguments.only,),
        client_subnets=(None, *(required("--client-subnet", one, _subnet) for one in arguments.client_subnet)),
        asking=Asking(
            rate_per_s=required("--rate", arguments.rate, number_within(0.01, _MOST_RATE)),
            resolver_rate_per_s=required("--resolver-rate", arguments.resolver_rate, number_within(0.01, _MOST_RATE)),
            timeout_s=required("--timeout", arguments.timeout, time_within(60.0)),
            attempts=int(required("--attempts", arguments.attempts, number_within(1, 10))),
        ),
        repeats=_repeats(arguments),
        port=int(required("--port", arguments.port, number_within(1, 65535))),
        ca_bundle=arguments.ca_bundle,
        spacing=Spacing(
            int(required("--round-trips", arguments.round_trips, number_within(1, 10_000))),
            required("--spacing", arguments.spacing, duration_s),
        ),
        traceroute=not arguments.no_traceroute,
        landmarks=_file("--landmarks", arguments.landmarks, read_landmarks) or (),
        capture=not arguments.no_capture,
        interface=arguments.interface,
        most_measured=int(required("--most", arguments.most, number_within(1, 20_000))),
        command=command_line(sys.argv[1:]),
    )


def _repeats(arguments: argparse.Namespace) -> "Repeats":
    from vmtrace.providers import errors
    from vmtrace.providers.discovery.order import Repeats

    if (arguments.every is None) != (arguments.duration is None):
        raise errors.UsageError("--every and --for go together: how often, and for how long")
    if arguments.every is None:
        return Repeats()
    time_s = time_within(math.inf)
    return Repeats(required("--every", arguments.every, time_s), required("--for", arguments.duration, time_s))


def _file(option: str, path: Path | None, read: Callable[[Path], T]) -> T | None:
    from vmtrace.providers import errors

    if path is None:
        return None
    try:
        return read(path)
    except OSError as error:
        raise errors.UsageError(f"{option} {path}: {error.strerror}") from None


def _subnet(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise ValueError(f"{text[:60]!r}: expected a network, as 203.0.113.0/24") from None
