"""Comparisons of real transfers against the emulator's log of what became of every packet."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.cut import cut
from tests.lab_runs import checked_run, lab_run
from vmtrace.analyze.compare.comparison import Comparison, compare
from vmtrace.analyze.trace import read
from vmtrace.lab.accuracy import clocks
from vmtrace.lab.description import Scenario
from vmtrace.lab.fate_log import PacketFate
from vmtrace.lab.namespaces import missing_requirement
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(bool(missing_requirement()), reason=f"the lab: {missing_requirement()}"),
]

# CI: losses both ways, offload, copies, and another order of IPv6 packets without timestamps.
NAMES = (
    "loss8-cubic-ackloss10-rtt20",
    "gso-loss1-cubic-rtt20",
    "ipv6-notimestamps-reorder-loss-bbr-rtt20",
    "duplicate-reorder-cubic-rtt40",
    "synloss-cubic-rtt40",
)


def sending(name: str, payload_bytes: int = 8_000_000) -> Scenario:
    scenario = SCENARIOS[name]
    return replace(scenario, transfer=replace(scenario.transfer, payload_bytes=payload_bytes))


def compared(done: Run) -> Comparison:
    return compare(read(done.sender_pcap), read(done.receiver_pcap))


def fates(done: Run, direction: str) -> list[PacketFate]:
    """TCP packets of this direction (IPv6 neighbours speak, too), without the copies."""
    return [one for one in done.fates() if one.direction == direction and one.source_port and one.fate != "duplicate"]


@pytest.mark.parametrize("name", cut(NAMES, 4))
def test_loss_and_delay_are_those_of_the_path(name: str, tmp_path: Path) -> None:
    done = lab_run(sending(name, payload_bytes=1_000_000), tmp_path, attempts=3)
    comparison = compared(done)
    copies = sum(one.fate == "duplicate" for one in done.fates())
    assert sum(part.network_duplicates for part in comparison.total) == copies
    for part, direction in zip(comparison.total, ("forward", "reverse"), strict=True):
        truth = fates(done, direction)
        assert part.lost_in_network == sum(one.lost for one in truth)
        assert part.sent_segments == len(truth)
        assert (part.not_captured, part.undecided_segments, part.outside_capture) == (0, 0, 0)
        # With offload the log has each segment's delay, and the captures that of superpackets. Without timestamps and
        # identification repeated segments have no delay of their own.
        if done.good and not name.startswith("gso") and "notimestamps" not in name:
            # A packet that waited for the emulator had left its host, so its capture may have seen it that much sooner.
            least_s = np.array([(one.time_out_ns - one.time_in_ns) / 1e9 for one in truth if not one.lost])
            most_s = least_s + np.array([one.waited_ns / 1e9 for one in truth if not one.lost])
            found = part.one_way_delay
            for measured_s, of in ((found.min_s, np.min), (found.mean_s, np.mean), (found.median_s, np.median)):
                assert measured_s is not None
                assert of(least_s) - 0.2e-3 <= measured_s <= of(most_s) + 0.2e-3
    clock = comparison.clock
    assert clock.offset_s is not None
    assert abs(clock.offset_s) <= (clock.offset_error_s or 0.0), "both ends have the same clock"
    # A path that stands still while its emulator does not run is as late for a while as after a step.
    assert clock.steps == () or not done.good


def test_what_the_path_held_is_located_on_the_path(tmp_path: Path) -> None:
    # A late emulator lets go all at once, or at a rate of its own: so would a receiving host that stood still.
    def check(done: Run) -> None:
        assert done.agreed
        held = [gap for gap in compared(done).total[0].gaps if (gap.receiver_gap_s or 0.0) > 0.12]
        assert [gap.location.value for gap in held] == ["path"] * 3

    checked_run(sending("hold-cubic-rtt40"), tmp_path, check, attempts=3)


def test_what_the_application_did_not_write_is_located_at_the_sender(tmp_path: Path) -> None:
    def check(done: Run) -> None:
        long = [gap for gap in compared(done).total[0].gaps if gap.length_s > 0.2]
        assert [gap.location.value for gap in long] == ["sender"] * 2

    checked_run(sending("app-stall-cubic-rtt20"), tmp_path, check, attempts=3)


@pytest.mark.parametrize("name", cut(["queues-both-ways-3", "queue-600ms-3"], 1))
def test_clocks_are_right_where_queues_stand(name: str, tmp_path: Path) -> None:
    (scenario,) = (one for one in clocks.paths(2) if one.name == name)
    shorter = replace(scenario, transfer=replace(scenario.transfer, seconds=3.0))
    for shown in clocks.judged(lab_run(shorter, tmp_path), name, random.Random(7)):
        assert shown.steps_right, shown
        assert shown.offset_right, shown
