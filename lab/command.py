"""The command `vmtrace lab`: `run` a campaign over a profile, `list` the profiles, run a single `scenario`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.capture.options import add_duration, add_no_capture, add_out, add_plan, add_quiet
from vmtrace.lab import namespaces, scenario
from vmtrace.lab.campaign import run as campaign_run
from vmtrace.lab.campaign.settings import Campaign, CampaignError, Host
from vmtrace.lab.guest import kernel
from vmtrace.lab.profiles import PROFILES, Profile
from vmtrace.lab.profiles.overrides import NAMES, changed

_INTERRUPTED = 130
_STALLS = ("auto", "guest-kernel", "frozen-host", "none")
_EXAMPLES = """examples:
  vmtrace lab list
  sudo vmtrace lab run lan --out /tmp/lan --scale 0.1
  sudo vmtrace lab run ec2-micro-to-campus --out /tmp/ec2 --plan lee2011 --scale 0.1 --seed 7
  sudo vmtrace lab run clean --out /tmp/mine --scale 0.1 --set rtt=80ms --set forward.loss=0.5%
  sudo vmtrace lab scenario loss1-cubic-rtt20 --out /tmp/scenarios
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace lab`."""
    parser = argparse.ArgumentParser(
        prog="vmtrace lab",
        description="Transfers between two hosts over an emulated path, with the fate of every packet known.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add_options, line in (
        ("run", _add_run, "Run a campaign of connection pairs over a profile."),
        ("list", None, "Show the profiles with their numbers."),
        ("scenario", scenario.add_options, "Run single transfers with two captures and their truth."),
    ):
        formatter = argparse.RawDescriptionHelpFormatter
        part = commands.add_parser(name, help=line, description=line, epilog=_EXAMPLES, formatter_class=formatter)
        if add_options:
            add_options(part)
    return parser


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("profile", metavar="PROFILE", help="name of a profile: see vmtrace lab list")
    add_out(parser, "run folder to create", required=True)
    add_plan(parser, "lee2011 or a TOML file; the sender's default if not given")
    parser.add_argument("--scale", metavar="X", help="multiply sizes and idle times of the plan by X")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--repeat", metavar="N", help="rounds of the plan")
    add_duration(length, "repeat the plan for this time, e.g. 18h")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of loss, jitter and stalls (default 1)")
    parser.add_argument(
        "--set", dest="settings", action="append", default=[], metavar="NAME=VALUE",
        help=f"change a number of the path, [forward.|reverse.]NAME; NAME: {', '.join(NAMES)}".replace("%", "%%"),
    )  # fmt: skip
    parser.add_argument(
        "--stalls", choices=_STALLS, default="auto",
        help="how a profile's stalls are made; auto: by stopping a guest kernel where user-mode-linux is installed",
    )  # fmt: skip
    parser.add_argument(
        "--congestion-control", metavar="NAME",
        help="congestion control of all connections (default cubic; with your own plan: the plan's)",
    )  # fmt: skip
    parser.add_argument(
        "--no-offload", action="store_true", help="hosts segment in software: captures see wire packets"
    )
    add_no_capture(parser, "run without capturing packets")
    parser.add_argument("--ip-version", type=int, choices=(4, 6), default=4, help="IP version of the path (default 4)")
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked; returns the exit status."""
    if arguments.command == "list":
        return _list()
    if arguments.command == "scenario":
        return scenario.run_named(arguments)
    return _run_campaign(arguments)


def _list() -> int:
    for profile in PROFILES.values():
        print(f"{profile.name}: {profile.summary}")
        for line in profile.numbers():
            print(f"    {line}")
    return 0


def _run_campaign(arguments: argparse.Namespace) -> int:
    try:
        campaign = _campaign(arguments)
    except ValueError as error:
        return _complain(str(error), 2)

    def tell(line: str) -> None:
        if not arguments.quiet:
            print(f"lab: {line}", flush=True)

    host = [f"sending host: {campaign.sender_host}"] if campaign.profile.stalls else []
    for line in (campaign.profile.summary, *campaign.profile.numbers(), *host):
        tell(line)
    try:
        outcome = campaign_run.run(campaign, arguments.out, tell)
    except (CampaignError, kernel.GuestError, namespaces.LabUnavailableError, RuntimeError, OSError) as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    return _tell_outcome(outcome, arguments.out, tell, quiet=arguments.quiet)


def _tell_outcome(outcome: campaign_run.Outcome, folder: Path, tell: campaign_run.Tell, *, quiet: bool) -> int:
    error = outcome.truth["timing"]["delay_error"]
    exact = ""
    if error:
        exact = (
            f"; delay error of the path: median {error['median_s'] * 1e3:.3f} ms, p99 {error['p99_s'] * 1e3:.3f} ms,"
            f" largest {error['max_s'] * 1e3:.3f} ms over {error['samples']} packets"
        )
    tell(f"truth in {folder / 'lab'}{exact}")
    if outcome.interrupted:
        return _complain(f"interrupted: what was finished is in {folder}", _INTERRUPTED)
    if not quiet:
        show_afterwards([folder], command("vmtrace", "report", folder))
    problems = "; ".join(outcome.truth["problems"])
    if outcome.doubtful:
        return _complain(f"this machine was busy: {problems}. Doubtful: {'; '.join(outcome.doubtful)}.", 0)
    if not outcome.good:
        return _complain(f"run discarded as a reference: {problems}", 1)
    return 0


def _campaign(arguments: argparse.Namespace) -> Campaign:
    if arguments.profile not in PROFILES:
        raise ValueError(f"no profile {arguments.profile}: there are {', '.join(PROFILES)}")
    profile = changed(PROFILES[arguments.profile], arguments.settings)
    return Campaign(
        profile=profile,
        seed=arguments.seed,
        sender_host=_sender_host(profile, arguments.stalls, arguments.ip_version),
        stalls=arguments.stalls != "none",
        congestion_control=_congestion_control(arguments, profile),
        offload=not arguments.no_offload,
        ip_version=arguments.ip_version,
        capture=not arguments.no_capture,
        sender_arguments=_sender_arguments(arguments),
    )


def _congestion_control(arguments: argparse.Namespace, profile: Profile) -> str | None:
    """The machine's own default would make every machine's results different; a plan's file may choose per transfer."""
    if arguments.congestion_control:
        return str(arguments.congestion_control)
    return None if arguments.plan and Path(arguments.plan).is_file() else profile.sender.congestion_control


def _sender_host(profile: Profile, wanted: str, ip_version: int) -> Host:
    """A guest kernel is slower to start and to transfer: it is there only for stalls."""
    if wanted == "guest-kernel":
        if ip_version == 6:
            raise ValueError("--stalls guest-kernel: the guest kernel has no IPv6: use --ip-version 4")
        if profile.stalls is None:
            raise ValueError(f"--stalls guest-kernel: the profile {profile.name} has no stalls")
        return Host.GUEST_KERNEL
    if wanted == "auto" and profile.stalls and ip_version == 4 and kernel.find():
        return Host.GUEST_KERNEL
    return Host.NAMESPACE


def _sender_arguments(arguments: argparse.Namespace) -> tuple[str, ...]:
    options = {
        "--plan": _plan(arguments.plan),
        "--scale": arguments.scale,
        "--repeat": arguments.repeat,
        "--for": arguments.duration,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, value)]
    return (*words, "--quiet") if arguments.quiet else tuple(words)


def _plan(name: str | None) -> str | None:
    """A plan's file by its whole path: the sender may run elsewhere."""
    return str(Path(name).absolute()) if name and Path(name).is_file() else name


def _complain(line: str, status: int) -> int:
    print(f"vmtrace: {line}", file=sys.stderr)
    return status
