"""The command line of the sender: `vmtrace send`, `python3 -m vmtrace.sender`, the agent's `send`."""

from __future__ import annotations

import argparse
import dataclasses
import ipaddress
import json
import shlex
import sys
from pathlib import Path

from vmtrace.capture.options import (
    above,
    add_duration,
    add_interface,
    add_json_printed,
    add_no_capture,
    add_out,
    add_plan,
    add_quiet,
    add_resume,
    whole,
)
from vmtrace.capture.settings import LARGEST_BUFFER_BYTES
from vmtrace.formats.quantities import duration_s, size_bytes
from vmtrace.sender import quick
from vmtrace.sender.display.choose import choose_display
from vmtrace.sender.errors import SenderError, UsageError
from vmtrace.sender.plan import Plan
from vmtrace.sender.plan_file import load_plan
from vmtrace.sender.plan_record import plan_from_record, plan_record
from vmtrace.sender.plan_view import plan_document, plan_table
from vmtrace.sender.plans import BUILT_IN
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.session import Order, send
from vmtrace.sender.settings import Settings
from vmtrace.sender.wire.endpoint import DEFAULT_PORT, Endpoint
from vmtrace.sender.wire.keys import ENVIRONMENT, load_key
from vmtrace.sender.wire.program import complain

_DEFAULT_PLAN = "lee2011"
_USAGE = 2
_EXAMPLES = f"""examples:
  vmtrace send 198.51.100.7 --key-file vmtrace.key -t 10 -P 4 -R     as iperf3: 10 s, 4 streams, the receiver sends
  vmtrace send 198.51.100.7 --key-file vmtrace.key --out run1        the plan of the EC2 packet study
  vmtrace send receiver.example --key-file vmtrace.key --out run1 --plan lee2011 --for 18h
  vmtrace send receiver.example --key-file vmtrace.key --out run1 --plan mine.toml --scale 0.1 --no-capture
  vmtrace send --resume run1 --key-file vmtrace.key        resume a run that was interrupted, or killed
  vmtrace send --show-plan --plan mine.toml                the totals of a plan, without connecting

The receiver is started before: vmtrace receive --key-file vmtrace.key. Its key comes over a safe channel (scp),
in a file or in the environment variable {ENVIRONMENT}. Ctrl-C ends a run so that it can be resumed.
"""


