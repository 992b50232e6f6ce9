"""`vmtrace storage thin`: keep the packets of a campaign's slowest requests, and of all the numbers that reports need.

A campaign that is given `--keep-packets` runs this on each capture file once it is complete, as a process of its own
with the lowest priority. Exit status: 0 done; 1 a capture could not be thinned, and is as it was; 2 wrong usage.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from vmtrace.capture.afterwards import command, show_afterwards
from vmtrace.errors import Exit, UsageError, complain, describe

NAME = "thin"
LINE = "Keep the packets of a campaign's slowest requests only, without losing the numbers of reports."
EXAMPLES = """  vmtrace storage thin run6 --keep slowest:1%
"""
_PREFIX = "slowest:"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    add = parser.add_argument
    add("run", metavar="RUN", type=Path, help="folder of a campaign (probes, surge, sweep, availability, locations)")
    add(
        "--keep",
        metavar="slowest:P%",
        default="slowest:1%",
        help="requests whose packets are kept (default: slowest:1%%)",
    )
    add("--file", metavar="NAME", action="append", default=[], help="only this file of RUN/packets; may be repeated")


def run(arguments: argparse.Namespace) -> int:
    """Thin each capture that was not thinned before; returns the exit status."""
    from vmtrace.analyze.reports.storage.packet_facts import captures_of_campaign, facts_path
    from vmtrace.analyze.reports.storage.run_folder import read_storage_run
    from vmtrace.analyze.reports.storage.thinning import thin
    from vmtrace.formats.quantities import plural

    try:
        share = share_of(arguments.keep)
    except ValueError as error:
        raise UsageError(f"--keep: {error}") from error
    campaign = read_storage_run(arguments.run)
    status, written = Exit.DONE, list[Path]()
    for capture in captures_of_campaign(campaign.folder):
        if facts_path(capture).is_file() or (arguments.file and capture.name not in arguments.file):
            continue
        try:
            kept = thin(campaign.folder, capture, share)
        except (OSError, ValueError) as error:
            complain(describe(error))
            status = Exit.FAILED
            continue
        print(f"{capture}: {plural(kept.packets, 'packet')} of {kept.of:,} kept")
        written.append(capture)
    show_afterwards(written, command("vmtrace", "storage", "report", arguments.run))
    return status


def share_of(text: str) -> float:
    """`slowest:1%` as 0.01; raises `ValueError`."""
    word = text.removeprefix(_PREFIX)
    if word == text or not word.endswith("%"):
        raise ValueError(f"{text!r}: slowest:1% is the form")
    percent = float(word[:-1])
    if not 0 <= percent <= 100:
        raise ValueError(f"{text!r}: from 0% to 100% are possible")
    return percent / 100


def thin_in_background(run: Path, capture: Path, share: float) -> None:
    """In a process of its own, and wait for it: the thread that calls has nothing else to do."""
    words = [sys.executable, "-m", "vmtrace", "storage", "thin", str(run), "--file", capture.name]
    words += ["--keep", f"{_PREFIX}{share * 100:g}%"]
    done = subprocess.run(["nice", "-n", "19", *words], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        complain(f"{capture.name} is not thinned: {done.stderr.strip()}")
