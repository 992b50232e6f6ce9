"""Time between packets without waits for acknowledgements, and from an acknowledgement to data, by hand."""

from typing import Any

import numpy as np
import pytest

from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.charts.spacing_throughput import unwaited as chart
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.reports.run.unwaited import gaps_s

MS = 1_000_000


def gaps(*packets: tuple[float, str]) -> tuple[list[float], list[float]]:
    """Packets as milliseconds and `data`, `back` (from the other end) or `bare` (ours, without data)."""
    time_ns = np.array([round(ms * MS) for ms, _ in packets], np.int64)
    kinds = np.array([kind for _, kind in packets])
    within, after = gaps_s(time_ns, kinds == "data", kinds == "back")
    return (within * 1e3).round(6).tolist(), (after * 1e3).round(6).tolist()


def test_only_data_in_a_row_gives_a_time_between_packets() -> None:
    """Two flights of three packets 0.2 ms apart; the second begins 0.1 ms after the ACK, 22 ms after the first."""
    first = [(0.0, "data"), (0.2, "data"), (0.4, "data")]
    second = [(22.1, "data"), (22.3, "data"), (22.5, "data")]
    assert gaps(*first, (22.0, "back"), *second) == ([0.2] * 4, [0.1])


def test_of_several_acknowledgements_the_last_counts_and_bare_packets_do_not() -> None:
    packets = [(0, "data"), (5, "back"), (7, "back"), (7.5, "bare"), (8, "data"), (8.5, "bare"), (9, "data")]
    assert gaps(*packets) == ([1.0], [1.0])


@pytest.mark.parametrize("kinds", [[], ["data"], ["back", "data"], ["back", "bare"]])
def test_less_than_two_data_packets_have_none(kinds: list[str]) -> None:
    assert gaps(*enumerate(kinds)) == ([], [])


def test_a_slower_path_leaves_the_time_that_the_host_leaves_as_it_is() -> None:
    """The same flights with an ACK after 22 ms and after 220: throughput differs by ten, the time between does not."""
    for wait_ms in (22.0, 220.0):
        packets = [(flight * wait_ms + 0.1 * place, "data") for flight in range(5) for place in range(10)]
        packets += [(flight * wait_ms - 0.5, "back") for flight in range(1, 5)]
        within, after = gaps(*sorted(packets))
        assert (set(within), set(after)) == ({0.1}, {0.5})


def test_it_is_measured_where_packets_are_asked_for(small_run: Any) -> None:
    run = read_run(small_run.folder)
    with_packets = Measuring(run).run()
    assert all(one.measures.unwaited_mean_s is not None for one in with_packets)
    drawn = chart([RunResults(run, tuple(with_packets), ())])
    assert drawn is not None
    assert drawn.name == "figure-6-spacing-without-waits"


def test_it_is_not_drawn_where_it_was_not_measured(small_run: Any) -> None:
    run = read_run(small_run.folder)
    assert chart([RunResults(run, tuple(Measuring(run, compared=False).run()), ())]) is None
