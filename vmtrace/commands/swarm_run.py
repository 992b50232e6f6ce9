"""`vmtrace swarm run`: download one file from N seeds and an object store, and record the packets.

Exit status: 0 every download finished; 1 not all did, or something failed; 2 wrong usage; 130 stopped by Ctrl-C. What
was measured is in the run folder.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.options import add_out
from vmtrace.commands import options
from vmtrace.commands.service_runs import shown_end
from vmtrace.commands.values import check_ca_bundle, read_option, required
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from vmtrace.capture.campaign import End
    from vmtrace.providers.swarm.order import SwarmOrder
    from vmtrace.providers.swarm.web_seed import WebSeed

NAME = "run"
LINE = "Download a file from N seeds and an object store as web seed, and record the packets."
EXAMPLES = """  sudo -E vmtrace swarm run data.torrent --web-seed s3://bucket/key --out run1
  sudo vmtrace swarm run data.torrent --web-seed https://host/data.bin --peers 198.18.3.1:6881 --out run2
  sudo vmtrace swarm run data.torrent --web-seed "$URL" --case public --case forbidden --seeds 4 --repeat 5 --out run3
  vmtrace swarm run data.torrent --case none --seeds 1,2 --no-capture --out run4
"""
_MOST_TIME_S = 30 * 86_400.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("torrent", metavar="TORRENT", type=Path, help="torrent of one file (vmtrace swarm seed --write-torrent)")
    add_out(parser, "output folder (must not exist)", required=True)
    sources = parser.add_argument_group("sources")
    add = sources.add_argument
    add("--web-seed", metavar="URL", help="the object: a public or signed http(s) URL, or s3://BUCKET/KEY to sign")
    add("--endpoint-url", metavar="URL", help="S3-compatible server that s3:// is signed for (default: Amazon's)")
    add("--region", metavar="R", help="region that s3:// is signed for (default: the SDK's)")
    options.add_ca_bundle(sources)
    add(
        "--tracker", metavar="URL", action="append", default=[], help="finds seeds (default: the torrent's); repeatable"
    )
    add(
        "--peers",
        metavar="ADDRESS:PORT,...",
        action="append",
        default=[],
        help="seeds by address, instead of a tracker",
    )
    add = parser.add_argument_group("plan").add_argument
    add("--seeds", metavar="N,...", default="0,1,2,4,8", help="numbers of ordinary seeds (default: 0,1,2,4,8)")
    add(
        "--case", action="append", choices=("public", "forbidden", "none"), default=[],
        help="the web seed delivers, responds 403, or is left out (default: public, none without --web-seed);"
        " repeatable",
    )  # fmt: skip
    add(
        "--forbidden-url",
        metavar="URL",
        help="the object where it is forbidden (default: --web-seed without signature)",
    )
    add("--repeat", metavar="N", default="3", help="how often each combination is measured (default: 3)")
    add("--no-capacity", action="store_true", help="do not measure each source alone first (no fairness then)")
    add("--capacity-time", metavar="TIME", default="10s", help="how long a source is measured alone (default: 10s)")
    add("--timeout", metavar="TIME", default="1h", help="give a download up after this time (default: 1h)")
    add("--stall", metavar="TIME", default="1min", help="give a download up after so long without data (default: 1min)")
    add(
        "--web-request", metavar="SIZE", help="most that is asked of the web seed at once (default: libtorrent's 16MiB)"
    )
    add("--sha256", metavar="HEX", help="digest that the file must have (default: that of the first download)")
    packets = parser.add_argument_group("recording")
    options.add_recording(packets, "sources")
    options.add_snap_length(packets)
    options.add_run_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the plan; returns the exit status."""
    from vmtrace.providers import errors
    from vmtrace.providers.swarm.campaign import run_swarm
    from vmtrace.providers.swarm.display import choose

    try:
        end = run_swarm(_order(arguments), choose(quiet=arguments.quiet))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace swarm run --help)") from error
    except KeyboardInterrupt:
        complain("interrupted before the first download: nothing was measured")
        return Exit.INTERRUPTED
    return _shown(end, arguments)


def _shown(end: "End", arguments: argparse.Namespace) -> int:
    state = end.state
    done = f"{end.status}: {state['downloads_finished']} of {state['downloads_planned']} downloads"
    return shown_end(end, arguments, lambda: done, "swarm report")


