"""The bench of transfers, on a small transfer; its promises follow from ratios within a turn."""

import shutil
from pathlib import Path

import pytest

from bench import transfers
from bench.measure import ProgramError
from bench.transfers import Place, Turn


def test_promises_are_medians_of_ratios_within_turns() -> None:
    turns = [Turn(10e9, 1e9, 20e9, 20e9), Turn(40e9, 1e9, 44e9, 22e9), Turn(10e9, 1e9, 11e9, 11e9)]
    speed, sampling = transfers.promises_of("loopback", turns)
    assert speed.measured == pytest.approx(1.1)
    assert sampling.measured == pytest.approx(1.0)
    assert [speed.kept, sampling.kept] == [True, True]


def test_a_slower_transfer_breaks_its_promise() -> None:
    assert [promise.kept for promise in transfers.promises_of("x", [Turn(10e9, 1e9, 9.9e9, 9.6e9)])] == [False, False]


def test_a_turn_over_loopback_has_four_rates() -> None:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    # Not every user may use every one.
    control = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control").read_text().split()[0]
    one = transfers.turn(Place("loopback", (), (), "127.0.0.1"), 64 << 20, control)
    assert min(one.iperf3_bps, one.iperf3_large_bps, one.vmtrace_bps, one.sampled_bps) > 1e6


def test_what_iperf3_cannot_do_is_reported_in_its_words() -> None:
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    with pytest.raises(ProgramError, match=r"iperf3: .*congestion control"):
        transfers.iperf3(Place("loopback", (), (), "127.0.0.1"), 1 << 20, "nosuch", [])


@pytest.mark.root
@pytest.mark.untimed
def test_the_two_ends_of_the_veth_pair_reach_each_other() -> None:
    with transfers.veth_pair() as place:
        assert transfers.vmtrace(place, 1 << 20, "cubic", []) > 1e6
