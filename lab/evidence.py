"""Everything a run left behind, put side by side: the truth document, and whether the run may be called good.

The truth is the emulator's log; captures and kernel counters are here only to check that log, and disagreement between
any two of them makes the run bad.
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab import truth
from vmtrace.lab.capture_run import CaptureHealth
from vmtrace.lab.description import Scenario
from vmtrace.lab.emulator import ENTRY_P99_BOUND_S, LATENESS_P99_BOUND_S, LOOP_BOUND_S
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import ADDRESSES, Topology
from vmtrace.lab.pcap_file import CapturedPacket
from vmtrace.lab.round_trips import clean_samples_s
from vmtrace.lab.tcp_info import last_rows, read_table
from vmtrace.lab.transfer import TransferOutcome

SCHEMA = "vmtrace.lab_truth/1"
_CLOCK_STEP_BOUND_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """What each witness of one run says."""

    scenario: Scenario
    fates: list[PacketFate]
    emulator: dict[str, Any]
    outcome: TransferOutcome
    counters: dict[str, dict[str, int]]
    health: dict[str, CaptureHealth]
    packets: dict[str, list[CapturedPacket]]
    device_drops: int


def truth_document(known: Evidence) -> dict[str, Any]:
    """The content of `truth.json`; see `lab/README.md` for what each part means."""
    flows = truth.flows(known.fates)
    timing = _timing(known)
    retransmits = _retransmits(known, flows)
    late = _late(timing)
    problems = late + _disagreements(known, retransmits) + _missing_from_captures(known)
    return {
        "schema": SCHEMA,
        "scenario": asdict(known.scenario),
        "good": not problems,
        "problems": problems,
        "late": late,
        "forward": truth.totals(flows, "forward"),
        "reverse": truth.totals(flows, "reverse"),
        "flows": [asdict(flow) for flow in flows],
        "seen_at": {side: truth.seen_at(flows, side) for side in ("sender", "receiver")},
        "retransmits": retransmits,
        "rtt": _rtt(known),
        "timing": timing,
        "captures": {name: _capture_facts(known.health[name], known.packets[name]) for name in known.packets},
        "device_drops": known.device_drops,
        "counters": known.counters,
        "ends": known.outcome.ends,
        "tcp_info_last": {role: last_rows(read_table(path)) for role, path in known.outcome.tcp_info.items()},
    }


def stolen_cpu_s() -> float:
    """CPU time the hypervisor gave to others since boot: it explains a run that is not good."""
    fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def _retransmits(known: Evidence, flows: list[truth.FlowTruth]) -> dict[str, dict[str, int]]:
    return {
        role: {
            "kernel": known.counters[role].get("RetransSegs", 0),
            "emulator": truth.retransmit_count(flows, direction),
        }
        for role, direction in (("sender", "forward"), ("receiver", "reverse"))
    }


def _rtt(known: Evidence) -> dict[str, Any]:
    samples = [row for row in read_table(known.outcome.tcp_info["sender"]) if row["rtt_us"]]
    smallest = [row["min_rtt_us"] for row in samples if row["min_rtt_us"]]
    return {
        "base_s": known.scenario.forward.delay_s + known.scenario.reverse.delay_s,
        "forward_data_delay": truth.path_delays(known.fates, "forward", data_only=True),
        "reverse_delay": truth.path_delays(known.fates, "reverse", data_only=False),
        "clean_samples": {way: truth.distribution(clean_samples_s(known.fates, way)) for way in ("forward", "reverse")},
        "kernel_min_rtt_s": min(smallest) / 1e6 if smallest else None,
        "kernel_srtt": truth.distribution([row["rtt_us"] / 1e6 for row in samples]),
    }


def _timing(known: Evidence) -> dict[str, Any]:
    timing: dict[str, Any] = {
        "lateness": truth.lateness(known.fates),
        "longest_turn_s": known.emulator["longest_turn_ns"] / 1e9,
        "real_time_priority": bool(known.emulator["real_time_priority"]),
        "at_sender_s": _at_sender_s(known),
    }
    if known.scenario.topology is Topology.TUN:
        forward = [row for row in known.fates if row.source_port and row.direction == "forward"]
        entered = [row.time_in_ns for row in forward if row.fate != "duplicate"]
        left = sorted(row.time_out_ns for row in forward if not row.lost)
        timing["entry_after_sender_capture"] = _differences(_forward_times(known, "sender"), entered)
        timing["receiver_capture_after_exit"] = _differences(left, _forward_times(known, "receiver"))
    return timing


def _at_sender_s(known: Evidence) -> float | None:
    """What a round trip took on average between the sender's capture point and the emulator, there and back.

    A superpacket is all in the path with its last segment. None where no data, or not every packet back, was captured.
    """
    entered: dict[tuple[int, int], int] = {}
    for row in known.fates:
        if row.direction == "forward" and row.payload_bytes:
            entered.setdefault((row.source_port, (row.seq + row.payload_bytes) % 2**32), row.time_in_ns)
    sent: dict[tuple[int, int], int] = {}
    sender = ipaddress.ip_address(ADDRESSES[known.scenario.ip_version]["sender"]).packed
    for packet in known.packets["sender"]:
        if packet.source == sender and packet.payload_bytes:
            sent.setdefault((packet.source_port, (packet.seq + packet.payload_bytes) % 2**32), packet.time_ns)
    # What is repeated in another frame than the first time had entered before.
    there_ns = [entered[key] - time_ns for key, time_ns in sent.items() if entered.get(key, -1) >= time_ns]
    left = sorted(
        row.time_out_ns for row in known.fates if row.direction == "reverse" and row.source_port and not row.lost
    )
    back = _differences(left, [packet.time_ns for packet in known.packets["sender"] if packet.source != sender])
    return sum(there_ns) / len(there_ns) / 1e9 + back["mean_s"] if there_ns and back else None


def _forward_times(known: Evidence, capture: str) -> list[int]:
    sender = ipaddress.ip_address(ADDRESSES[known.scenario.ip_version]["sender"]).packed
    return [packet.time_ns for packet in known.packets[capture] if packet.source == sender]


def _differences(earlier: list[int], later: list[int]) -> dict[str, float | int] | None:
    if len(earlier) != len(later):
        return None
    return truth.distribution([(after - before) / 1e9 for before, after in zip(earlier, later, strict=True)])


def _late(timing: dict[str, Any]) -> list[str]:
    """What a machine that others keep busy does to times: the log says what happened, but not when it should have."""
    late, turn_s, found = timing["lateness"], timing["longest_turn_s"], []
    if late and late["p99_s"] > LATENESS_P99_BOUND_S:
        found.append(f"emulator lateness p99 {late['p99_s']:.6f} s is beyond {LATENESS_P99_BOUND_S} s")
    entry = timing.get("entry_after_sender_capture")
    if entry and entry["p99_s"] > ENTRY_P99_BOUND_S:
        found.append(f"emulator took packets in {entry['p99_s']:.6f} s late at p99, beyond {ENTRY_P99_BOUND_S} s")
    still_s = max(turn_s, late["max_s"] if late else 0.0)
    if still_s > LOOP_BOUND_S:
        found.append(f"emulator paused for {still_s:.6f} s, beyond {LOOP_BOUND_S} s")
    return found


def _disagreements(known: Evidence, retransmits: dict[str, dict[str, int]]) -> list[str]:
    found = [] if any(not row.lost for row in known.fates) else ["no packet passed the emulator"]
    if abs(known.emulator["clock_step_ns"]) > _CLOCK_STEP_BOUND_NS:
        found.append(f"the clock stepped by {known.emulator['clock_step_ns']} ns")
    if known.device_drops or known.emulator["refused_writes"]:
        found.append(f"devices dropped {known.device_drops}, refused {known.emulator['refused_writes']} packets")
    found += [
        f"capture {name} is not whole: {facts.as_json()}" for name, facts in known.health.items() if not facts.whole
    ]
    for role, counts in retransmits.items():
        if counts["kernel"] != counts["emulator"]:
            found.append(f"RetransSegs of {role} is {counts['kernel']}, the log has {counts['emulator']}")
    if not known.outcome.digests_agree:
        found.append("bytes received differ from bytes sent")
    return found


def _missing_from_captures(known: Evidence) -> list[str]:
    """Where captures see the same packets as the emulator, their counts must be the same."""
    tcp = [row for row in known.fates if row.source_port]
    ways = ("forward", "reverse")
    sent = {way: sum(row.direction == way and row.fate != "duplicate" for row in tcp) for way in ways}
    arrived = {way: sum(row.direction == way and not row.lost for row in tcp) for way in ways}
    expected = {"sender": sent["forward"] + arrived["reverse"], "receiver": arrived["forward"] + sent["reverse"]}
    if known.scenario.topology is Topology.OFFLOAD:
        expected = {"middle": expected["sender"]}
    return [
        f"capture {name} has {len(known.packets[name])} TCP packets, the log {count}"
        for name, count in expected.items()
        if len(known.packets[name]) != count
    ]


def _capture_facts(health: CaptureHealth, packets: list[CapturedPacket]) -> dict[str, int]:
    return {
        **health.as_json(),
        "tcp_packets": len(packets),
        "data_packets": sum(packet.payload_bytes > 0 for packet in packets),
        "largest_ip_bytes": max((packet.ip_bytes for packet in packets), default=0),
    }
