"""`vmtrace queue run`: a plan of messages against a queue service, with its own SDK, and the packets of it.

Exit status: 0 the whole plan was done; 1 it was not, or something failed; 2 wrong usage; 130 stopped by Ctrl-C. The run
folder says what became of each message; the queue is removed, or named as left behind.
"""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.capture.options import add_duration, add_out, add_plan, add_resume
from vmtrace.commands import options
from vmtrace.commands.service_runs import order_of, shown_end
from vmtrace.commands.values import factor, read_option, repeats, required
from vmtrace.errors import Exit, UsageError, complain

if TYPE_CHECKING:
    from vmtrace.capture.campaign import End
    from vmtrace.providers.plan_options import Option
    from vmtrace.providers.queues.order import QueueOrder
    from vmtrace.providers.queues.plan import QueuePlan
    from vmtrace.providers.queues.two_hosts import Other

NAME = "run"
_PLAN = "yoon-latency"
LINE = "Send, receive and delete messages of a queue service, and record the packets."
EXAMPLES = """  sudo -E vmtrace queue run --provider sqs --region eu-west-1 --out run1 --rate 50 --duration 10min
  vmtrace queue run --provider sqs --fifo --out run2 --plan garfinkel2007-queue --scale 0.01 --no-capture
  vmtrace queue run --provider azure-queue --out run3 --plan yoon-latency-fast --messages 20000 --backlog 500
  vmtrace queue run --provider sqs --out run4 --endpoint-url http://127.0.0.1:9324 --queue mine --visibility 5s
  vmtrace queue run --provider sqs --only receive --clock 0.0.0.0:5050 --out to
  vmtrace queue run --only send --other to --clock 192.0.2.7:5050 --out from
  vmtrace queue run --resume run1
"""
_ONLY_NEW = "the run that is resumed has its own"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    from vmtrace.providers.queues.plans import BUILT_IN
    from vmtrace.providers.queues.registry import names

    add = parser.add_argument
    add("--provider", metavar="NAME", help=f"{', '.join(names())} (any unique prefix)")
    add_out(parser, "output folder (must not exist)")
    add_resume(parser)
    service = parser.add_argument_group("the service")
    add = service.add_argument
    add("--endpoint-url", metavar="URL", help="a compatible server instead of the SDK's")
    add("--region", metavar="R", help="region of the service (default: the SDK's)")
    add("--location", metavar="NAME", help="where this host is, for reports")
    add("--queue", metavar="NAME", help="an existing queue (default: one of the run's own)")
    add("--fifo", action="store_true", help="use a FIFO queue")
    options.add_service_client(service)
    hosts = parser.add_argument_group("two hosts")
    add = hosts.add_argument
    add("--only", choices=("send", "receive"), help="what this host does; the other one does the rest")
    add("--other", metavar="DIR", type=Path, help="run.json and key of the receiving run, for the host that sends")
    add("--clock", metavar="HOST:PORT", help="where the receiving host listens, so that clocks can be matched")
    plan = parser.add_argument_group("plan")
    add = plan.add_argument
    add_plan(plan, f"{', '.join(BUILT_IN)}, or a TOML file (default: {_PLAN})")
    add("--rate", metavar="N", help="messages per second, at fixed times; 'fast': as fast as possible")
    add_duration(plan, "how long to send at the rate")
    add("--messages", metavar="N", help="messages that each stage sends")
    for declared in _declared():
        options.add_plan_option(plan, declared)
    add("--repeat", metavar="N", help="repetitions, instead of the plan's number")
    add("--scale", metavar="X", help="multiply the numbers of messages")
    options.add_charge_limits(parser, " in requests and responses", "garfinkel2007 (those of 2007)")
    packets = parser.add_argument_group("recording")
    options.add_recording(packets, "service")
    packets.add_argument(
        "--capture-for", metavar="TIME", help="record only the beginning of each stage (default: all of it)"
    )
    options.add_snap_length(packets)
    options.add_recorded_packets(packets)
    options.add_run_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the plan; returns the exit status."""
    from vmtrace.providers import errors
    from vmtrace.providers.queues.campaign import resume_queue, run_queue
    from vmtrace.providers.queues.display import choose

    try:
        arguments.out = options.run_folder(arguments.out, arguments.resume)
        if arguments.resume is not None:
            _refuse_with_resume(arguments)
            shown = choose(quiet=arguments.quiet, currency="")
            end = resume_queue(arguments.out, arguments.ca_bundle, shown, capture=not arguments.no_capture)
            return _told(end, arguments)
        order = _order(arguments)
        currency = "" if order.prices is None else order.prices.currency
        end = run_queue(order, choose(quiet=arguments.quiet, currency=currency))
    except errors.UsageError as error:
        raise UsageError(f"{error} (see vmtrace queue run --help)") from error
    except errors.ServiceError as error:
        complain(error.shown(arguments.provider or str(arguments.out)))
        return Exit.FAILED
    return _told(end, arguments)


def _told(end: "End", arguments: argparse.Namespace) -> int:
    from vmtrace.commands.queue_clean import accounts_text

    folder = arguments.out
    left = [
        f"left at the service: queue {one['name']} ({one['error']}): vmtrace queue run --resume {folder}, or "
        f"vmtrace queue clean {folder}"
        for one in end.state["left_behind"]
    ]
    return shown_end(end, arguments, lambda: f"{end.status}: {accounts_text(folder)}", "queue report", left)


def _refuse_with_resume(arguments: argparse.Namespace) -> None:
    from vmtrace.providers import errors

    allowed = {"resume", "out", "ca_bundle", "no_capture", "json", "quiet", "command", "subcommand", "debug"}
    for name, value in vars(arguments).items():
        if name not in allowed and value not in (None, False, []):
            raise errors.UsageError(f"--{name.replace('_', '-')}: does not go with --resume: {_ONLY_NEW}")


def _order(arguments: argparse.Namespace) -> "QueueOrder":
    from vmtrace.formats.quantities import duration_s
    from vmtrace.providers import errors
    from vmtrace.providers.queues.order import QueueOrder
    from vmtrace.providers.queues.prices import load_prices
    from vmtrace.providers.queues.two_hosts import Half, address_of, whole_plan

    other = _other(arguments)
    sends = _plan(arguments)
    if arguments.provider is None or arguments.out is None:
        raise errors.UsageError("expected both --provider and --out, or --resume")
    return QueueOrder(
        **order_of(arguments, load_prices, "filter", "snaplen", "capture_for"),
        plan=sends if other is None else whole_plan(other, sends),
        queue=arguments.queue,
        fifo=arguments.fifo,
        half=None if arguments.only is None else Half(arguments.only),
        other=other,
        clock=None if arguments.clock is None else address_of(arguments.clock),
        capture_s=read_option("--capture-for", arguments.capture_for, duration_s),
    )


def _other(arguments: argparse.Namespace) -> "Other | None":
    """The receiving run, from which the service and the queue are known, too."""
    from vmtrace.providers import errors
    from vmtrace.providers.queues.two_hosts import read_other

    if (arguments.other is not None) != (arguments.only == "send"):
        raise errors.UsageError("--other: goes with --only send, which needs it")
    if arguments.clock is not None and arguments.only is None:
        raise errors.UsageError("--clock: goes with --only")
    if arguments.other is None:
        return None
    other = read_other(arguments.other)
    for name, key in (("provider", "provider"), ("region", "region"), ("endpoint_url", "endpoint_named")):
        if getattr(arguments, name) is None:
            setattr(arguments, name, other.state.get(key))
    arguments.queue, arguments.fifo = other.state["queue"], other.state["fifo"]
    return other


def _declared() -> "list[Option]":
    """What stages declare for the command line."""
    from vmtrace.providers.plan_options import options_of
    from vmtrace.providers.queues.plan import Stage

    return [one for one in options_of(Stage).values() if one.what]


def _plan(arguments: argparse.Namespace) -> "QueuePlan":
    from dataclasses import replace

    from vmtrace.providers.queues.changes import changed
    from vmtrace.providers.queues.plans import load_plan

    plan = load_plan(arguments.plan or _PLAN)
    names = ("rate", "duration", "messages", *(declared.destination for declared in _declared()))
    words = {name: getattr(arguments, name) for name in names}
    plan = changed(plan, {name: word for name, word in words.items() if word is not None})
    if arguments.scale is not None:
        plan = plan.scaled(required("--scale", arguments.scale, factor))
    if arguments.repeat is not None:
        plan = replace(plan, repeat=required("--repeat", arguments.repeat, repeats))
    return plan
