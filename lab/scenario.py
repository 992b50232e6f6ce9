"""A lab run from a description: hosts, path, transfer, captures, and the truth left in a folder.

`run` leaves `sender.pcap`, `receiver.pcap` (and `middle.pcap`), `fates.csv.gz`, `truth.json`, `tcp_info.*.csv`.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from lab import fate_log, namespaces, truth
from lab.capture_run import DEFAULT_SNAPLEN_BYTES, CaptureHealth, capturing
from lab.emulator import LATENESS_P99_BOUND_S, LOOP_BOUND_S, EmulatorSettings
from lab.fate_log import PacketFate
from lab.hosts import ADDRESSES, HostSettings, Path_, Topology, joined_hosts
from lab.impairments import Impairments
from lab.pcap_file import CapturedPacket, read_packets
from lab.tcp_info import last_rows, read_table
from lab.transfer import Transfer, TransferOutcome, run_transfer

SCHEMA = "vmtrace.lab_truth/1"
_TIME_LIMIT_S = 60.0
_WORKING_FILES = (
    "fates.bin", "path.json", "emulator.json", "server.key", "server.crt", "client.log", "server.log", "client.json",
    "server.json", "client.settings.json", "server.settings.json", "sender.pcap.log", "receiver.pcap.log", "middle.pcap.log",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that decides a run. `forward` is the direction from the data sender to the receiver."""

    name: str
    story: str
    transfer: Transfer = field(default_factory=Transfer)
    forward: Impairments = field(default_factory=Impairments)
    reverse: Impairments = field(default_factory=Impairments)
    sender: HostSettings = field(default_factory=HostSettings)
    receiver: HostSettings = field(default_factory=HostSettings)
    topology: Topology = Topology.TUN
    ip_version: int = 4
    mtu: int = 1500
    snaplen_bytes: int = DEFAULT_SNAPLEN_BYTES
    seed: int = 1


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


def run(scenario: Scenario, folder: Path, attempts: int = 1) -> Run:
    """Run a scenario into a folder. A run that is not good is repeated up to `attempts` times; the last one stays."""
    namespaces.require()
    folder.mkdir(parents=True, exist_ok=True)
    for _ in range(attempts):
        _clear(folder)
        result = _run_once(scenario, folder)
        if result.good:
            break
    return result


def _clear(folder: Path) -> None:
    """Remove an earlier run's files, and nothing that is not one."""
    patterns = ("*.pcap", "fates.csv.gz", "truth.json", "tcp_info.*.csv", *_WORKING_FILES)
    for pattern in patterns:
        for leftover in folder.glob(pattern):
            leftover.unlink()


def _run_once(scenario: Scenario, folder: Path) -> Run:
    settings = {"sender": scenario.sender, "receiver": scenario.receiver}
    emulator = EmulatorSettings(scenario.forward, scenario.reverse, scenario.seed)
    began_ns, stolen_before_s = time.time_ns(), stolen_cpu_s()
    with joined_hosts(scenario.topology, scenario.ip_version, scenario.mtu, settings, emulator, folder) as path:
        with capturing(_wanted_captures(path, scenario, folder), scenario.snaplen_bytes) as captures:
            outcome = run_transfer(scenario.transfer, path.hosts, folder, _TIME_LIMIT_S)
            time.sleep(scenario.forward.delay_s + scenario.reverse.delay_s + 0.1)
            report = path.finish()
            health = {name: capture.stop() for name, capture in captures.items()}
        device_drops = path.device_drops()
    rows = fate_log.read_binary(path.log_path, report["unix_offset_ns"])
    fate_log.write_csv(rows, folder / "fates.csv.gz")
    for name in _WORKING_FILES:
        (folder / name).unlink(missing_ok=True)
    packets = {name: list(read_packets(folder / f"{name}.pcap")) for name in captures}
    document = _truth(scenario, rows, report, outcome, health, packets, device_drops)
    document["timing"]["stolen_cpu_s"] = round(stolen_cpu_s() - stolen_before_s, 2)
    document["made"] = {"start_ns": began_ns, "kernel": platform.release(), "tcpdump": _tcpdump_version()}
    (folder / "truth.json").write_text(json.dumps(document, indent=1))
    return Run(folder, document)


