"""Host counters as shares and rates: differences of cumulative columns, and what is no measurement."""

from pathlib import Path

import numpy as np
import pytest

from vmtrace.analyze.read.side.host import host_files, read_host
from vmtrace.analyze.read.side.metrics import Periods

SECOND = 10**9
START_NS = 1_700_000_000 * SECOND


def metrics(folder: Path, columns: str, rows: list[tuple[float, str]], more: str = "") -> dict[str, Periods]:
    """The metrics of a table: rows of a second since the start, and cells."""
    text = "".join(f"{START_NS + round(second * SECOND)},{cells}\n" for second, cells in rows)
    (folder / "sender.csv").write_text(f"# interval_s: 1.0\n{more}time_ns,{columns}\n{text}")
    return {one.metric.name: one for one in read_host(host_files(folder, "sender"), "sender")}


CPU = "cpu_user_s,cpu_system_s,cpu_idle_s,cpu_iowait_s,cpu_steal_s,cpu_guest_s"


def test_shares_are_of_the_time_of_all_states_and_a_guest_is_not_counted_twice(tmp_path: Path) -> None:
    found = metrics(tmp_path, CPU, [(0, "0,0,0,0,0,0"), (1, "0.4,0.1,1,0.3,0.2,0.4")])
    values = {name: one.value.tolist() for name, one in found.items()}
    assert values["sender_cpu"] == [pytest.approx(0.25)], "of 2 s of two processors 1.3 s idle or waiting, 0.2 s stolen"
    assert values["sender_cpu_steal"] == [pytest.approx(0.1)]
    assert values["sender_cpu_user"] == [pytest.approx(0.2)]
    assert not found["sender_cpu_user"].metric.asked, "it is a part of the CPU, no question of its own"


def test_the_busiest_of_several_processors_is_a_metric_of_its_own(tmp_path: Path) -> None:
    columns = f"{CPU},cpu0_idle_s,cpu1_idle_s,cpu1_steal_s"
    found = metrics(tmp_path, columns, [(0, "0,0,0,0,0,0,0,0,0"), (1, "0.8,0,1,0,0.2,0,1,0,0.2")])
    assert found["sender_cpu"].value.tolist() == [pytest.approx(0.4)]
    assert found["sender_cpu_busiest"].value.tolist() == [pytest.approx(0.8)]


def test_counters_become_rates_over_the_time_that_really_passed(tmp_path: Path) -> None:
    columns = "softnet_dropped,nic_bw_out_allowance_exceeded,pressure_cpu_some_s"
    found = metrics(tmp_path, columns, [(0, "10,5,1"), (2, "30,5,1.5")])
    assert found["sender_softnet_dropped"].value.tolist() == [10.0]
    assert found["sender_nic_bw_out_allowance_exceeded"].value.tolist() == [0.0]
    assert found["sender_pressure_cpu"].value.tolist() == [0.25]


def test_a_counter_that_begins_again_has_no_value_for_that_period_and_says_so(tmp_path: Path) -> None:
    found = metrics(tmp_path, "softnet_dropped", [(0, "10"), (1, "11"), (2, "3"), (3, ""), (4, "5"), (5, "7")])
    dropped = found["sender_softnet_dropped"]
    assert np.isnan(dropped.value).tolist() == [False, True, True, True, False]
    assert dropped.value[[0, 4]].tolist() == [1.0, 2.0]
    assert dropped.missing == (("the counter began again, or was not read", 3),)


def test_a_pause_of_the_sampler_is_not_bridged(tmp_path: Path) -> None:
    found = metrics(tmp_path, "softnet_dropped", [(0, "0"), (1, "1"), (3600, "7"), (3601, "9")])
    dropped = found["sender_softnet_dropped"]
    assert np.isnan(dropped.value).tolist() == [False, True, False]
    assert dropped.missing == (("the sampler paused", 1),)


def test_a_clock_that_was_set_spoils_its_period_and_one_that_went_back_what_is_there_twice(tmp_path: Path) -> None:
    rows = [(0, "0,0"), (1, "1,0"), (3, "2,1"), (4, "3,1"), (2, "4,-1"), (3.5, "5,-1"), (5, "6,-1"), (6, "7,-1")]
    found = metrics(tmp_path, "softnet_dropped,clock_stepped_s", rows)["sender_softnet_dropped"]
    starts = ((found.start_ns - START_NS) / SECOND).tolist()
    assert starts == [0, 1, 3, 5]
    assert np.isnan(found.value).tolist() == [False, True, False, False]
    assert (np.diff(found.start_ns) > 0).all()
    assert (found.end_ns[:-1] <= found.start_ns[1:]).all()


def test_later_sessions_follow_the_first_in_order_of_their_numbers(tmp_path: Path) -> None:
    for name, second in (("sender-10", 30), ("sender", 0), ("sender-2", 15)):
        rows = "".join(f"{START_NS + (second + step) * SECOND},{step}\n" for step in range(3))
        (tmp_path / f"{name}.csv").write_text(f"time_ns,softnet_dropped\n{rows}")
    (tmp_path / "sender.facts.csv").write_text("time_ns,softnet_dropped\n")
    paths = host_files(tmp_path, "sender")
    assert [path.stem for path in paths] == ["sender", "sender-2", "sender-10"]
    (found,) = read_host(paths, "sender")
    assert ((found.start_ns - START_NS) / SECOND).tolist() == [0, 1, 15, 16, 30, 31]
