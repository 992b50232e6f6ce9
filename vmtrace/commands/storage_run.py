"""`vmtrace storage run`: a workload against a service, with its own SDK, and the packets of it.

Exit status: 0 the whole plan was done; 1 it was not, or something failed; 2 wrong usage; 130 stopped by Ctrl-C. What
was measured is in the run folder, and what was created is removed or named.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.options import add_out, add_plan, add_resume
from vmtrace.commands import options
from vmtrace.commands.service_runs import order_of, shown_end
from vmtrace.commands.values import checked_url, factor, instant_ns, required
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from vmtrace.capture.campaign import End
    from vmtrace.providers.kind import CampaignPlan
    from vmtrace.providers.order import Order
    from vmtrace.providers.plan_options import Option

NAME = "run"
_PLAN, _TOOL_PLAN = "bocchi2014", "sdk-subjects"
LINE = "Run a workload against a storage service and record its packets."
EXAMPLES = """  sudo -E vmtrace storage run --provider s3 --region eu-west-1 --out run1 --quick
  vmtrace storage run --provider azure --out run2 --plan bocchi2014 --workload 1000x4kB --repeat 5 --no-capture
  vmtrace storage run --provider swift --out run3 --scale 0.01 --endpoint-url https://host/auth/v1.0 --ca-bundle ca.pem
  vmtrace storage run --provider s3 --out run4 --bucket mine --interface eth0 --max-bytes 100MB
  vmtrace storage run --provider glacier --out run5 --option retrieval=Expedited --prices mine.toml --max-cost 2.50
  sudo -E vmtrace storage run --provider s3 --out run6 --plan garfinkel2007-probes --for 18h --location Boston
  sudo -E vmtrace storage run --provider s3 --out run7 --plan garfinkel2007-surge --start-at 2030-01-01T12:00Z
  vmtrace storage run --provider s3 --out run6 --plan garfinkel2007-probes --for 18h --location Boston --resume
  sudo -E vmtrace storage run --tool 's3cmd put {files} s3://mine' --out run8 --repeat 5
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    from vmtrace.providers.plans import BUILT_IN
    from vmtrace.providers.rates import known_tables
    from vmtrace.providers.registry import names

    add = parser.add_argument
    add("--provider", metavar="NAME", help=f"{', '.join(names())} (any unique prefix)")
    add(
        "--tool", metavar="CMD",
        help="instead of an SDK: any command, as 's3cmd put {files} s3://mine'; {files} are those of the plan",
    )  # fmt: skip
    add_out(parser, "output folder (must not exist, unless --resume)")
    add_resume(parser)
    service = parser.add_argument_group("the service")
    add = service.add_argument
    add(
        "--endpoint-url", metavar="URL", help="a compatible server (Swift: its authentication URL) instead of the SDK's"
    )
    add("--region", metavar="R", help="region of the service (default: the SDK's)")
    add("--bucket", metavar="NAME", help="existing bucket, container or vault (default: create one)")
    add("--create-bucket", action="store_true", help="create the one named by --bucket, and remove it at the end")
    options.add_service_client(service)
    add("--restore-timeout", metavar="TIME", help="how long to wait for archived objects (default: 6h)")
    add("--deadline", metavar="TIME", help="longest time of one call, and 1 s more for each 10 kB (default: 10m)")
    plan = parser.add_argument_group("plan")
    add = plan.add_argument
    defaults = {_PLAN: " (default)", _TOOL_PLAN: " (default of --tool)"}
    built_in = ", ".join(name + defaults.get(name, "") for name in BUILT_IN)
    add_plan(plan, f"{built_in}, or a TOML file (docs/run-folder.md)")
    add(
        "--workload",
        metavar="NAME",
        action="append",
        default=[],
        help="benchmark: only this one of the plan; may be repeated",
    )
    add("--scale", metavar="X", help="multiply sizes, pauses, intervals and durations")
    add("--quick", action="store_true", help="a quick look: once, small objects, a minute or two")
    add("--direction", choices=("upload", "download"), help="--tool: which way it moves its files (default: upload)")
    add("--moves", metavar="SIZE", help="--tool without {files}: how much it moves")
    plan = parser.add_argument_group("options of plans, by kind")
    add = plan.add_argument
    for declared, kinds in _options_of_plans().values():
        options.add_plan_option(plan, declared, kinds)
    add("--start-at", metavar="TIME", help="surge: when it begins, as 2030-01-01T12:00Z; the same on all hosts")
    add("--location", metavar="NAME", help="where this host is, for reports")
    options.add_charge_limits(parser, ", over all repetitions", ", ".join(known_tables()))
    packets = parser.add_argument_group("recording")
    options.add_recording(packets, "service")
    options.add_snap_length(packets)
    options.add_recorded_packets(packets)
    packets.add_argument(
        "--keep-packets", metavar="slowest:P%",
        help="campaigns: keep the packets of the slowest P %% of the requests; of all, what reports need of them",
    )  # fmt: skip
    options.add_run_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the plan; returns the exit status."""
    from vmtrace.providers import errors
    from vmtrace.providers.campaign import run_campaign
    from vmtrace.providers.display import choose

    try:
        arguments.out = options.run_folder(arguments.out, arguments.resume)
        arguments.resume = arguments.resume is not None
        if arguments.out is None:
            raise UsageError("expected --out, or --resume RUN (see vmtrace storage run --help)")
        if arguments.tool is not None:
            return _told(_run_tool(arguments), arguments)
        if arguments.provider is None:
            raise UsageError("expected --provider NAME, or --tool CMD (see vmtrace storage run --help)")
        _refuse("--tool", arguments, ("direction", "moves"))
        order = _order(arguments)
        currency = "" if order.prices is None else order.prices.currency
        end = run_campaign(order, choose(quiet=arguments.quiet, currency=currency))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace storage run --help)") from error
    except errors.ServiceError as error:
        complain(error.shown(arguments.provider))
        return Exit.FAILED
    return _told(end, arguments)


def _refuse(option: str, arguments: argparse.Namespace, names: tuple[str, ...], how: str = "goes with") -> None:
    """Options that mean something only with another one, or only without it."""
    for name in names:
        if getattr(arguments, name):
            raise UsageError(f"--{name.replace('_', '-')}: {how} {option} (see vmtrace storage run --help)")


_OF_SDKS = (
    "provider", "resume", "region", "bucket", "create_bucket", "ca_bundle", "option", "restore_timeout", "max_bytes",
    "max_cost", "prices", "duration", "mean_interval", "every", "sizes", "start_at", "location", "keep_packets",
)  # fmt: skip


def _run_tool(arguments: argparse.Namespace) -> "End":
    from vmtrace.capture.campaign import command_line
    from vmtrace.formats.quantities import size_bytes
    from vmtrace.providers.exchanges import CALL_S
    from vmtrace.providers.plan import UPLOAD, Plan
    from vmtrace.providers.tool import FILES, ToolOrder, run_tool, words_of

    _refuse("--tool", arguments, _OF_SDKS, "does not go with")
    words = words_of(arguments.tool)
    if FILES not in words:
        _refuse(FILES, arguments, ("plan", "workload", "scale", "quick"), "goes with --tool and")
    elif arguments.moves is not None:
        raise UsageError(f"--moves: of a --tool without {FILES}")
    if arguments.endpoint_url is not None:
        checked_url(arguments.endpoint_url)
    arguments.plan = arguments.plan or _TOOL_PLAN
    plan = _plan(arguments)
    if not isinstance(plan, Plan):
        raise UsageError(f"--tool: takes benchmarks, and {plan.name} is of kind {plan.kind}")
    if FILES not in words and arguments.repeat is None:
        plan = replace(plan, repeat=1)
    return run_tool(
        ToolOrder(
            words=words,
            out=arguments.out,
            plan=plan,
            direction=arguments.direction or UPLOAD,
            moves_bytes=0 if arguments.moves is None else required("--moves", arguments.moves, size_bytes),
            endpoint_url=arguments.endpoint_url,
            interface=arguments.interface,
            capture=not arguments.no_capture,
            snaplen=None if arguments.snaplen is None else int(required("--snaplen", arguments.snaplen, int)),
            filter=arguments.filter,
            limit_s=CALL_S if arguments.deadline is None else required("--deadline", arguments.deadline, _time_s),
            name=arguments.name,
            command=command_line(sys.argv[1:]),
        )
    )


def _told(end: "End", arguments: argparse.Namespace) -> int:
    left = []
    if end.state["left_behind"]:
        from vmtrace.providers.cleaning import first_and_more

        what = first_and_more(end.state["left_behind"])
        left = [f"{end.state['provider']}: left at the service: {what}: run vmtrace storage clean {arguments.out}"]
    return shown_end(end, arguments, lambda: summary(end), "storage report", left)


def summary(end: "End") -> str:
    """What was done, in one line."""
    from vmtrace.formats.quantities import shown_decimal_bytes
    from vmtrace.providers.prices import shown_charge

    state, used = end.state, end.state["used"] or {}
    done = f"{state['transactions_finished']} of {state['transactions_planned']} transactions"
    if (state["plan"] or {}).get("kind", "benchmark") != "benchmark":
        done = f"{state.get('requests_finished') or 0} requests, {state.get('requests_failed') or 0} failed"
    up, down = (shown_decimal_bytes(used.get(which, 0)) for which in ("uploaded_bytes", "downloaded_bytes"))
    moved = f"{up} up, {down} down"
    cost = used.get("cost")
    prices = state["prices"] or {}
    charged = (
        "charges unknown"
        if cost is None
        else f"charges {shown_charge(cost)} {prices.get('currency', '')} by {prices['name']}"
    )
    return f"{end.status}: {done}, {moved}, {charged}"


def _order(arguments: argparse.Namespace) -> "Order":
    from vmtrace.formats.quantities import duration_s
    from vmtrace.providers import errors
    from vmtrace.providers.exchanges import CALL_S
    from vmtrace.providers.order import Order
    from vmtrace.providers.prices import load_prices

    if arguments.create_bucket and arguments.bucket is None:
        raise errors.UsageError("--create-bucket: goes with --bucket")
    common = order_of(arguments, load_prices, "filter", "snaplen")
    start_at_ns = (
        None
        if arguments.start_at is None
        else required("--start-at", arguments.start_at, partial(instant_ns, zone_needed=True))
    )
    if start_at_ns is not None and start_at_ns <= time.time_ns() and not arguments.resume:
        raise errors.UsageError(f"--start-at {arguments.start_at}: is in the past: give a future time")
    timeout = arguments.restore_timeout
    return Order(
        **common,
        plan=_plan(arguments),
        container=arguments.bucket,
        create_container=arguments.create_bucket,
        call_s=CALL_S if arguments.deadline is None else required("--deadline", arguments.deadline, _time_s),
        restore_timeout_s=6 * 3600.0 if timeout is None else required("--restore-timeout", timeout, duration_s),
        resume=arguments.resume,
        start_at_ns=start_at_ns,
        after_capture=_thinning(arguments),
    )


def _plan(arguments: argparse.Namespace) -> "CampaignPlan":
    from vmtrace.providers import errors
    from vmtrace.providers.plan import Plan
    from vmtrace.providers.plan_options import with_words
    from vmtrace.providers.plans import load_plan

    plan = load_plan(arguments.plan or _PLAN)
    _refuse_options_of_others(arguments, plan.kind)
    try:
        if arguments.workload and isinstance(plan, Plan):
            plan = plan.only(arguments.workload)
    except ValueError as error:
        raise errors.UsageError(f"--workload {error}") from error
    if arguments.quick:
        plan = plan.quick()
    if arguments.scale is not None:
        plan = plan.scaled(required("--scale", arguments.scale, factor))
    try:
        return with_words(plan, {name: value for name, value in vars(arguments).items() if isinstance(value, str)})
    except ValueError as error:
        raise errors.UsageError(str(error)) from error


_ALSO_OF_KINDS: dict[str, tuple[str, ...]] = {
    "workload": ("benchmark",),
    "start_at": ("surge",),
    "resume": ("probes", "surge", "availability", "locations", "sweep"),
    "keep_packets": ("probes", "surge", "availability", "locations", "sweep"),
}


def _options_of_plans() -> "dict[str, tuple[Option, tuple[str, ...]]]":
    """What plans declare for the command line, by its name there, with the kinds that have it."""
    from vmtrace.providers.plan_options import options_of
    from vmtrace.providers.plans import PLANS

    found: dict[str, tuple[Option, tuple[str, ...]]] = {}
    for kind, plan in PLANS.items():
        for one in options_of(plan, kind).values():
            if one.what:
                found[one.destination] = one, (*found.get(one.destination, (one, ()))[1], kind)
    return found


def _refuse_options_of_others(arguments: argparse.Namespace, kind: str) -> None:
    from vmtrace.providers import errors

    declared = _options_of_plans()
    for name, kinds in {**{name: kinds for name, (_, kinds) in declared.items()}, **_ALSO_OF_KINDS}.items():
        if getattr(arguments, name) and kind not in kinds:
            option = declared[name][0].spelling if name in declared else f"--{name.replace('_', '-')}"
            raise errors.UsageError(f"{option}: of plans of kind {', '.join(kinds)}, and this one's kind is {kind}")


def _thinning(arguments: argparse.Namespace) -> "Callable[[Path], None] | None":
    """What is done with each capture file of a long recording; None: it stays as it is."""
    from vmtrace.commands.storage_thin import share_of, thin_in_background

    if arguments.keep_packets is None:
        return None
    share = required("--keep-packets", arguments.keep_packets, share_of)
    return lambda path: thin_in_background(arguments.out, path, share)


def _time_s(text: str) -> float:
    from vmtrace.formats.quantities import duration_s

    value = duration_s(text)
    if not 0 < value <= 400 * 86_400:
        raise ValueError(f"{text!r}: more than 0 and at most 400 days are possible")
    return value
