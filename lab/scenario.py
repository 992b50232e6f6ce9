"""A lab run from a description: hosts, path, transfer, captures, and the truth left in a folder.

`run` leaves `sender.pcap`, `receiver.pcap` (and `middle.pcap`), `fates.csv.gz`, `truth.json`, `tcp_info.*.csv`.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from vmtrace.capture.options import add_out
from vmtrace.lab import evidence, fate_log, kernel_counters, namespaces
from vmtrace.lab.capture_run import capturing
from vmtrace.lab.description import Scenario
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.evidence import Evidence
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import EmulatedPath, Topology, joined_hosts
from vmtrace.lab.pcap_file import read_packets
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.transfer import run_transfer

_TIME_LIMIT_S = 60.0
_RESULT_FILES = (
    "sender.pcap", "receiver.pcap", "middle.pcap", "fates.csv.gz", "truth.json",
    "tcp_info.sender.csv", "tcp_info.receiver.csv",
)  # fmt: skip
_WORKING_FILES = (
    "fates.bin", "path.json", "emulator.json", "server.key", "server.crt", "client.log", "server.log", "client.json",
    "server.json", "client.settings.json", "server.settings.json",
    "sender.pcap.log", "receiver.pcap.log", "middle.pcap.log",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: where it is and what was true."""

    folder: Path
    truth: dict[str, Any]

    @property
    def good(self) -> bool:
        """The emulator kept its bounds, nothing was lost unseen, kernel and log agree."""
        return bool(self.truth["good"])

    @property
    def agreed(self) -> bool:
        """Every witness tells the same; only the times may be wrong, where others kept the machine busy."""
        return set(self.truth["problems"]) <= set(self.truth["late"])

    @property
    def longest_standstill_s(self) -> float:
        """For how long at most the emulator did not do what was due."""
        timing = self.truth["timing"]
        parts = (timing["lateness"], timing.get("entry_after_sender_capture"))
        return max(float(timing["longest_turn_s"]), *(float(part["max_s"]) for part in parts if part), 0.0)

    @property
    def sender_pcap(self) -> Path:
        """Capture at the data sender."""
        return self.folder / "sender.pcap"

    @property
    def receiver_pcap(self) -> Path:
        """Capture at the data receiver."""
        return self.folder / "receiver.pcap"

    @property
    def middle_pcap(self) -> Path:
        """Capture at the sender's router, where packets already have MTU size (topology OFFLOAD only)."""
        return self.folder / "middle.pcap"

    def fates(self) -> list[PacketFate]:
        """The emulator's log."""
        return list(fate_log.read_csv(self.folder / "fates.csv.gz"))


def run(
    scenario: Scenario, folder: Path, attempts: int = 1, good_enough: Callable[[Run], bool] = attrgetter("good")
) -> Run:
    """Run a scenario into a folder. One that is not good enough is repeated up to `attempts` times; the last one stays.

    Where exact times do not matter, `attrgetter("agreed")` is enough.
    """
    namespaces.require()
    folder.mkdir(parents=True, exist_ok=True)
    result = _run_afresh(scenario, folder)
    for _ in range(attempts - 1):
        if good_enough(result):
            break
        result = _run_afresh(scenario, folder)
    return result


def made_once(scenario: Scenario, folder: Path) -> Run:
    """The run that is in the folder, or a new one."""
    return Run(folder, {}) if (folder / "truth.json").exists() else run(scenario, folder)


def _clear(folder: Path) -> None:
    """Remove an earlier run's files, and nothing that is not one."""
    for name in (*_RESULT_FILES, *_WORKING_FILES):
        (folder / name).unlink(missing_ok=True)


def _run_afresh(scenario: Scenario, folder: Path) -> Run:
    _clear(folder)
    return _run_once(scenario, folder)


