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


class Group(NamedTuple):
    """A command of subcommands, each a module of this folder: its line for the list, and what it says of itself."""

    help: str
    description: str
    modules: tuple[str, ...]

    def parser(self, name: str) -> argparse.ArgumentParser:
        """Its options."""
        from vmtrace.commands.subcommands import parser_of

        modules = [importlib.import_module(f"vmtrace.commands.{module}") for module in self.modules]
        return parser_of(f"vmtrace {name}", self.description, modules)

    @property
    def run(self) -> Callable[[argparse.Namespace], int]:
        """What the subcommand does."""
        from vmtrace.commands.subcommands import run_chosen

        return run_chosen


COMMANDS: dict[str, RoomCommand | Group] = {
    "analyze": RoomCommand("vmtrace.commands.analyze", "Measure captures: goodput, loss, RTT, and why it was slow."),
    "compare": RoomCommand("vmtrace.commands.compare", "Match two captures of the same transfers, one of each end."),
    "report": RoomCommand("vmtrace.commands.report", "Report on runs of connection pairs: tables, figures, a page."),
    "compare-runs": RoomCommand("vmtrace.commands.compare_runs", "Compare two runs: what changed, and how sure it is."),
    "corpus": RoomCommand(
        "vmtrace.commands.corpus", "Analyze many captures, also in object stores and on several machines."
    ),
    "watch": RoomCommand("vmtrace.commands.watch", "Analyse packets while they pass, of an interface or a stream."),
    "annotate": RoomCommand("vmtrace.commands.annotate", "Write a capture with comments for Wireshark."),
    "query": RoomCommand("vmtrace.commands.query", "Ask in SQL over captures, or over the results of a corpus."),
    "mcp": RoomCommand("vmtrace.commands.mcp", "Answer a language model's questions about captures."),
    "extcap": RoomCommand("vmtrace.commands.extcap", "Show Wireshark what vmtrace watch watches."),
    "index": RoomCommand("vmtrace.commands.index", "Index captures, to read chosen connections without the rest."),
    "fields": RoomCommand("vmtrace.commands.fields", "Show what the fields and columns of results mean."),
    "send": RoomCommand("vmtrace.sender.command", "Run a campaign of connection pairs against a receiver."),
    "receive": RoomCommand("vmtrace.receiver.command", "Receive a sender's transfers: the far end of a campaign."),
    "fetch": RoomCommand("vmtrace.sender.fetch_command", "Fetch the receiver's files of a run into its folder."),
    "capture": RoomCommand("vmtrace.capture.command", "Record the packets of an interface with libpcap."),
    "agent": RoomCommand("vmtrace.commands.agent", "Write the one-file sender, receiver and capture for a bare VM."),
    "storage": Group(
        "Measure storage services: workloads, packets, overhead.",
        "Measure storage services as black boxes: their connections, overhead and throughput.",
        ("storage_run", "storage_report", "storage_clean", "storage_thin"),
    ),
    "queue": Group(
        "Measure message queues: rates, order, latency, duplicates.",
        "Measure message queues: rates, order, latency, duplicates.",
        ("queue_run", "queue_report", "queue_clean"),
    ),
    "cost": RoomCommand("vmtrace.commands.cost", "Estimate what a workload costs at a storage service."),
    "cloudwatch": RoomCommand("vmtrace.cloudwatch.command", "Fetch, import or publish CloudWatch metrics of a run."),
    "discover": Group(
        "Find the front ends of host names: addresses, places, RTTs.",
        "Find the front ends of host names: their addresses, places and round trips.",
        ("discover_run", "discover_report"),
    ),
    "swarm": Group(
        "Measure BitTorrent with an object store as web seed.",
        "Download a file by BitTorrent from seeds and an object store as web seed: time, shares, charges.",
        ("swarm_run", "swarm_seed", "swarm_report"),
    ),
    "lab": RoomCommand("vmtrace.lab.command", "Run campaigns over emulated paths, where every loss is known."),
    "demo": RoomCommand("vmtrace.commands.demo", "Run a campaign on this machine, and write its report."),
    "completion": RoomCommand("vmtrace.commands.completion", "Print the completion script of a shell."),
}
"""In the order in which they are listed."""