def _order(arguments: argparse.Namespace) -> "SwarmOrder":
    from vmtrace.providers.errors import UsageError as WrongUsage
    from vmtrace.providers.swarm.order import SwarmOrder
    from vmtrace.providers.swarm.peers import parsed_peers
    from vmtrace.providers.swarm.plan import check_combinations, parsed_seeds
    from vmtrace.providers.swarm.torrent import read_torrent

    if arguments.no_capture and arguments.snaplen:
        raise WrongUsage("--no-capture: does not go with --snaplen")
    check_ca_bundle(arguments.ca_bundle)
    cases, seeds = _cases(arguments), parsed_seeds(arguments.seeds)
    check_combinations(cases, seeds)
    torrent = read_torrent(arguments.torrent)
    seed, forbidden = _web_seeds(arguments, cases)
    return SwarmOrder(
        torrent=torrent,
        out=arguments.out,
        seeds=seeds,
        cases=cases,
        repeats=_whole("--repeat", arguments.repeat, 10_000),
        peers=tuple(parsed_peers(arguments.peers)),
        trackers=tuple(arguments.tracker) or torrent.trackers,
        web_seed=seed,
        forbidden=forbidden,
        ca_bundle=arguments.ca_bundle,
        interface=arguments.interface,
        capture=not arguments.no_capture,
        snaplen=None if arguments.snaplen is None else _whole("--snaplen", arguments.snaplen, 262_144),
        capacity=not arguments.no_capacity,
        capacity_s=_time("--capacity-time", arguments.capacity_time),
        timeout_s=_time("--timeout", arguments.timeout),
        stall_s=_time("--stall", arguments.stall),
        web_request_bytes=read_option("--web-request", arguments.web_request, _request_bytes),
        sha256=None if arguments.sha256 is None else _digest(arguments.sha256),
        name=arguments.name,
        command=_command_line(),
    )


def _cases(arguments: argparse.Namespace) -> tuple[str, ...]:
    from vmtrace.providers.errors import UsageError as WrongUsage

    cases = tuple(dict.fromkeys(arguments.case)) or (("none",) if arguments.web_seed is None else ("public",))
    if "public" in cases and arguments.web_seed is None:
        raise WrongUsage("--case public: name the object with --web-seed")
    if "forbidden" in cases and arguments.web_seed is None and arguments.forbidden_url is None:
        raise WrongUsage("--case forbidden: name the object with --web-seed or --forbidden-url")
    if arguments.forbidden_url is not None and "forbidden" not in cases:
        raise WrongUsage("--forbidden-url: goes with --case forbidden")
    return cases


def _web_seeds(arguments: argparse.Namespace, cases: tuple[str, ...]) -> "tuple[WebSeed | None, WebSeed | None]":
    """The object as it is asked for in the public case, and in the forbidden one."""
    from vmtrace.providers.swarm.web_seed import unsigned, web_seed

    seed = None
    if arguments.web_seed is not None:
        seed = web_seed(arguments.web_seed, arguments.endpoint_url, arguments.region)
    forbidden = None
    if "forbidden" in cases:
        named = arguments.forbidden_url
        forbidden = web_seed(named) if named is not None else None if seed is None else unsigned(seed)
    return (seed if "public" in cases else None), forbidden


def _time(option: str, text: str) -> float:
    from vmtrace.formats.quantities import duration_s
    from vmtrace.providers.errors import UsageError as WrongUsage

    value = required(option, text, duration_s)
    if not 0 < value <= _MOST_TIME_S:
        raise WrongUsage(f"{option} {text}: expected a time above 0, and at most 30d")
    return value


def _whole(option: str, text: str, most: int) -> int:
    from vmtrace.providers.errors import UsageError as WrongUsage

    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise WrongUsage(f"{option} {text}: expected a whole number from 1 to {most}")
    return int(text)


def _request_bytes(text: str) -> int:
    from vmtrace.formats.quantities import size_bytes

    value = size_bytes(text)
    if not 16 << 10 <= value <= 1 << 30:
        raise ValueError(f"{text!r}: expected 16KiB to 1GiB")
    return value


def _digest(text: str) -> str:
    from vmtrace.providers.errors import UsageError as WrongUsage

    if len(text) != 64 or set(text.lower()) - set("0123456789abcdef"):
        raise WrongUsage("--sha256: expected 64 hexadecimal digits")
    return text.lower()


def _command_line() -> str:
    """As it was called, without signatures."""
    import shlex

    words = [_without_secrets(word) for word in sys.argv[1:]]
    return shlex.join(["vmtrace", *words])


def _without_secrets(word: str) -> str:
    """`URL` and `--option=URL` without query and credentials."""
    from vmtrace.providers.swarm.web_seed import without_secrets

    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return option + equals + without_secrets(value) if "://" in value else word
