"""Figures of a run: what is in them, and that print, page and CSV show the same."""

import csv
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series
from vmtrace.analyze.charts.on_paper import draw, write_charts
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.charts import host_cpu
from vmtrace.analyze.reports.run.charts.along_run import Clock
from vmtrace.analyze.reports.run.figures import charts
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring

FIRST = ("throughput-by-cause", "distribution-throughput", "distribution-mean-rtt", "distribution-loss-rate")


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def charts_of(*made: Any, pair: int | None = None) -> dict[str, Chart]:
    runs = [results_of(one) for one in made]
    return {chart.name: chart for chart in charts(runs, [run.choose(pair) for run in runs])}


def series_of(chart: Chart, panel: int = 0) -> dict[str, Series]:
    return {one.name: one for one in chart.panels[panel].series}


def test_every_figure_of_the_study_is_there(small_run: Any) -> None:
    assert list(charts_of(small_run)) == [
        *FIRST,
        "figure-3-probe-and-data-throughput",
        "along-the-run",
        "figure-4-rtt",
        "figure-5-spacing",
        "figure-7-spacing",
        "figure-8-spacing-and-window",
        "figure-6-mean-spacing-and-throughput",
        "figure-6-spacing-without-waits",
    ]


def test_figure_3_has_a_panel_for_each_index_with_correlation_and_identity(small_run: Any) -> None:
    small_run.pairs(2, "I_0", first=9, captured=False)
    chart = charts_of(small_run)["figure-3-probe-and-data-throughput"]
    assert [panel.title for panel in chart.panels] == ["I_0: 10.0 kB, 50.0 kB", "I_1: 10.0 kB, 50.0 kB"]
    assert [panel.note for panel in chart.panels] == ["r = 1.00, n = 6", "r not known, n = 4"]
    points = series_of(chart)
    assert (points["run"].x / 1e6).tolist() == [1, 2, 3, 4, 9, 10]
    assert (points["run"].y / 1e6).tolist() == [2, 4, 6, 8, 18, 20]
    identity = points["probe = data"]
    assert identity.reference
    assert identity.x.tolist() == identity.y.tolist()


def test_figure_3_of_runs_far_apart_is_logarithmic_so_that_the_slow_one_is_seen(new_run: Any) -> None:
    slow, alike, fast = new_run("slow"), new_run("alike"), new_run("fast")
    slow.pairs(3, captured=False)
    alike.pairs(3, first=10, captured=False)
    fast.pairs(3, first=100, captured=False)
    name = "figure-3-probe-and-data-throughput"
    assert not charts_of(slow, alike)[name].x.log
    chart = charts_of(slow, fast)[name]
    assert chart.x.log
    assert chart.panels[0].y.log
    line = series_of(chart)["probe = data"].drawable(chart.x, chart.panels[0].y)
    assert len(line.x) == 2
    assert series_of(chart)["slow"].symbol != series_of(chart)["fast"].symbol


def test_figures_inside_a_transfer_show_the_chosen_pair_and_say_why(small_run: Any) -> None:
    found = charts_of(small_run)
    assert "pair 1 (I_0) of run: the lowest data throughput of the run, 2.00 Mbit/s" in found["figure-4-rtt"].title
    assert "pair 2 (I_0) of run: the median data throughput of I_0" in found["figure-5-spacing"].title
    assert "pair 6 (I_1) of run: asked for" in charts_of(small_run, pair=6)["figure-7-spacing"].title


def test_figure_4_shows_clean_samples_and_the_baseline(small_run: Any) -> None:
    chart = charts_of(small_run)["figure-4-rtt"]
    data = series_of(chart, 1)
    assert data["data"].y == pytest.approx(0.020, abs=1e-4)
    assert data["mean of the pings before"].y.tolist() == [0.020, 0.020]
    assert chart.panels[1].title.startswith("data, 50.0 kB at 2.00 Mbit/s; mean RTT 20.0 ms; loss ")


def test_round_trips_are_not_drawn_from_the_far_end(new_run: Any) -> None:
    made = new_run()
    line = made.pair(1)
    made.capture(line, "data", "receiver")
    made.add(line)
    chart = charts_of(made)["figure-4-rtt"]
    assert [panel.note for panel in chart.panels] == [
        "not captured",
        "captured where the data arrived: no round trips there",
    ]


def test_figure_8_puts_the_window_over_the_spacing(small_run: Any) -> None:
    chart = charts_of(small_run)["figure-8-spacing-and-window"]
    assert chart.shared_x
    window = series_of(chart, 1)["advertised window"]
    assert set(window.y) == {65_536.0}
    assert len(series_of(chart, 0)["data"].x) == 50