def build_parser() -> argparse.ArgumentParser:
    """All options of the sender."""
    parser = argparse.ArgumentParser(
        prog="vmtrace send",
        description="Run a campaign of connection pairs (a probe, then a data transfer) against a receiver.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("host", metavar="HOST", nargs="?", help="name or address of the receiver")
    parser.add_argument("--key-file", metavar="FILE", help=f"the receiver's key (or set {ENVIRONMENT})")
    add_out(parser, "folder of the run, new or empty (with -t, -n, -P, -R: named by the time)")
    add_resume(parser)
    parser.add_argument(
        "--port", "-p", metavar="PORT", type=whole(1, 65535), help=f"port of the receiver (default: {DEFAULT_PORT})"
    )
    parser.add_argument("--name", metavar="TEXT", help="name of this data set in reports (default: that of the folder)")
    quick.add_options(parser)
    _add_plan(parser)
    _add_path(parser)
    _add_recording(parser)
    _add_trouble(parser)
    _add_output(parser)
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Do what the options say; returns the exit status. What keeps a run from beginning is raised, one clear line."""
    try:
        _sort_out_resume(arguments)
        if arguments.show_plan:
            return _show_plan(_plan_of(arguments), as_json=arguments.json)
        folder, endpoint = _resumed(arguments) if arguments.resume else _new(arguments)
    except UsageError as error:
        complain(f"{error} (see --help)")
        return _USAGE
    try:
        order = Order(
            endpoint=endpoint,
            key=load_key(arguments.key_file),
            fetch=not arguments.no_fetch,
            receiver_capture=not arguments.no_receiver_capture,
        )
        display = choose_display(quiet=arguments.quiet, json_lines=arguments.json_lines)
        return send(folder, order, display, complain)
    finally:
        folder.close()


def _add_plan(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("plan")
    built_in = ", ".join(BUILT_IN)
    add_plan(group, f"{built_in}, or a TOML or JSON file (default: {_DEFAULT_PLAN})")
    group.add_argument("--scale", metavar="X", type=above(0, 1e6), help="multiply sizes and idle times by X")
    limit = group.add_mutually_exclusive_group()
    limit.add_argument("--repeat", metavar="N", type=whole(1, 1_000_000), help="go through the plan N times")
    add_duration(limit, "repeat the plan for this time (18h, 30min)", quick.time_s)
    group.add_argument("--show-plan", action="store_true", help="print the plan with its totals, and exit")
    add_json_printed(group, "with --show-plan: as JSON")


def _add_path(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("path")
    group.add_argument("--bind", metavar="ADDR|IF", help="send from this address, or by this interface")
    version = group.add_mutually_exclusive_group()
    version.add_argument("--ipv4", "-4", action="store_const", dest="ip_version", const=4, help="use IPv4 only")
    version.add_argument("--ipv6", "-6", action="store_const", dest="ip_version", const=6, help="use IPv6 only")


def _add_recording(parser: argparse.ArgumentParser) -> None:
    defaults = Settings()
    group = parser.add_argument_group("recording")
    capture = group.add_mutually_exclusive_group()
    add_interface(capture, "record here (default: the interface towards the receiver)")
    add_no_capture(capture, "record no packets at this side")
    group.add_argument("--no-receiver-capture", action="store_true", help="ask the receiver to record no packets")
    group.add_argument(
        "--snaplen",
        metavar="N",
        type=whole(1, 262_144),
        help="bytes kept of each packet (default: headers, complete TLS handshakes)",
    )
    group.add_argument(
        "--buffer-bytes",
        metavar="SIZE",
        type=_buffer,
        help="kernel buffer of captures at both ends (default: sized for the link)",
    )
    group.add_argument(
        "--tcp-info-interval",
        metavar="TIME",
        type=_time_or_none,
        help="interval of TCP_INFO samples (default: 10ms; 0: none)",
    )
    group.add_argument("--no-host-counters", action="store_true", help="record no counters of this host")
    group.add_argument("--no-instance-metadata", action="store_true", help="do not ask the cloud's metadata service")
    group.add_argument("--no-ping", action="store_true", help="measure no RTT baseline")
    group.add_argument(
        "--ping-interval",
        metavar="TIME",
        type=quick.time_s,
        help=f"least time between two echoes of the baseline (default: {defaults.ping_interval_s:g}s)",
    )


def _add_trouble(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("trouble")
    group.add_argument(
        "--stall-timeout",
        metavar="TIME",
        type=quick.time_s,
        help="a transfer without progress has failed after this time (default: 60s)",
    )
    group.add_argument(
        "--patience", metavar="TIME", type=quick.time_s, help="how long to wait for a lost receiver (default: 1h)"
    )
    group.add_argument(
        "--attempts",
        metavar="N",
        type=whole(1, 1_000_000),
        help=f"attempts at each pair (default: {Settings().attempts})",
    )
    group.add_argument("--no-fetch", action="store_true", help="do not fetch the receiver's files; see vmtrace fetch")


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    form = group.add_mutually_exclusive_group()
    add_quiet(form)
    form.add_argument("--json-lines", action="store_true", help="one JSON object for each event on standard output")


def _sort_out_resume(arguments: argparse.Namespace) -> None:
    """`--resume RUN`, `--out RUN --resume` and `--out RUN --resume HOST` are all understood."""
    if arguments.resume is None:
        return
    if arguments.resume and arguments.out is not None and arguments.host is None:
        arguments.host, arguments.resume = arguments.resume, ""
    if arguments.resume and arguments.out is not None and Path(arguments.resume) != arguments.out:
        raise UsageError(f"--resume {arguments.resume} and --out {arguments.out} name two folders")
    folder = arguments.resume or arguments.out
    if not folder:
        raise UsageError("--resume: name the folder of the run, as in: vmtrace send --resume RUN --key-file FILE")
    arguments.resume = str(folder)


def _new(arguments: argparse.Namespace) -> tuple[RunFolder, Endpoint]:
    if arguments.host is None:
        raise UsageError("name the receiver, as in: vmtrace send HOST --key-file FILE --out RUN")
    if arguments.out is None and not quick.is_wanted(arguments):
        raise UsageError("name a folder for the run, as in: vmtrace send HOST --key-file FILE --out RUN")
    plan = _plan_of(arguments)
    settings = _settings_of(arguments, Settings())
    folder = RunFolder.create(arguments.out or quick.new_folder(), plan, settings, shlex.join(sys.argv), arguments.name)
    return folder, _endpoint(arguments.host, arguments.port or DEFAULT_PORT, plan)


def _resumed(arguments: argparse.Namespace) -> tuple[RunFolder, Endpoint]:
    folder = RunFolder.open(Path(arguments.resume))
    try:
        check_same_plan(arguments, folder.plan)
        endpoint = endpoint_of(folder, arguments, "name it")
        folder.change_settings(_settings_of(arguments, folder.settings))
        return folder, endpoint
    except BaseException:
        folder.close()
        raise


def endpoint_of(folder: RunFolder, arguments: argparse.Namespace, otherwise: str) -> Endpoint:
    """Where the receiver of a run is: where `host` and `port` of the options say, else where it was.

    Raises `SenderError`, which ends with `otherwise`, where neither is known.
    """
    known = folder.receiver or {}
    host, port = arguments.host or known.get("name") or known.get("address"), arguments.port or known.get("port")
    if not isinstance(host, str):
        raise SenderError(f"{folder.path}: the receiver was never reached in this run: {otherwise}")
    return _endpoint(host, port if isinstance(port, int) else DEFAULT_PORT, folder.plan)


def check_same_plan(arguments: argparse.Namespace, plan: Plan) -> None:
    """What is said of the plan when a run is resumed must be so; raises `SenderError`."""
    scale = plan.scale if arguments.scale is None else arguments.scale
    different = None
    if scale != plan.scale:
        different = f"--scale {scale:g}: the run has scale {plan.scale:g}"
    elif arguments.plan is not None and load_plan(arguments.plan).scaled(scale).entries != plan.entries:
        different = f"--plan {arguments.plan}: the run has another plan ({plan.name})"
    elif arguments.repeat is not None and arguments.repeat != plan.repeat:
        different = f"--repeat {arguments.repeat}: the run {_limit(plan)}"
    elif arguments.duration is not None and arguments.duration != plan.duration_s:
        different = f"--for: the run {_limit(plan)}"
    if different is not None:
        raise SenderError(f"{different}: leave it out to go on, or begin a run in a new folder")


def _limit(plan: Plan) -> str:
    return f"has {plan.repeat} rounds" if plan.repeat is not None else f"is limited to {plan.duration_s:g} s"


def _plan_of(arguments: argparse.Namespace) -> Plan:
    plan = quick.plan_of(arguments) if quick.is_wanted(arguments) else load_plan(arguments.plan or _DEFAULT_PLAN)
    if arguments.scale is not None:
        plan = plan.scaled(arguments.scale)
    if arguments.repeat is not None:
        plan = dataclasses.replace(plan, repeat=arguments.repeat, duration_s=None)
    if arguments.duration is not None:
        plan = dataclasses.replace(plan, repeat=None, duration_s=arguments.duration)
    if arguments.ip_version is not None:
        plan = dataclasses.replace(plan, ip_version=arguments.ip_version)
    if arguments.bind is not None:
        address, interface = _address_or_interface(arguments.bind)
        plan = dataclasses.replace(plan, bind_address=address, bind_interface=interface)
    # What options made of it must be a plan that could stand in a file.
    return plan_from_record(plan_record(plan))


def _settings_of(arguments: argparse.Namespace, settings: Settings) -> Settings:
    """Those given before, with what is given now."""
    given = {
        "interface": arguments.interface,
        "snaplen": arguments.snaplen,
        "capture_buffer_bytes": arguments.buffer_bytes,
        "ping_interval_s": arguments.ping_interval,
        "stall_s": arguments.stall_timeout,
        "patience_s": arguments.patience,
        "attempts": arguments.attempts,
        "capture": False if arguments.no_capture else True if arguments.interface else None,
        "host_counters": False if arguments.no_host_counters else None,
        "instance_metadata": False if arguments.no_instance_metadata else None,
        "ping": False if arguments.no_ping else None,
    }
    settings = dataclasses.replace(settings, **{name: value for name, value in given.items() if value is not None})
    if arguments.tcp_info_interval is not None:
        settings = dataclasses.replace(settings, tcp_info_interval_s=arguments.tcp_info_interval or None)
    return settings


def _endpoint(host: str, port: int, plan: Plan) -> Endpoint:
    return Endpoint(host.strip("[]"), port, plan.bind_address, plan.bind_interface, plan.ip_version)


def _address_or_interface(text: str) -> tuple[str | None, str | None]:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return None, text
    return text, None


def _show_plan(plan: Plan, *, as_json: bool) -> int:
    print(json.dumps(plan_document(plan), indent=1) if as_json else plan_table(plan))
    return 0


def _time_or_none(text: str) -> float:
    try:
        return duration_s(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _buffer(text: str) -> int:
    try:
        size = size_bytes(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if not 1 <= size <= LARGEST_BUFFER_BYTES:
        raise argparse.ArgumentTypeError(f"{text}: must be 1 to {LARGEST_BUFFER_BYTES} bytes")
    return size