def _wanted_captures(path: Path_, scenario: Scenario, folder: Path) -> dict[str, tuple[str, str, Path]]:
    wanted = {role: (host.namespace, host.device, folder / f"{role}.pcap") for role, host in path.hosts.items()}
    if scenario.topology is Topology.OFFLOAD:
        wanted["middle"] = (path.tun_namespaces["sender"], "tun0", folder / "middle.pcap")
    return wanted


def _truth(
    scenario: Scenario,
    rows: list[PacketFate],
    report: dict[str, int],
    outcome: TransferOutcome,
    health: dict[str, CaptureHealth],
    packets: dict[str, list[CapturedPacket]],
    device_drops: int,
) -> dict[str, Any]:
    flows = truth.flows(rows)
    timing = _timing(scenario, rows, report, packets)
    retransmits = {
        role: {"kernel": outcome.counters[role].get("RetransSegs", 0), "emulator": truth.retransmit_count(flows, way)}
        for role, way in (("sender", "forward"), ("receiver", "reverse"))
    }
    problems = _problems(timing, report, health, device_drops, retransmits, outcome)
    problems += _missing_from_captures(scenario, rows, packets)
    return {
        "schema": SCHEMA,
        "scenario": asdict(scenario),
        "good": not problems,
        "problems": problems,
        "forward": truth.totals(flows, "forward"),
        "reverse": truth.totals(flows, "reverse"),
        "flows": [asdict(flow) for flow in flows],
        "retransmits": retransmits,
        "rtt": _rtt(scenario, rows, outcome),
        "timing": timing,
        "captures": {name: _capture_facts(health[name], packets[name]) for name in packets},
        "device_drops": device_drops,
        "counters": outcome.counters,
        "ends": outcome.ends,
        "tcp_info_last": {role: last_rows(read_table(path)) for role, path in outcome.tcp_info.items()},
    }


def _rtt(scenario: Scenario, rows: list[PacketFate], outcome: TransferOutcome) -> dict[str, Any]:
    samples = [row for row in read_table(outcome.tcp_info["sender"]) if row["rtt_us"]]
    known = [row["min_rtt_us"] for row in samples if row["min_rtt_us"] < 0xFFFFFFFF]
    return {
        "base_s": scenario.forward.delay_s + scenario.reverse.delay_s,
        "forward_data_delay": truth.path_delays(rows, "forward", data_only=True),
        "reverse_delay": truth.path_delays(rows, "reverse", data_only=False),
        "kernel_min_rtt_s": min(known) / 1e6 if known else None,
        "kernel_srtt": truth.distribution([row["rtt_us"] / 1e6 for row in samples]),
    }


def _timing(
    scenario: Scenario, rows: list[PacketFate], report: dict[str, int], packets: dict[str, list[CapturedPacket]]
) -> dict[str, Any]:
    timing: dict[str, Any] = {"lateness": truth.lateness(rows), "longest_turn_s": report["longest_turn_ns"] / 1e9}
    timing["real_time_priority"] = bool(report["real_time_priority"])
    if scenario.topology is Topology.TUN:
        tcp = [row for row in rows if row.source_port]
        entered = [row.time_in_ns for row in tcp if row.direction == "forward" and row.fate != "duplicate"]
        left = sorted(row.time_out_ns for row in tcp if row.direction == "forward" and not row.lost)
        seen_out = [packet.time_ns for packet in _from(packets["sender"], scenario, "sender")]
        seen_in = [packet.time_ns for packet in _from(packets["receiver"], scenario, "sender")]
        timing["entry_after_sender_capture"] = _differences(seen_out, entered)
        timing["receiver_capture_after_exit"] = _differences(left, seen_in)
    return timing


def _from(packets: list[CapturedPacket], scenario: Scenario, role: str) -> list[CapturedPacket]:
    address = ipaddress.ip_address(ADDRESSES[scenario.ip_version][role]).packed
    return [packet for packet in packets if packet.source == address]


def _differences(earlier: list[int], later: list[int]) -> dict[str, float | int] | None:
    if len(earlier) != len(later):
        return None
    return truth.distribution([(after - before) / 1e9 for before, after in zip(earlier, later, strict=True)])


