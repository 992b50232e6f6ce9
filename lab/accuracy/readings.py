"""What each analyzer says about one capture of a lab run: vmtrace, tshark and tcptrace, brought to the same numbers.

All are run as programs, as a user runs them. Numbers are sums over connections, of the data that flows from the host
`sender`; a number that a tool does not give is None.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TIME_LIMIT_S = 300


@dataclass(slots=True)
class Reading:
    """One analyzer's view of one direction. Segments are wire segments for vmtrace and frames for the others."""

    connections: int = 0
    data_segments: int | None = None
    payload_bytes: int | None = None
    unique_payload_bytes: int | None = None
    retransmitted: int | None = None
    out_of_order: int | None = None  # reordered originals (vmtrace), or whatever the tool calls out of order
    network_duplicates: int | None = None
    lost: int | None = None
    lost_by_identification: int | None = None
    spurious: int | None = None
    triggers: Counter[str] = field(default_factory=Counter)
    rtt_samples: int = 0
    rtt_min_s: float | None = None
    rtt_mean_s: float | None = None
    handshake_rtt_s: list[float | None] = field(default_factory=list)
    limited_s: float | None = None
    zero_windows: int | None = None
    largest_flight_bytes: int | None = None
    ledger_misses_bytes: int = 0  # wire bytes that no part of the ledger holds
    tls_application_bytes: int | None = None
    unseen_acknowledged_bytes: int | None = None
    capture_duplicates: int | None = None
    capture_reordered: int | None = None
    clock_steps: int | None = None

    def add_round_trips(self, samples: int, least_s: float | None, mean_s: float | None) -> None:
        """Joins the round trips of one more connection."""
        if not samples or least_s is None or mean_s is None:
            return
        before = (self.rtt_mean_s or 0.0) * self.rtt_samples
        self.rtt_samples += samples
        self.rtt_mean_s = (before + mean_s * samples) / self.rtt_samples
        self.rtt_min_s = least_s if self.rtt_min_s is None else min(self.rtt_min_s, least_s)


def of_vmtrace(capture: Path, sender: str) -> Reading:
    """Runs `vmtrace analyze --json -`. `sender` is the address of the host whose data is meant."""
    document = json.loads(_output([sys.executable, "-m", "vmtrace", "analyze", str(capture), "--json", "-"]))
    reading = Reading(triggers=Counter())
    for connection in document["connections"]:
        _add_connection(reading, connection, sender)
    facts = document["inputs"][0]["capture"]
    reading.unseen_acknowledged_bytes = facts["unseen_acked_bytes"]
    reading.capture_duplicates, reading.capture_reordered = facts["duplicates"], facts["reordered"]
    reading.clock_steps = facts["clock_steps"]
    return reading


def _add_connection(reading: Reading, connection: Mapping[str, Any], sender: str) -> None:
    from_client = connection["client"].rpartition(":")[0].strip("[]") == sender
    way = connection["client_to_server" if from_client else "server_to_client"]
    loss, rtt = way["loss"], way["rtt"]
    reading.connections += 1
    for name, value in (
        ("data_segments", way["data_segments"]),
        ("payload_bytes", way["payload_bytes"]),
        ("unique_payload_bytes", way["unique_payload_bytes"]),
        ("retransmitted", loss["retransmitted_segments"]),
        ("out_of_order", loss["reordered_segments"]),
        ("network_duplicates", loss["network_duplicates"]),
        ("lost", loss["lost_segments_inferred"]),
        ("lost_by_identification", loss["lost_segments_ipid"]),
        ("spurious", loss["spurious_segments"]),
        ("limited_s", way["window"]["limited_time_s"]),
        ("zero_windows", way["window"]["zero_windows"]),
    ):
        if value is not None:
            setattr(reading, name, (getattr(reading, name) or 0) + value)
    reading.triggers.update(loss["by_trigger"])
    reading.add_round_trips(rtt["samples"], rtt["min_s"], rtt["mean_s"])
    reading.handshake_rtt_s.append(connection["handshake"]["rtt_s"])
    flight = way["flight"]["max_bytes"]
    reading.largest_flight_bytes = max(flight or 0, reading.largest_flight_bytes or 0)
    ledger = connection["ledger"]
    reading.ledger_misses_bytes += abs(ledger["wire_bytes"] - ledger_parts_bytes(ledger))
    application_bytes = (connection["tls"] or {}).get("application_bytes")
    if application_bytes is not None:
        reading.tls_application_bytes = (reading.tls_application_bytes or 0) + application_bytes


def ledger_parts_bytes(ledger: Mapping[str, Any]) -> int:
    """What the parts of a connection's byte ledger sum to: all of its wire bytes, if it is right."""
    return sum(value for name, value in ledger.items() if name.endswith("_bytes") and name != "wire_bytes")


_TSHARK_FIELDS = (
    "ip.src", "ipv6.src", "tcp.len", "tcp.analysis.retransmission", "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission", "tcp.analysis.out_of_order", "tcp.analysis.ack_rtt",
    "tcp.analysis.zero_window", "tcp.stream",
)  # fmt: skip


