"""Which data packet at the receiver is what: the emulator's log against the labels of vmtrace and tshark, one by one.

The capture at the receiver has the packets that left the path in the order in which they left it, so the n-th data
packet is the n-th such row of the log. With receive offload packets are joined in the capture: no labels then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import zip_longest
from pathlib import Path

from vmtrace.lab.accuracy import readings
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.hosts import ADDRESSES, Topology
from vmtrace.lab.scenario import Run
from vmtrace.lab.transfer import PORT

RETRANSMISSION, REORDERED, COPY, FIRST = "retransmission", "reordered", "copy", "first"
Labels = dict[str, Counter[tuple[str, str]]]
"""For each tool: how often a packet that is (truth) was taken for (label)."""


def at_the_receiver(done: Run, connections: int, folder: Path) -> Labels | None:
    """Labels of all data packets of the data's direction; None where packets and log cannot be matched one to one."""
    if done.truth["scenario"]["topology"] != Topology.TUN.value:
        return None
    truth = _truth(done)
    tools = {"vmtrace": _of_vmtrace(done, connections, folder), "tshark": _of_tshark(done)}
    if any(len(labels) != len(truth) for labels in tools.values()):
        return None
    return {tool: Counter(zip_longest(truth, labels)) for tool, labels in tools.items()}


def _truth(done: Run) -> list[str]:
    repeats = {
        (flow["source_port"], number)
        for flow in done.truth["flows"]
        if flow["direction"] == "forward"
        for number in flow["retransmission_numbers"]
    }
    rows = [row for row in done.fates() if row.direction == "forward" and not row.lost and row.payload_bytes]
    latest: dict[int, int] = {}
    return [_kind(row, repeats, latest) for row in sorted(rows, key=lambda row: row.time_out_ns)]


def _kind(row: PacketFate, repeats: set[tuple[int, int]], latest: dict[int, int]) -> str:
    if row.fate == "duplicate":
        return COPY
    overtaken = row.number < latest.get(row.source_port, -1)
    latest[row.source_port] = max(row.number, latest.get(row.source_port, -1))
    if (row.source_port, row.number) in repeats:
        return RETRANSMISSION
    return REORDERED if overtaken else FIRST


def _of_vmtrace(done: Run, connections: int, folder: Path) -> list[str]:
    names = {"retransmission": RETRANSMISSION, "reordered": REORDERED, "duplicate": COPY}
    sender_is_client = any(
        flow["direction"] == "forward" and flow["destination_port"] == PORT for flow in done.truth["flows"]
    )
    rows = readings.vmtrace_labels(done.receiver_pcap, connections, folder)
    return [names.get(kind, FIRST) for _, kind, from_client in rows if from_client == sender_is_client]


def _of_tshark(done: Run) -> list[str]:
    sender = ADDRESSES[done.truth["scenario"]["ip_version"]]["sender"]
    names = {"retransmission": RETRANSMISSION, "reordered": REORDERED, "data": FIRST}
    return [names[label] for label in readings.tshark_labels(done.receiver_pcap, sender)]


def total(tables: Iterable[Labels | None]) -> Labels:
    """Sum over runs."""
    sums: Labels = {}
    for labels in tables:
        for tool, counts in (labels or {}).items():
            sums.setdefault(tool, Counter()).update(counts)
    return sums
