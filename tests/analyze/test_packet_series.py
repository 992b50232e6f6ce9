"""Packets sorted into series, and thinned out without losing what stands out."""

import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vmtrace.analyze.charts.packet_series import (
    ConnectionSeries,
    keep_extremes,
    of_connections,
    throughput,
    throughput_bin_s,
)
from vmtrace.analyze.reports.capture.lanes import series_of
from vmtrace.analyze.tables.human_table import main_direction
from vmtrace.analyze.trace import read

SAMPLES = Path(__file__).parents[2] / "samples"


@given(hnp.arrays(np.float64, st.integers(0, 500), elements=st.floats(-1e9, 1e9)), st.integers(4, 60))
def test_thinning_keeps_the_first_the_last_and_the_extremes(values: Any, limit: int) -> None:
    times = np.arange(len(values), dtype=np.float64)
    kept = keep_extremes(times, values, limit)
    assert len(kept) <= max(limit, 4) + 4
    assert np.all(np.diff(kept) > 0)
    if len(values):
        assert {0, len(values) - 1} <= set(kept.tolist())
        assert values[kept].max() == values.max()
        assert values[kept].min() == values.min()


def test_thinning_keeps_the_extremes_of_each_stretch_of_time() -> None:
    times = np.arange(1000.0)
    values = np.zeros(1000)
    values[[130, 380, 630, 880]] = [1.0, -2.0, 3.0, -4.0]
    kept = set(keep_extremes(times, values, 16).tolist())
    assert {0, 130, 380, 630, 880, 999} <= kept, "a peak is drawn though there are higher ones elsewhere"
    assert len(kept) <= 20


def test_points_that_are_few_enough_all_stay() -> None:
    assert keep_extremes(np.arange(16.0), np.zeros(16), 16).tolist() == list(range(16))


def test_unusually_long_pauses_stand_where_they_end(two_transfers: Any) -> None:
    (series,) = of_connections(read(two_transfers.bytes()), [2])
    start_ns = series.record["start_ns"]
    gaps = [
        {"start_ns": start_ns + 250_000_000, "gap_s": 0.5},
        {"start_ns": start_ns + 10**9, "gap_s": 0.0},
    ]
    series.record[series.direction]["spacing"]["anomalies"] = gaps
    marked = series.anomalies()
    assert (marked.time_s.tolist(), marked.value.tolist()) == ([0.75], [0.5])


def test_points_of_one_instant_are_thinned_too() -> None:
    kept = keep_extremes(np.zeros(1000), np.arange(1000.0), 40)
    assert set(kept.tolist()) == {0, 999}


def test_a_transfer_becomes_the_series_it_was_made_of(two_transfers: Any) -> None:
    trace = read(two_transfers.bytes())
    second, first = of_connections(trace, [2, 1])
    assert (second.record["id"], first.record["id"]) == (2, 1)
    assert first.direction == "client_to_server"
    assert first.title == "connection 1: 10.0.0.1:40000 → 10.0.0.2:5001"
    assert len(first.sent["data"]) == 50
    assert len(first.sent["retransmission"]) == 1
    assert first.sent["data"].value.max() == 50_000
    assert first.acknowledged.value.max() == pytest.approx(50_000, abs=1)
    assert np.all(np.diff(first.acknowledged.value) >= 0)
    assert set(first.window_bytes.value) == {65_536.0}
    assert np.allclose(first.rtt_s.value, 0.020, atol=0.003)
    assert len(first.rtt_s) == first.record["client_to_server"]["rtt"]["samples"]
    assert first.spacing_s.value.max() == pytest.approx(first.record["client_to_server"]["spacing"]["max_s"])


