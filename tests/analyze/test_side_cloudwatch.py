"""CloudWatch's table as metrics: levels, counts and counters told apart, and points that say nothing."""

from pathlib import Path

import numpy as np
import pytest

from vmtrace.analyze.read.side.cloudwatch import read_cloudwatch
from vmtrace.analyze.read.side.metrics import Periods
from vmtrace.cloudwatch.answers import Metric as Named
from vmtrace.cloudwatch.answers import Series
from vmtrace.cloudwatch.counters import Sample
from vmtrace.cloudwatch.table import table_text

MINUTE = 60 * 10**9
START_NS = 1_700_000_000 * 10**9
HEAD = "start_ns,period_s,metric,namespace,dimensions,statistic,value,unit,cumulative,delta,open\n"


def point(minute: float, metric: str, statistic: str, value: float, **more: object) -> str:
    cells = {"period": 60, "dimensions": "InstanceId=i-1", "cumulative": "false", "delta": "", "open": "false"} | more
    start_ns = START_NS + round(minute * MINUTE)
    return (
        f"{start_ns},{cells['period']},{metric},NS,{cells['dimensions']},{statistic},{value},Unit,"
        f"{cells['cumulative']},{cells['delta']},{cells['open']}\n"
    )


def read(folder: Path, *points: str) -> list[Periods]:
    path = folder / "cloudwatch.csv"
    path.write_text("# schema: vmtrace.cloudwatch_table/1\n" + HEAD + "".join(points))
    return read_cloudwatch(path)


def test_a_level_is_taken_as_it_is_and_a_sum_as_a_rate(tmp_path: Path) -> None:
    cpu, dropped = read(
        tmp_path, point(0, "CPUUtilization", "Average", 7), point(0, "CPUUtilization", "Maximum", 90),
        point(0, "net_drop_in", "Sum", 120),
    )  # fmt: skip
    assert (cpu.metric.name, cpu.value.tolist(), cpu.metric.unit) == ("cloudwatch_CPUUtilization", [0.07], "share")
    assert ((cpu.start_ns - START_NS).tolist(), (cpu.end_ns - START_NS).tolist()) == ([0], [MINUTE])
    assert (dropped.metric.full_label, dropped.value.tolist()) == (
        "packets dropped by the interface (in) by CloudWatch", [2.0]
    )  # fmt: skip


def test_a_counter_that_accumulates_counts_by_its_delta_and_not_after_a_reset(tmp_path: Path) -> None:
    name = "ethtool_bw_out_allowance_exceeded"
    (found,) = read(
        tmp_path,
        *(point(minute, name, "Maximum", value, cumulative="true", delta=delta)
          for minute, value, delta in ((0, 1000, ""), (1, 1060, 60), (2, 5, ""), (3, 35, 30))),
    )  # fmt: skip
    assert np.isnan(found.value).tolist() == [True, False, True, False]
    assert found.value[[1, 3]].tolist() == [1.0, 0.5]
    assert found.missing == (("the counter began again, or the period before is missing", 2),)


def test_the_same_name_without_accumulation_counts_by_its_value(tmp_path: Path) -> None:
    (found,) = read(tmp_path, point(0, "ethtool_pps_allowance_exceeded", "Maximum", 30, cumulative="false"))
    assert found.value.tolist() == [0.5]


def test_of_a_counter_of_which_nobody_knows_whether_it_accumulates_nothing_is_used(tmp_path: Path) -> None:
    (found,) = read(tmp_path, point(0, "ethtool_pps_allowance_exceeded", "Maximum", 30, cumulative=""))
    assert np.isnan(found.value).all()
    assert found.missing == (("not known whether it accumulates", 1),)


def test_a_point_that_was_still_open_is_not_used(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path, point(0, "CPUUtilization", "Average", 7), point(1, "CPUUtilization", "Average", 9, open="true")
    )
    assert found.value.tolist() == [pytest.approx(0.07), pytest.approx(np.nan, nan_ok=True)]
    assert found.missing == (("the period was still open when it was asked for", 1),)


def test_the_shortest_period_counts_and_of_a_point_that_stands_twice_the_later_row(tmp_path: Path) -> None:
    (found,) = read(
        tmp_path,
        point(0, "CPUUtilization", "Average", 50, period=300),
        point(1, "CPUUtilization", "Average", 8),
        point(0, "CPUUtilization", "Average", 5),
        point(0, "CPUUtilization", "Average", 7),
    )
    assert (found.period_s, found.value.tolist()) == (60.0, [pytest.approx(0.07), pytest.approx(0.08)])


def test_several_interfaces_are_told_apart_by_their_dimension(tmp_path: Path) -> None:
    name = "ethtool_bw_in_allowance_exceeded"
    found = read(
        tmp_path,
        *(point(0, name, "Maximum", 0, dimensions=f"InstanceId=i-1;interface=eth{number}") for number in (0, 1)),
    )
    assert [one.metric.dimensions for one in found] == ["interface=eth0", "interface=eth1"]


def test_traffic_foreign_metrics_and_points_without_a_period_are_left_out(tmp_path: Path) -> None:
    found = read(
        tmp_path, point(0, "NetworkOut", "Sum", 10**9), point(0, "Weather", "Average", 3),
        point(0, "CPUUtilization", "Average", 7, period=""),
    )  # fmt: skip
    assert found == []


def test_a_table_of_other_columns_holds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "cloudwatch.csv"
    path.write_text("start_ns,value\n1,2\n")
    assert read_cloudwatch(path) == []


def test_a_balance_harms_when_it_is_low(tmp_path: Path) -> None:
    (found,) = read(tmp_path, point(0, "EBSIOBalance%25", "Average", 100))
    assert (found.metric.harm, found.value.tolist()) == ("low", [1.0])


def test_what_cloudwatch_writes_is_what_is_read(tmp_path: Path) -> None:
    instance = ("InstanceId", "i-1")
    asked_ns = START_NS + 60 * MINUTE

    def series(name: str, statistic: str, values: list[float], *more: tuple[str, str]) -> Series:
        samples = tuple(Sample(START_NS + minute * MINUTE, value) for minute, value in enumerate(values))
        return Series(Named("NS", name, (instance, *more)), statistic, 60, None, samples, asked_ns)

    text = table_text(
        [
            series("CPUUtilization", "Average", [7.5, 8]),
            series("EBSIOBalance%", "Average", [99, 98]),
            series("ethtool_bw_out_allowance_exceeded", "Maximum", [60, 120, 240], ("interface", "eth0;=,%")),
        ],
        {"vmtrace": "0", "command": "x", "instance_id": "i-1", "region": "eu-west-1"},
    )
    (tmp_path / "cloudwatch.csv").write_text(text)
    found = {one.metric.name: one for one in read_cloudwatch(tmp_path / "cloudwatch.csv")}
    assert found["cloudwatch_CPUUtilization"].value.tolist() == [0.075, 0.08]
    assert found["cloudwatch_EBSIOBalance%"].value.tolist() == [0.99, 0.98]
    beyond = found["cloudwatch_ethtool_bw_out_allowance_exceeded"]
    assert beyond.metric.dimensions == "interface=eth0;=,%"
    assert beyond.value[1:].tolist() == [1.0, 2.0]
    assert np.isnan(beyond.value[0]), "what was counted before is not known"