def _problems(
    timing: dict[str, Any],
    report: dict[str, int],
    health: dict[str, CaptureHealth],
    device_drops: int,
    retransmits: dict[str, dict[str, int]],
    outcome: TransferOutcome,
) -> list[str]:
    late = timing["lateness"]
    found = []
    if late is None or late["p99_s"] > LATENESS_P99_BOUND_S:
        found.append(f"emulator lateness p99 beyond {LATENESS_P99_BOUND_S} s: {late and late['p99_s']}")
    if timing["longest_turn_s"] > LOOP_BOUND_S or (late and late["max_s"] > LOOP_BOUND_S):
        found.append(f"emulator stood still beyond {LOOP_BOUND_S} s: {timing['longest_turn_s']}, {late and late['max_s']}")
    if abs(report["clock_step_ns"]) > 1_000_000:
        found.append(f"the clock stepped by {report['clock_step_ns']} ns")
    if device_drops or report["refused_writes"]:
        found.append(f"devices dropped {device_drops} packets, refused {report['refused_writes']}")
    found += [f"capture {name} is not whole: {facts.as_json()}" for name, facts in health.items() if not facts.whole]
    for role, counts in retransmits.items():
        if counts["kernel"] != counts["emulator"]:
            found.append(f"RetransSegs of {role} {counts['kernel']}, in the log {counts['emulator']}")
    if not outcome.digests_agree:
        found.append("bytes received differ from bytes sent")
    return found


def _missing_from_captures(
    scenario: Scenario, rows: list[PacketFate], packets: dict[str, list[CapturedPacket]]
) -> list[str]:
    """Where captures see the same packets as the emulator, their counts must be the same."""
    tcp = [row for row in rows if row.source_port]
    sent = {way: sum(row.direction == way and row.fate != "duplicate" for row in tcp) for way in ("forward", "reverse")}
    arrived = {way: sum(row.direction == way and not row.lost for row in tcp) for way in ("forward", "reverse")}
    expected = {"sender": sent["forward"] + arrived["reverse"], "receiver": arrived["forward"] + sent["reverse"]}
    if scenario.topology is Topology.OFFLOAD:
        expected = {"middle": expected["sender"]}
    return [
        f"capture {name} has {len(packets[name])} TCP packets, the log {count}"
        for name, count in expected.items()
        if len(packets[name]) != count
    ]


def _capture_facts(health: CaptureHealth, packets: list[CapturedPacket]) -> dict[str, int]:
    return {
        **health.as_json(),
        "tcp_packets": len(packets),
        "data_packets": sum(packet.payload_bytes > 0 for packet in packets),
        "largest_ip_bytes": max((packet.ip_bytes for packet in packets), default=0),
    }


def stolen_cpu_s() -> float:
    """CPU time the hypervisor gave to others since boot: it explains a run that is not good."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def _tcpdump_version() -> str:
    said = subprocess.run(["tcpdump", "--version"], capture_output=True, text=True, check=False)
    return "; ".join((said.stdout + said.stderr).splitlines()[:2])


def main(arguments: list[str] | None = None) -> int:
    """`python -m lab.scenario NAME --out DIR`."""
    from lab.ready_scenarios import SCENARIOS

    parser = argparse.ArgumentParser(prog="python -m lab.scenario", description="Run a transfer with known truth.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios to run, or 'all'")
    parser.add_argument("--out", type=Path, help="folder; each scenario gets a folder of its name in it")
    parser.add_argument("--list", action="store_true", help="show the scenarios")
    parser.add_argument("--seed", type=int, help="another seed than the scenario's own")
    parser.add_argument("--attempts", type=int, default=4, help="run again one that was not good (default 4)")
    options = parser.parse_args(arguments)
    if options.list:
        for scenario in SCENARIOS.values():
            print(f"{scenario.name:34} {scenario.story}")
        return 0
    names = list(SCENARIOS) if options.names == ["all"] else options.names
    unknown = [name for name in names if name not in SCENARIOS]
    if unknown or not names or options.out is None:
        parser.error(f"no scenario {', '.join(unknown)}: see --list" if unknown else "give NAME and --out DIR, or --list")
    try:
        return max(_run_and_tell(SCENARIOS[name], options) for name in names)
    except (namespaces.LabUnavailableError, RuntimeError, OSError) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1


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