def test_packets_are_read_of_a_few_connections_at_a_time(two_transfers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    together = list(of_connections(read(two_transfers.bytes()), [2, 1]))
    trace = read(two_transfers.bytes())
    monkeypatch.setattr("vmtrace.analyze.charts.packet_series._PACKETS_AT_ONCE", 1)
    asked: list[list[int]] = []
    run = trace._run

    def run_and_note(packets_of: tuple[int, ...], **others: Any) -> Any:
        asked.append(list(packets_of))
        return run(packets_of, **others)

    monkeypatch.setattr(trace, "_run", run_and_note)
    one_by_one = list(of_connections(trace, [2, 1]))
    assert asked == [[2], [1]]
    for one, other in zip(together, one_by_one, strict=True):
        assert one.packets.equals(other.packets)
        assert np.array_equal(one.rtt_s.value, other.rtt_s.value)


def test_the_series_of_one_connection_are_given_up_before_the_next_are_made(two_transfers: Any) -> None:
    made: list[weakref.ref[Any]] = []

    def note(series: ConnectionSeries) -> bool:
        earlier_is_there = any(packets() is not None for packets in made)
        made.append(weakref.ref(series.packets))
        return earlier_is_there

    assert list(map(note, of_connections(read(two_transfers.bytes()), [1, 2]))) == [False, False]


def test_round_trips_of_loss_recovery_are_a_series_of_their_own() -> None:
    trace = read(SAMPLES / "lossy-sender.pcap")
    (series,) = of_connections(trace, [1])
    recovery = series.record["client_to_server"]["rtt"]["recovery"]
    assert len(series.recovery_rtt_s) == recovery["sack_samples"] + recovery["timestamp_samples"] > 50
    assert series.recovery_rtt_s.value.max() == pytest.approx(recovery["max_s"])
    assert not set(series.recovery_rtt_s.time_s) & set(series.rtt_s.time_s)
    lanes = {one["name"]: one for one in series_of(series, 1000)}
    assert lanes["RTT in loss recovery"]["of"] == len(series.recovery_rtt_s)


def test_throughput_adds_up_to_what_was_sent() -> None:
    times, sizes = np.array([0.0, 0.05, 0.15, 0.95]), np.array([100.0, 100.0, 100.0, 100.0])
    series = throughput(times, sizes, 0.1)
    assert series.value[0] == pytest.approx(200 * 8 / 0.1)
    assert series.value[1] == pytest.approx(100 * 8 / 0.1)
    assert series.value[2:].max() == 0
    assert len(series) == 9, "the bin in which the transfer ends is left out"
    assert len(throughput(times[:0], sizes[:0], 0.1)) == 0


@given(st.floats(0, 1e7))
def test_bins_are_round_and_of_a_sensible_number(duration_s: float) -> None:
    width = throughput_bin_s(duration_s)
    assert width >= 1e-3 * 0.999
    assert duration_s / width <= 201
    assert width <= 2.5 * max(duration_s / 200, 1e-3), "1, 2 and 5 are at most so far apart"
    assert float(f"{width:.0e}"[0]) in (1, 2, 5)


def test_the_direction_drawn_is_that_of_the_verdict_though_repeats_outweigh_it(new_capture: Any) -> None:
    """The client sends 12 kB twice, the server 15 kB once."""
    client, server, ack = ("10.0.0.1", 40_000), ("10.0.0.2", 5001), 0x10
    capture = new_capture()
    for number in range(12):
        for repeat in range(2):
            time_s = number * 0.5 + repeat * 0.25
            capture.tcp(time_s, client, server, ack, 1000 + number * 1000, 5000, bytes(1000))
        capture.tcp(number * 0.5 + 0.3, server, client, ack, 5000, 2000 + number * 1000)
    for number in range(15):
        capture.tcp(7.0 + number * 0.05, server, client, ack, 5000 + number * 1000, 13_000, bytes(1000))
        capture.tcp(7.01 + number * 0.05, client, server, ack, 13_000, 6000 + number * 1000)
    trace = read(capture.bytes())
    (series,) = of_connections(trace, [1])
    record = series.record
    assert record["client_to_server"]["payload_bytes"] > record["server_to_client"]["payload_bytes"]
    assert record["verdict"]["direction"] == "server_to_client"
    assert series.direction == main_direction(trace.row(0)) == "server_to_client"
