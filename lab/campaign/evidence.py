"""The truth of a finished campaign, written into `RUN/lab/` in one pass over the emulator's log.

Memory does not grow with the campaign: packets are held only while their connection is open. What the sender found out
is never consulted, except which connections belonged to which transfer.
"""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab import fate_log, stalls, timing
from vmtrace.lab.campaign.connections import connections
from vmtrace.lab.campaign.settings import Campaign
from vmtrace.lab.campaign.transfers import Transfers, read_pairs
from vmtrace.lab.fate_log import PacketFate

SCHEMA = "vmtrace.lab_campaign/1"
_CLOCK_STEP_BOUND_NS = 1_000_000
_STANDSTILLS_TOLD = 1000
_TRANSFERS_TOLD = 5


@dataclass(frozen=True, slots=True)
class Witnesses:
    """What each part of the lab says of a campaign."""

    campaign: Campaign
    start_ns: int
    end_ns: int
    emulator: dict[str, Any]
    device_drops: int
    stolen_cpu_s: float
    sender_status: int
    guest: dict[str, Any] | None
    stall_log: Path | None


def write(known: Witnesses, log_path: Path, run_folder: Path, folder: Path) -> dict[str, Any]:
    """Write `fates.csv.gz`, `transfers.jsonl` and `truth.json`; returns what is in the last."""
    stalled = stalls.read(known.stall_log) if known.stall_log else []
    standstills = timing.Standstills(known.emulator["long_turns"])
    errors, fates = timing.DelayErrors(), {"forward": Counter[str](), "reverse": Counter[str]()}

    def counted() -> Iterator[PacketFate]:
        packets = fate_log.stream_binary(log_path, known.emulator["unix_offset_ns"])
        for packet in fate_log.csv_writer(packets, folder / "fates.csv.gz"):
            errors.add(packet)
            standstills.add(packet)
            fates[packet.direction][packet.fate] += 1
            yield packet

    transfers = Transfers(read_pairs(run_folder / "pairs.jsonl"), stalled, standstills)
    finished, bad = 0, list[str]()
    with _private(folder / "transfers.jsonl") as file:
        for record in _records(transfers, counted()):
            finished += 1
            bad += [] if record["good"] else [f"pair {record['sequence']} {record['transfer']}"]
            file.write(json.dumps(record) + "\n")
    summary, duration_s = errors.summary(), (known.end_ns - known.start_ns) / 1e9
    late = timing.problems(summary, standstills.merged(), duration_s)
    # A machine that others keep busy makes packets late, and loses or adds none.
    only_late = summary is not None and bool(late) and not _other_problems(known)
    problems = late + _other_problems(known)
    document = {
        "schema": SCHEMA,
        "good": not problems,
        "problems": problems,
        "doubtful": _doubtful(bad, finished) if only_late else [],
        **_asked(known.campaign),
        "start_ns": known.start_ns,
        "end_ns": known.end_ns,
        "sender_status": known.sender_status,
        "timing": _timing(known, summary, standstills),
        "fates": {way: dict(counts) for way, counts in fates.items()},
        "transfers": {"finished": finished, "not_good": len(bad), "other_connections": transfers.unassigned},
        "stalls": _stalls(stalled, known.stall_log),
        "guest": known.guest,
        "device_drops": known.device_drops,
        "refused_writes": known.emulator["refused_writes"],
        "stolen_cpu_s": known.stolen_cpu_s,
        "made": {"kernel": platform.release(), "python": platform.python_version()},
    }
    write_truth(folder, document)
    return document


def write_failure(campaign: Campaign, folder: Path, reason: str) -> None:
    """The truth of a campaign that broke: nothing is known but what was asked, and why it ended."""
    write_truth(folder, {"schema": SCHEMA, "good": False, "problems": [reason], **_asked(campaign)})


def write_truth(folder: Path, document: dict[str, Any]) -> None:
    """Write `truth.json`."""
    with _private(folder / "truth.json") as file:
        file.write(json.dumps(document, indent=1))


def _records(transfers: Transfers, packets: Iterator[PacketFate]) -> Iterator[dict[str, Any]]:
    for connection in connections(packets):
        record = transfers.add(connection)
        if record:
            yield record
    yield from transfers.rest()


def _asked(campaign: Campaign) -> dict[str, Any]:
    profile = campaign.profile
    return {
        "profile": profile.name,
        "seed": campaign.seed,
        "sender_host": campaign.sender_host,
        "offload": campaign.offload,
        "congestion_control": campaign.congestion_control,
        "ip_version": campaign.ip_version,
        "sender_arguments": campaign.sender_arguments,
        "settings": asdict(profile),
    }


def _timing(known: Witnesses, summary: timing.DelayError | None, standstills: timing.Standstills) -> dict[str, Any]:
    merged = standstills.merged()
    return {
        "delay_error": timing.as_json(summary),
        "delay_error_p99_bound_s": timing.DELAY_ERROR_P99_BOUND_S,
        "longest_turn_s": known.emulator["longest_turn_ns"] / 1e9,
        "standstills": {"count": len(merged), "total_s": sum(each.end_ns - each.start_ns for each in merged) / 1e9},
        "first_standstills": [asdict(each) for each in merged[:_STANDSTILLS_TOLD]],
        "clock_step_ns": known.emulator["clock_step_ns"],
        "real_time_priority": known.emulator["real_time_priority"],
    }


def _stalls(stalled: list[stalls.Stall], log: Path | None) -> dict[str, Any] | None:
    if log is None:
        return None
    kind = stalled[0].kind if stalled else None
    return {"kind": kind, "count": len(stalled), "total_s": round(sum(each.duration_s for each in stalled), 6)}


def _doubtful(bad: list[str], finished: int) -> list[str]:
    """Which figures of the run a busy machine made doubtful."""
    if not bad:
        return ["RTT without load, and idle times between transfers"]
    more = f" and {len(bad) - _TRANSFERS_TOLD} more" if len(bad) > _TRANSFERS_TOLD else ""
    which = ", ".join(bad[:_TRANSFERS_TOLD])
    return [f"RTT, delays, pauses and throughput of {len(bad)} of {finished} transfers ({which}{more})"]


def _other_problems(known: Witnesses) -> list[str]:
    found = []
    if abs(known.emulator["clock_step_ns"]) > _CLOCK_STEP_BOUND_NS:
        found.append(f"this machine's clock stepped by {known.emulator['clock_step_ns']} ns")
    if known.device_drops or known.emulator["refused_writes"]:
        drops, refused = known.device_drops, known.emulator["refused_writes"]
        found.append(f"devices dropped {drops} and refused {refused} packets that the log does not know of")
    if known.sender_status != 0:
        found.append(f"the sender ended with status {known.sender_status}")
    return found


def _private(path: Path) -> Any:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w")