def _run_once(scenario: Scenario, folder: Path) -> Run:
    settings = {"sender": scenario.sender, "receiver": scenario.receiver}
    emulator = EmulatorSettings(scenario.forward, scenario.reverse, scenario.seed)
    began_ns, stolen_before_s = time.time_ns(), evidence.stolen_cpu_s()
    with joined_hosts(scenario.topology, scenario.ip_version, scenario.mtu, settings, emulator, folder) as path:
        with capturing(_wanted_captures(path, scenario, folder), scenario.snaplen_bytes) as captures:
            before = _counters(path)
            outcome = run_transfer(scenario.transfer, path.hosts, folder, _TIME_LIMIT_S)
            time.sleep(scenario.forward.delay_s + scenario.reverse.delay_s + 0.1)
            report = path.finish()
            health = {name: capture.stop() for name, capture in captures.items()}
        device_drops = path.device_drops()
        after = _counters(path)
    rows = fate_log.read_binary(path.log_path, report["unix_offset_ns"])
    fate_log.write_csv(rows, folder / "fates.csv.gz")
    for name in _WORKING_FILES:
        (folder / name).unlink(missing_ok=True)
    packets = {name: list(read_packets(folder / f"{name}.pcap")) for name in captures}
    counters = {role: kernel_counters.added(before[role], after[role]) for role in after}
    known = Evidence(scenario, rows, report, outcome, counters, health, packets, device_drops)
    document = evidence.truth_document(known)
    document["timing"]["stolen_cpu_s"] = round(evidence.stolen_cpu_s() - stolen_before_s, 2)
    document["made"] = {"start_ns": began_ns, "kernel": platform.release(), "tcpdump": _tcpdump_version()}
    (folder / "truth.json").write_text(json.dumps(document, indent=1))
    return Run(folder, document)


def _counters(path: EmulatedPath) -> dict[str, dict[str, int]]:
    return {role: kernel_counters.read(host.namespace) for role, host in path.hosts.items()}


def _wanted_captures(path: EmulatedPath, scenario: Scenario, folder: Path) -> dict[str, tuple[str, str, Path]]:
    wanted = {role: (host.namespace, host.device, folder / f"{role}.pcap") for role, host in path.hosts.items()}
    if scenario.topology is Topology.OFFLOAD:
        wanted["middle"] = (path.tun_namespaces["sender"], "tun0", folder / "middle.pcap")
    return wanted


def _tcpdump_version() -> str:
    said = subprocess.run(["tcpdump", "--version"], capture_output=True, text=True, check=False)
    return "; ".join((said.stdout + said.stderr).splitlines()[:2])


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a scenario's command line."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios to run, or 'all'")
    add_out(parser, "folder; each scenario gets a folder of its name in it", "FOLDER")
    parser.add_argument("--list", action="store_true", help="show the scenarios")
    parser.add_argument("--seed", type=int, help="seed, instead of the scenario's own")
    parser.add_argument("--attempts", type=int, default=4, help="attempts until a run is good (default 4)")


def run_named(options: argparse.Namespace) -> int:
    """Run the scenarios of a command line; returns the exit status."""
    if options.list:
        for scenario in SCENARIOS.values():
            print(f"{scenario.name:34} {scenario.story}")
        return 0
    names = list(SCENARIOS) if options.names == ["all"] else options.names
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown or not names or options.out is None:
        said = f"no scenario {', '.join(unknown)}: see --list" if unknown else "give NAME and --out DIR, or --list"
        print(f"lab: {said}", file=sys.stderr)
        return 2
    try:
        return max(_run_and_tell(SCENARIOS[name], options) for name in names)
    except (namespaces.LabUnavailableError, RuntimeError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


def main(arguments: list[str] | None = None) -> int:
    """`python -m vmtrace.lab.scenario NAME --out DIR`."""
    parser = argparse.ArgumentParser(
        prog="python -m vmtrace.lab.scenario", description="Run a transfer with known truth."
    )
    add_options(parser)
    return run_named(parser.parse_args(arguments))


def _run_and_tell(scenario: Scenario, options: argparse.Namespace) -> int:
    chosen = scenario if options.seed is None else replace(scenario, seed=options.seed)
    done = run(chosen, options.out / scenario.name, options.attempts)
    sums, late = done.truth["forward"], done.truth["timing"]["lateness"]
    print(
        f"{scenario.name:34} {'good' if done.good else 'BAD '} data {sums.get('data_segments_sent', 0)}"
        f" lost {sums.get('data_segments_lost', 0)} retransmitted {sums.get('retransmissions_sent', 0)}"
        f" late p99 {late['p99_s'] * 1e3 if late else 0:.3f} ms {'; '.join(done.truth['problems'])}",
        flush=True,
    )
    return 0 if done.good else 1


if __name__ == "__main__":
    sys.exit(main())
