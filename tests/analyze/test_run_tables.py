"""The tables of a run: what they count, and what they leave out."""

from typing import Any

import pytest

from vmtrace.analyze.read.records.run import Baseline
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run.results import NoSuchPairError, RunResults
from vmtrace.analyze.reports.run.table_records import flat, tables
from vmtrace.analyze.reports.run.tables import (
    baseline,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
    run_baseline,
)
from vmtrace.analyze.reports.run.transfers.transfers import Measuring


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def test_table_1_is_the_plan_and_what_became_of_it(small_run: Any) -> None:
    small_run.add(small_run.pair(9, "I_1", status="failed", data=None, probe=None, error="gone"))
    small_run.add(small_run.pair(10, "I_9"))
    rows = plan_rows(results_of(small_run))
    assert [(row.index, row.planned, row.finished, row.failed) for row in rows] == [
        ("I_0", 4, 4, 0), ("I_1", 4, 4, 1), ("I_9", None, 1, 0), (None, 8, 9, 1)
    ]  # fmt: skip
    assert (rows[0].probe_bytes, rows[0].data_bytes) == (10_000, 50_000)
    assert (rows[2].probe_bytes, rows[2].data_bytes) == (10_000, 50_000), "by its pairs, where the plan has it not"


def test_a_run_limited_by_time_has_no_number_of_planned_pairs(small_run: Any) -> None:
    small_run.record["plan"] |= {"repeat": None, "duration_s": 3600.0}
    small_run.record["pairs_planned"] = None
    small_run.save()
    assert {row.planned for row in plan_rows(results_of(small_run))} == {None}


def test_table_2_has_a_row_for_each_index_and_transfer_and_over_all(small_run: Any) -> None:
    rows = metrics_rows(results_of(small_run))
    assert [(row.index, row.role, row.transfers) for row in rows] == [
        ("I_0", "probe", 4), ("I_0", "data", 4), ("I_1", "probe", 4), ("I_1", "data", 4),
        (None, "probe", 8), (None, "data", 8),
    ]  # fmt: skip
    data = rows[-1]
    assert data.mean_rtt_s.value == pytest.approx(0.020)
    # Each has one lost segment of 50, which is the 51st sent.
    assert data.mean_loss_rate.value == pytest.approx(1 / 51)
    assert data.mean_retransmission_rate.value == pytest.approx(1 / 51)
    assert data.mean_kernel_retransmission_rate.value == pytest.approx(1 / 50)
    assert (data.median_goodput_bps.value, data.median_goodput_bps.low) == (9e6, 2e6)
    assert data.mean_loss_rate.low is not None
    assert rows[0].mean_loss_rate.low is None, "four transfers are too few"
    assert (data.ping.min_s, data.ping.max_s) == (0.019, 0.022)


def test_drops_are_in_every_row_they_belong_to(small_run: Any) -> None:
    line = small_run.pair(9, "I_1")
    small_run.capture(line, "data")
    line["data"]["capture"]["sender_dropped"] = 7
    small_run.add(line)
    (small_run.folder / "packets/sender/0001-data.pcap").write_bytes(b"x")
    results = results_of(small_run)
    drops = {(row.index, row.role): row.transfers_with_drops for row in metrics_rows(results)}
    assert {key for key, number in drops.items() if number} == {("I_1", "data"), (None, "data")}
    trouble = {row.index: row.transfers_with_trouble for row in plan_rows(results)}
    assert trouble == {"I_0": 1, "I_1": 1, None: 2}


def test_without_captures_packets_are_null_and_throughput_is_there(new_run: Any) -> None:
    made = new_run()
    made.pairs(7, captured=False)
    row = metrics_rows(results_of(made))[-1]
    assert (row.mean_rtt_s.value, row.mean_loss_rate.value, row.mean_spacing_s.value) == (None, None, None)
    assert row.median_goodput_bps.value == 8e6
    assert row.mean_kernel_retransmission_rate.value == pytest.approx(0.02)


def test_measured_at_the_receiver_is_counted(new_run: Any) -> None:
    made = new_run()
    line = made.pair(1)
    made.capture(line, "data", "receiver")
    made.add(line)
    assert [row.measured_at_receiver for row in metrics_rows(results_of(made))] == [0, 1, 0, 1]


def test_baselines_are_put_together_by_echoes() -> None:
    parts = [
        Baseline("icmp", 4, 1, 0.010, 0.020, 0.030),
        Baseline("icmp", 1, 0, 0.008, 0.008, 0.008),
        Baseline("icmp", 3, 3, None, None, None),
    ]
    found = baseline(parts)
    assert (found.echoes, found.lost, found.min_s, found.max_s) == (8, 4, 0.008, 0.030)
    assert found.mean_s == pytest.approx((3 * 0.020 + 0.008) / 4)
    assert baseline([]).mean_s is None


def test_the_runs_baseline_comes_from_single_echoes_or_else_from_pairs(small_run: Any) -> None:
    by_echoes = run_baseline(results_of(small_run))
    assert by_echoes.echoes == 24
    assert by_echoes.mean_s == pytest.approx(0.020)
    (small_run.folder / "ping.jsonl").unlink()
    assert run_baseline(results_of(small_run)).echoes == 24


def test_probe_and_data_are_related_by_index_and_over_all(small_run: Any) -> None:
    small_run.pairs(1, "I_0", first=9, captured=False)
    results = results_of(small_run)
    rows = correlation_rows(results)
    assert [(row.index, row.pearson.value, row.pearson.n) for row in rows] == [
        ("I_0", 1.0, 5), ("I_1", None, 4), (None, 1.0, 9)
    ]  # fmt: skip
    predictions = {(row.index, row.error.rule): row.error for row in prediction_rows(results)}
    assert predictions["I_0", "ratio"].mean_error.value == pytest.approx(0)
    # 2, 4, 6, 8, 18 Mbit/s: off by 1/2, 1/3, 1/4, 10/18.
    assert predictions["I_0", "last_value"].mean_error.value == pytest.approx((1 / 2 + 1 / 3 + 1 / 4 + 10 / 18) / 4)
    assert predictions[None, "probe"].mean_error.n == 7, "the first pair of each index is not predicted"


def test_the_drawn_pair_is_the_slowest_or_the_one_asked_for(small_run: Any) -> None:
    line = small_run.pair(9, "I_1", data=small_run.transfer(9, "data", 1e5))
    small_run.add(line, small_run.pair(10, status="failed", data=None))
    results = results_of(small_run)
    slowest = results.choose(None)
    assert (slowest.pair.sequence, slowest.reason) == (9, "the lowest data throughput of the run, 100 kbit/s")
    assert results.choose(3).reason == "asked for"
    assert results.usual("I_1").pair.sequence == 6, "10, 12, 14, 16 and 0.1 Mbit/s"
    for absent in (10, 77):
        with pytest.raises(NoSuchPairError, match=f"no complete pair {absent}: complete pairs are between 1 and 9"):
            results.choose(absent)


def test_rows_for_csv_keep_the_unit_last(small_run: Any) -> None:
    row = flat(tables(results_of(small_run))["table_2"][-1])
    assert [name for name in row if name.startswith("mean_rtt")] == [
        "mean_rtt_s", "mean_rtt_low_s", "mean_rtt_high_s", "mean_rtt_n"
    ]  # fmt: skip
    assert row["ping_min_s"] == 0.019
    assert not any(isinstance(value, dict) for value in row.values())