def test_panels_over_the_same_time_are_printed_over_the_same_time() -> None:
    early = Series("early", np.array([0.0, 1.0]), np.array([1.0, 2.0]), "#000000")
    late = Series("late", np.array([3.0, 9.0]), np.array([1.0, 2.0]), "#000000")
    panels = (Panel("one", Axis("y", "s"), (early,)), Panel("other", Axis("y", "s"), (late,)))
    together = Chart("name", "title", "caption", Axis("time", "s"), panels, shared_x=True)
    limits = [axes.get_xlim() for axes in draw(together).axes]
    assert limits[0] == limits[1]
    assert limits[0][1] >= 9
    apart = Chart("name", "title", "caption", Axis("time", "s"), panels)
    first, second = (axes.get_xlim() for axes in draw(apart).axes)
    assert first[1] < second[1]


def test_what_lies_below_zero_is_printed_with_zero_above_it() -> None:
    behind = Series("delay", np.array([0.0, 1.0]), np.array([-7000.0, -6000.0]), "#000000")
    panel = Panel("clocks apart", Axis("one-way delay", "s"), (behind,))
    (axes,) = draw(Chart("name", "title", "caption", Axis("time", "s"), (panel,))).axes
    low, high = axes.get_ylim()
    assert low <= -7000
    assert high == 0
    assert axes.get_ylabel() == "one-way delay [ks]"
    assert axes.get_xlim()[0] == 0


def test_figure_6_has_all_transfers_of_all_runs(small_run: Any, new_run: Any) -> None:
    other = new_run("other")
    other.pairs(3, "I_5")
    found = charts_of(small_run, other)
    data = series_of(found["figure-6-mean-spacing-and-throughput"], 1)
    assert {name: len(one.x) for name, one in data.items()} == {"run": 8, "other": 3}
    assert data["run"].colour != data["other"].colour
    assert {"figure-4-rtt-1", "figure-4-rtt-2", "along-the-run-1", "along-the-run-2"} <= set(found)


def test_along_the_run_shows_every_transfer_and_ping(small_run: Any) -> None:
    chart = charts_of(small_run)["along-the-run"]
    assert chart.x.unit == "s"
    rtt = series_of(chart, 0)
    assert rtt["probe"].x.tolist() == [10.0 * number for number in range(8)]
    assert rtt["ping"].y == pytest.approx(0.020)
    assert series_of(chart, 1)["data"].y == pytest.approx(100 / 51)


@pytest.mark.parametrize(
    ("pair", "unit", "last"), [(11, "s", 100), (61, "min", 10), (1081, "h", 3), (20_161, "d", 2.333333)]
)
def test_time_along_a_run_is_in_a_unit_that_suits_it(new_run: Any, pair: int, unit: str, last: float) -> None:
    made = new_run()
    made.add(made.pair(1), made.pair(pair))
    clock = Clock(results_of(made))
    assert clock.unit == unit
    assert clock.of_times([clock.start_ns + (pair - 1) * 10 * 10**9])[0] == pytest.approx(last)


def test_a_run_without_captures_has_the_figures_that_need_none(new_run: Any) -> None:
    made = new_run()
    made.pairs(3, captured=False)
    found = charts_of(made)
    assert list(found) == [
        *FIRST, "figure-3-probe-and-data-throughput", "along-the-run", "figure-6-mean-spacing-and-throughput"
    ]  # fmt: skip
    assert found["figure-6-mean-spacing-and-throughput"].panels[0].note == "no captures"


def counters(made: Any, text: str) -> Chart | None:
    (made.folder / "host").mkdir(exist_ok=True)
    (made.folder / "host/sender.csv").write_text(text)
    return host_cpu.chart(results_of(made), "")


HEAD = "# schema: vmtrace.host/1\ntime_ns,cpu_user_s,cpu_idle_s,cpu_iowait_s,cpu_steal_s,cpu_guest_s,net_in\n"


def test_processor_time_is_what_passed_between_two_readings(small_run: Any) -> None:
    chart = counters(
        small_run, f"{HEAD}1700000000000000000,10,100,5,1,9,7\n1700000001000000000,10.5,101,5.2,1.3,9.5,8\n"
    )
    assert chart is not None
    assert chart.shared_x
    assert [panel.title for panel in chart.panels] == ["throughput", "CPU", "CPU of the sender by state", "steal"]
    assert {name: len(one.x) for name, one in series_of(chart).items()} == {"probe": 8, "data": 8}
    assert series_of(chart, 1)["sender"].y.tolist() == pytest.approx([25.0, 25.0])
    by_state = series_of(chart, 2)
    assert by_state["user"].y.tolist() == pytest.approx([25.0, 25.0])
    assert by_state["stolen"].y.tolist() == pytest.approx([15.0, 15.0])
    assert by_state["user"].x.tolist() == [0.0, 1.0], "from the first row to the second"