def of_tshark(capture: Path, sender: str) -> Reading:
    """Runs tshark with its default settings; retransmitted: frames with any of its retransmission flags."""
    reading = Reading(data_segments=0, payload_bytes=0, retransmitted=0, out_of_order=0, spurious=0, zero_windows=0)
    streams = set()
    for line in tshark_lines(capture, _TSHARK_FIELDS):
        source = line["ip.src"] or line["ipv6.src"]
        streams.add(line["tcp.stream"])
        length = int(line["tcp.len"] or 0)
        if source != sender:
            if line["tcp.analysis.ack_rtt"]:
                rtt_s = float(line["tcp.analysis.ack_rtt"])
                reading.add_round_trips(1, rtt_s, rtt_s)
            reading.zero_windows = (reading.zero_windows or 0) + bool(line["tcp.analysis.zero_window"])
        elif length:
            label = tshark_label(line)
            reading.data_segments = (reading.data_segments or 0) + 1
            reading.payload_bytes = (reading.payload_bytes or 0) + length
            reading.retransmitted = (reading.retransmitted or 0) + (label == "retransmission")
            if label == "retransmission":
                fast = bool(line["tcp.analysis.fast_retransmission"])
                reading.triggers["fast" if fast else "other"] += 1
            reading.out_of_order = (reading.out_of_order or 0) + (label == "reordered")
            reading.spurious = (reading.spurious or 0) + bool(line["tcp.analysis.spurious_retransmission"])
    reading.connections = len(streams)
    return reading


def tshark_lines(capture: Path, names: Iterable[str]) -> Iterable[dict[str, str]]:
    """The chosen fields of each TCP packet, empty where a packet has none."""
    wanted = list(names)
    command = ["tshark", "-r", str(capture), "-Y", "tcp", "-T", "fields", "-E", "occurrence=f", "-E", "separator=|"]
    for name in wanted:
        command += ["-e", name]
    for line in _output(command).splitlines():
        yield dict(zip(wanted, line.split("|"), strict=True))


def tshark_label(line: Mapping[str, str]) -> str:
    """What tshark takes a data packet for: retransmission, reordered or data."""
    kinds = ("retransmission", "fast_retransmission", "spurious_retransmission")
    if any(line[f"tcp.analysis.{kind}"] for kind in kinds):
        return "retransmission"
    return "reordered" if line["tcp.analysis.out_of_order"] else "data"


def tshark_labels(capture: Path, sender: str) -> list[str]:
    """Label of each data packet that comes from `sender`, in the order of the capture."""
    lines = tshark_lines(capture, _TSHARK_FIELDS)
    return [
        tshark_label(line)
        for line in lines
        if (line["ip.src"] or line["ipv6.src"]) == sender and int(line["tcp.len"] or 0)
    ]


def of_tcptrace(capture: Path, sender: str) -> Reading:
    """Runs `tcptrace -l -r -n --csv`; retransmitted: its rexmt data pkts."""
    reading = Reading(data_segments=0, payload_bytes=0, retransmitted=0, out_of_order=0, zero_windows=0)
    reading.unique_payload_bytes = 0
    for row in tcptrace_rows(capture):
        way, back = ("a2b", "b2a") if row["host_a"] == sender else ("b2a", "a2b")
        reading.connections += 1
        for name, column in (
            ("data_segments", f"actual_data_pkts_{way}"),
            ("payload_bytes", f"actual_data_bytes_{way}"),
            ("unique_payload_bytes", f"unique_bytes_sent_{way}"),
            ("retransmitted", f"rexmt_data_pkts_{way}"),
            ("out_of_order", f"outoforder_pkts_{way}"),
            ("zero_windows", f"zero_win_adv_{back}"),
        ):
            setattr(reading, name, getattr(reading, name) + int(row[column]))
        samples = int(row[f"RTT_samples_{way}"])
        reading.add_round_trips(samples, float(row[f"RTT_min_{way}"]) / 1e3, float(row[f"RTT_avg_{way}"]) / 1e3)
    return reading


def tcptrace_rows(capture: Path) -> list[dict[str, str]]:
    """One row per connection, keyed by the names in tcptrace's own heading."""
    text = _output(["tcptrace", "-l", "-r", "-n", "--csv", str(capture)])
    start = text.find("conn_#")
    if start < 0:
        return []
    rows = csv.reader(io.StringIO(text[start:]))
    names = [name.strip() for name in next(rows)]
    return [
        dict(zip(names, (value.strip() for value in row), strict=False)) for row in rows if len(row) > len(names) // 2
    ]


def vmtrace_labels(capture: Path, connections: int, folder: Path) -> list[tuple[int, str, bool]]:
    """Frame, kind and whether the client sent it, of each packet with payload, in the order of the capture."""
    command = [sys.executable, "-m", "vmtrace", "analyze", str(capture), "--csv", str(folder)]
    for number in range(1, connections + 1):
        command += ["--connection", str(number)]
    _output(command)
    with (folder / "packets.csv").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if int(row["payload_bytes"])]
    return sorted((int(row["frame"]), row["kind"], row["from_client"] == "true") for row in rows)


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIME_LIMIT_S, errors="replace")
    if done.returncode != 0 and not done.stdout:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-400:]}")
    return done.stdout


def versions() -> dict[str, str]:
    """First line that each tool says of its version."""
    tshark = _output(["tshark", "--version"]).splitlines()[0]
    shown = subprocess.run(["tcptrace", "-version"], capture_output=True, text=True, check=False)
    tcptrace = next((line for line in (shown.stdout + shown.stderr).splitlines() if "ersion" in line), "unknown")
    vmtrace = _output([sys.executable, "-m", "vmtrace", "--version"]).strip()
    return {"vmtrace": vmtrace, "tshark": tshark, "tcptrace": tcptrace.strip()}
