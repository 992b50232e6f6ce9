"""The witnesses of a lab transfer's limits, read from the folder it left: TCP_INFO, the emulator's log, stalls."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vmtrace.lab import fate_log
from vmtrace.lab.accuracy.gap_runs import Made, throttled_s
from vmtrace.lab.accuracy.gap_truth import Truth
from vmtrace.lab.accuracy.limit_truth import Witnesses
from vmtrace.lab.emulator import impairments_from_json
from vmtrace.lab.hosts import ADDRESSES
from vmtrace.lab.tcp_info import read_table

_HOSTS = frozenset({Truth.SENDER_HOST, Truth.RECEIVER_HOST})


def of(folder: Path, made: Made) -> Witnesses:
    """Of the transfer in a folder, either a scenario's (`truth.json`) or one with a guest kernel."""
    truth = folder / "truth.json"
    if truth.exists():
        return _of_scenario(folder, json.loads(truth.read_text())["scenario"])
    return _of_guest(folder, made)


def _of_scenario(folder: Path, scenario: Mapping[str, Any]) -> Witnesses:
    rows = [row for row in fate_log.read_csv(folder / "fates.csv.gz") if row.source_port]
    transfer = scenario["transfer"]
    return Witnesses(
        read_table(folder / "tcp_info.sender.csv"),
        [row for row in rows if row.direction == "forward"],
        [row for row in rows if row.direction == "reverse"],
        impairments_from_json(scenario["forward"]),
        scenario["forward"]["delay_s"] + scenario["reverse"]["delay_s"],
        always_more_to_send=not (transfer["write_interval_s"] or transfer["write_pauses"]),
        bbr=scenario["sender"]["congestion_control"] == "bbr",
    )


def _of_guest(folder: Path, made: Made) -> Witnesses:
    settings = json.loads((folder / "path.json").read_text())
    offset_ns = json.loads((folder / "emulator.json").read_text())["unix_offset_ns"]
    rows = [row for row in fate_log.read_binary(folder / "fates.bin", offset_ns) if row.source_port]
    # The guest has the place of the host `sender`; the emulator's direction `forward` leads away from it.
    guest_sends = made.data_sender == ADDRESSES[4]["sender"]
    way, back = ("forward", "reverse") if guest_sends else ("reverse", "forward")
    # The kernel counts the stops of a quota and does not say when they were.
    throttled = throttled_s(folder) > 0
    samples = [] if throttled else read_table(folder / f"tcp_info.{'sender' if guest_sends else 'receiver'}.csv")
    return Witnesses(
        samples,
        [row for row in rows if row.direction == way],
        [row for row in rows if row.direction == back],
        impairments_from_json(settings[way]),
        settings["forward"]["delay_s"] + settings["reverse"]["delay_s"],
        tuple(event for event in made.events if event.truth in _HOSTS),
    )