def row_at(second: int, cells: str) -> str:
    return f"{1_700_000_000_000_000_000 + second * 10**9},{cells}"


def test_counters_that_begin_again_and_torn_rows_give_no_share(small_run: Any) -> None:
    cells = ["1,1,1,1,0,0", "2,2,2,2,0,0", "0,0,0,0,0,0", "1,1,1,1,0,0", "x,1,1,1", "2,2"]
    chart = counters(small_run, HEAD + "\n".join(row_at(second, one) for second, one in enumerate(cells)))
    assert chart is not None
    pieces = [one for one in chart.panels[1].series if one.name == "sender"]
    assert [(one.x.tolist(), one.y.tolist()) for one in pieces] == [([0, 1], [25, 25]), ([2, 3], [25, 25])]


@pytest.mark.parametrize(
    "text", ["", "# only: this\n", "time_ns,net_in\n1,2\n3,4\n", HEAD + "1,1,1,1,1,1,1\n", 'a,"b\n' * 9]
)
def test_a_file_without_processor_time_has_no_figure(small_run: Any, text: str) -> None:
    assert counters(small_run, text) is None


def test_long_runs_of_counters_become_means_of_longer_stretches(small_run: Any, new_run: Any) -> None:
    made = new_run("long")
    made.add(made.pair(1), made.pair(721))
    rows = "".join(row_at(second, f"{second / 4},{second * 3 / 4},0,0,0,0\n") for second in range(7200))
    chart = counters(made, HEAD + rows)
    assert chart is not None
    (used,) = chart.panels[1].series
    assert len(used.x) == pytest.approx(720, abs=2)
    assert used.y == pytest.approx(25.0)
    assert "counters over 10.0 s" in chart.caption


CLOUD_HEAD = "start_ns,period_s,metric,namespace,dimensions,statistic,value,unit,cumulative,delta,open\n"


def test_cloudwatch_utilisation_and_allowances_are_under_the_throughput_of_the_same_time(small_run: Any) -> None:
    start_ns = 1_700_000_000 * 10**9
    (small_run.folder / "cloudwatch.csv").write_text(
        CLOUD_HEAD
        + "".join(
            f"{start_ns + 60 * minute * 10**9},60,{metric},AWS,InstanceId=i-1,{statistic},{value},,{known},{delta},\n"
            for minute in (-1, 0, 1)
            for metric, statistic, value, known, delta in (
                ("CPUUtilization", "Average", 7 + minute, "false", ""),
                ("ethtool_bw_out_allowance_exceeded", "Maximum", 600 * minute + 900, "true", 600),
                ("CPUCreditBalance", "Average", 50, "false", ""),
            )
        )
    )
    chart = host_cpu.chart(results_of(small_run), "")
    assert chart is not None
    panels = {panel.title: panel.series for panel in chart.panels}
    assert list(panels) == ["throughput", "CPU", "packets beyond allowances", "CPU credits"]
    (used,) = panels["CPU"]
    assert used.x.tolist() == pytest.approx([0, 60, 75.025]), "what was before and after the run is not drawn"
    assert used.y.tolist() == pytest.approx([7, 8, 8])
    (beyond,) = panels["packets beyond allowances"]
    assert (beyond.name, beyond.y.tolist()) == ("bw_out (CloudWatch)", [10, 10, 10])


def test_print_and_data_are_written_for_each_chart(small_run: Any, tmp_path: Path) -> None:
    found = charts_of(small_run)
    folder = tmp_path / "figures"
    write_charts([found["figure-3-probe-and-data-throughput"], found["figure-4-rtt"]], folder)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        f"{name}.{form}"
        for name in ("figure-3-probe-and-data-throughput", "figure-4-rtt")
        for form in ("png", "svg", "csv")
    }
    assert {oct(path.stat().st_mode & 0o777) for path in folder.iterdir()} == {"0o600"}
    text = "".join(ET.parse(folder / "figure-3-probe-and-data-throughput.svg").getroot().itertext())
    for shown in ("probe throughput [Mbit/s]", "data throughput [Mbit/s]", "I_1: 10.0 kB, 50.0 kB", "probe = data"):
        assert shown in text
    with (folder / "figure-3-probe-and-data-throughput.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8, "the line of reference is no data"
    assert (rows[0]["series"], float(rows[0]["x"]), rows[0]["x_unit"], rows[0]["y_unit"]) == (
        "run", 1e6, "bit/s", "bit/s"
    )  # fmt: skip


def test_the_same_run_gives_the_same_files(small_run: Any, tmp_path: Path) -> None:
    chart = charts_of(small_run)["figure-7-spacing"]
    for name in ("one", "two"):
        write_charts([chart], tmp_path / name)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name
