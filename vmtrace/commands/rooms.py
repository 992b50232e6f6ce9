"""The subcommands of `vmtrace`: their names, their modules, and their lines in the list of commands.

A module has `build_parser()`, its part of the argparse tree, and `run(arguments)`, which returns the exit status. Both
are complete without vmtrace where the room runs on a bare VM. Nothing of a room is imported before it is asked for.
"""

import argparse
import importlib
from collections.abc import Callable
from typing import NamedTuple


class RoomCommand(NamedTuple):
    """A subcommand: the module that has `build_parser` and `run`, and a line for the list of commands."""

    module: str
    help: str

    def parser(self, name: str) -> argparse.ArgumentParser:
        """Its options."""
        parser: argparse.ArgumentParser = importlib.import_module(self.module).build_parser()
        parser.prog = f"vmtrace {name}"
        return parser

    @property
    def run(self) -> Callable[[argparse.Namespace], int]:
        """What it does."""
        function: Callable[[argparse.Namespace], int] = importlib.import_module(self.module).run
        return function


COMMANDS = {
    "analyze": RoomCommand("vmtrace.commands.analyze", "Measure captures: goodput, loss, RTT, and why it was slow."),
    "compare": RoomCommand("vmtrace.commands.compare", "Match two captures of the same transfers, one of each end."),
    "report": RoomCommand("vmtrace.commands.report", "Report on runs of connection pairs: tables, figures, a page."),
    "compare-runs": RoomCommand("vmtrace.commands.compare_runs", "What changed between two runs, and how sure it is."),
    "corpus": RoomCommand(
        "vmtrace.commands.corpus", "Many captures, in object stores, on several machines: as one run."
    ),
    "index": RoomCommand("vmtrace.commands.index", "Note where in captures which connections lie: to read only those."),
    "send": RoomCommand("sender.command", "Run a campaign of connection pairs against a receiver."),
    "receive": RoomCommand("receiver.command", "Wait for a sender and receive its transfers: the far end."),
    "fetch": RoomCommand("sender.fetch_command", "Get the receiver's half of a run into its folder."),
    "capture": RoomCommand("capture.command", "Record the packets of an interface with libpcap."),
    "agent": RoomCommand("vmtrace.commands.agent", "Write the one-file sender, receiver and capture for a bare VM."),
    "storage": RoomCommand(
        "vmtrace.commands.storage", "Storage services as black boxes: workloads, packets, overhead."
    ),
    "queue": RoomCommand("vmtrace.commands.queue", "Message queues as black boxes: rates, order, latency, duplicates."),
    "cost": RoomCommand("vmtrace.commands.cost", "What a workload costs at a storage service: scenarios side by side."),
    "cloudwatch": RoomCommand("cloudwatch.command", "CloudWatch's metrics of a run: fetch, import, publish."),
    "discover": RoomCommand("vmtrace.commands.discover", "Front ends of names: which there are, where, how far."),
    "swarm": RoomCommand(
        "vmtrace.commands.swarm", "BitTorrent with an object store as web seed: time, shares, charges saved."
    ),
    "lab": RoomCommand("lab.command", "Emulated paths: campaigns with known truth."),
    "demo": RoomCommand("vmtrace.commands.demo", "A campaign on this machine, ending with a report to open."),
    "completion": RoomCommand("vmtrace.commands.completion", "Completion of commands, options and names by the shell."),
}
"""In the order in which they are listed."""
