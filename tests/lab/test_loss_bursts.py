"""Losses together or alone, as the emulator made them: bursts at both ends, events and lost acknowledgements at one."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import pytest

import vmtrace
from tests.lab_runs import lab_run
from vmtrace.lab.description import Scenario
from vmtrace.lab.fate_log import PacketFate, read_csv
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import BurstLoss, Impairments
from vmtrace.lab.transfer import Transfer

BURSTS = BurstLoss(enter_bad=0.004, leave_bad=0.3, loss_bad=0.9)
FORWARD = Impairments(delay_s=0.01, rate_bps=40e6, queue_bytes=400_000, burst_loss=BURSTS)
BACK = Impairments(delay_s=0.01, rate_bps=40e6, queue_bytes=400_000, loss=0.03)
HOST = HostSettings("cubic")
SCENARIO = Scenario("loss-bursts", "bursts there, single losses back", Transfer(payload_bytes=6_000_000),
                    FORWARD, BACK, HOST, HOST, seed=11)  # fmt: skip
CLASSES = {1: "1", 2: "2", 3: "3", 4: "4_to_7", 8: "8_to_15", 16: "16_or_more"}


def sent(fates: list[PacketFate]) -> list[tuple[int, int, bool]]:
    """All data in the order in which it was sent: first and last position, and whether it was lost."""
    data = [fate for fate in fates if fate.direction == "forward" and fate.payload_bytes and fate.fate != "duplicate"]
    data.sort(key=attrgetter("time_in_ns"))
    base = data[0].seq
    return [((one.seq - base) % 2**32, (one.seq - base) % 2**32 + one.payload_bytes, one.lost) for one in data]


def lengths_of_bursts(packets: list[tuple[int, int, bool]]) -> list[int]:
    """Segments in each run of first transmissions that were lost."""
    highest, first_ones = 0, []
    for start, end, lost in packets:
        if start >= highest:
            first_ones.append(lost)
        highest = max(highest, end)
    return [len(list(members)) for lost, members in groupby(first_ones) if lost]


def events(packets: list[tuple[int, int, bool]]) -> int:
    """Losses of data sent before the first of them was sent again are one."""
    count = highest = recover = 0
    waiting: set[int] = set()
    for start, end, lost in packets:
        if start >= highest:
            waiting |= {start} if lost else set()
        elif start in waiting:
            waiting.remove(start)
            if start >= recover:
                count, recover = count + 1, highest
        highest = max(highest, end)
    return count


def lost_back(fates: list[PacketFate]) -> int:
    """What was lost of the receiver's packets, between the first and the last that arrived."""
    back = sorted((fate for fate in fates if fate.direction == "reverse"), key=attrgetter("time_in_ns"))
    lost = [fate.lost for fate in back]
    return sum(lost[lost.index(False) : len(lost) - lost[::-1].index(False)])


@pytest.fixture(scope="module")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[PacketFate], dict[str, dict[str, Any]]]:
    """The fates, and the losses that are read from either capture."""
    result = lab_run(SCENARIO, tmp_path_factory.mktemp("bursts"), attempts=3, good_enough=attrgetter("agreed"))
    assert result.agreed, result.truth["problems"]
    fates = [fate for fate in read_csv(result.folder / "fates.csv.gz") if fate.source_port]
    captures: dict[str, Path] = {side: result.folder / f"{side}.pcap" for side in ("sender", "receiver")}
    read = {side: vmtrace.read(path).json()["connections"] for side, path in captures.items()}
    return fates, {side: connection["client_to_server"]["loss"] for side, (connection,) in read.items()}


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_bursts_are_those_that_were_lost(transfer: tuple[list[PacketFate], dict[str, Any]], side: str) -> None:
    fates, loss = transfer
    lengths = lengths_of_bursts(sent(fates))
    found = loss[side]["bursts"]
    assert (found["count"], found["longest_segments"]) == (len(lengths), max(lengths))
    assert found["mean_segments"] == pytest.approx(sum(lengths) / len(lengths))
    by_class = groupby(sorted(max(least for least in CLASSES if least <= length) for length in lengths))
    assert found["lengths"] == {CLASSES[least]: len(list(members)) for least, members in by_class}
    assert found["ratio"] > 1.5, "they come together"


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_events_and_lost_acknowledgements_are_reported_at_the_sender(
    transfer: tuple[list[PacketFate], dict[str, Any]],
) -> None:
    fates, loss = transfer
    known = itemgetter("loss_events", "lost_acknowledgements_ipid")(loss["sender"])
    assert known == (events(sent(fates)), lost_back(fates))
    assert known[1] > 10
    assert not {"loss_events", "lost_acknowledgements_ipid"} & set(loss["receiver"])
