"""Lanes as they are packed into a page: times and values come out as they went in, and breaks stay breaks."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from vmtrace.analyze.charts.packet_series import Series, of_connections
from vmtrace.analyze.reports.capture import judgement, lanes
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.palette import FACTORS, LEDGER, FactorLook


def times_of(packed: dict[str, Any]) -> list[float]:
    return [float(tick) * packed["step_s"] for tick in np.cumsum(packed["ticks"])]


@pytest.mark.parametrize("span_s", [1e-6, 0.3, 1.0, 630.0, 86_400.0])
def test_times_are_exact_to_a_billionth_of_the_axis(span_s: float) -> None:
    series = Series(np.array([0.0, 0.1, 0.100000001, 1.0]) * span_s, np.array([1.0, 2.0, 3.0, 4.0]))
    packed = lanes.Packing(span_s, 100).points("rtt", series, "x", "#000000")
    assert packed is not None
    assert times_of(packed) == pytest.approx(series.time_s.tolist(), abs=max(1e-9, span_s * 1e-8))


def test_times_rise_though_packets_passed_in_another_order() -> None:
    series = Series(np.array([0.2, 0.1]), np.array([1.0, 2.0]))
    packed = lanes.Packing(1.0, 100).points("rtt", series, "x", "#000000")
    assert packed is not None
    assert times_of(packed) == pytest.approx([0.1, 0.2])
    assert packed["y"] == [2, 1]


def test_values_keep_whole_numbers_and_six_digits() -> None:
    assert lanes.rounded(np.array([1.0, 4_123_456_789.0])) == [1, 4_123_456_789]
    assert lanes.rounded(np.array([0.123456789, np.nan])) == [0.123457, None]
    assert lanes.rounded(np.array([1e19, 2.0])) == [1e19, 2.0], "a counter that somebody made up"


def test_a_series_without_points_is_left_out() -> None:
    assert lanes.Packing(1.0, 100).steps("rtt", Series(np.empty(0), np.empty(0)), "x", "#000000") is None


def test_connections_on_one_page_share_its_points() -> None:
    assert [lanes.point_limit(number) for number in (0, 1, 2, 1000)] == [16_000, 16_000, 8_000, 1_000]


def test_the_bins_of_throughput_hold_every_byte_once(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    (bins,) = (one for one in lanes.series_of(series, 100) if one["style"] == "bins")
    assert sum(bins["bits"]) == 8 * series.record[series.direction]["unique_payload_bytes"]


def test_the_bins_of_throughput_stand_at_the_time_of_their_bytes(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    delivered = Series(np.array([-0.1, 0.0, 0.5, 4.9, 9.9]), np.array([10.0, 20.0, 30.0, 40.0, 50.0]))
    (bins,) = (one for one in lanes.series_of(replace(series, delivered_bytes=delivered), 20) if one["style"] == "bins")
    assert bins["bin_s"] == 1.0
    assert bins["bits"] == [8 * count for count in (60, 0, 0, 0, 40, 0, 0, 0, 0, 50)]


def test_a_spacing_of_nothing_has_no_place_on_its_axis(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    spacing = Series(np.array([0.0, 0.1, 0.2]), np.array([0.0, 0.01, 0.0]))
    drawn = lanes.series_of(replace(series, spacing_s=spacing), 20)
    (found,) = (one for one in drawn if one["name"] == "spacing")
    assert found["y"] == [0.01]


def test_every_factor_of_the_contract_has_a_look() -> None:
    factors = load()["$defs"]["verdict"]["properties"]["factor"]["enum"]
    assert list(FACTORS) == factors
    assert set(judgement.looks()) == set(factors)


def grey(colour: str) -> float:
    """What is left of a colour in grey print, from 0 to 255."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.299 * red + 0.587 * green + 0.114 * blue


def alike_in_grey(looks: dict[str, tuple[Any, str]], apart: float) -> list[tuple[str, str]]:
    """Pairs with one mark and nearly one grey; `looks` are marks and colours by name."""
    return [
        (first, second)
        for first, second in combinations(looks, 2)
        if looks[first][0] == looks[second][0] and abs(grey(looks[first][1]) - grey(looks[second][1])) < apart
    ]


@pytest.mark.parametrize("palette", [FACTORS, dict(LEDGER.values())], ids=["factors", "ledger"])
def test_areas_are_told_apart_in_grey_print_by_hatch_or_brightness(palette: dict[str, FactorLook]) -> None:
    assert alike_in_grey({name: (look.hatch, look.colour) for name, look in palette.items()}, 55) == []


def test_marks_and_lines_of_a_lane_are_told_apart_in_grey_print(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    one = Series(np.array([0.0]), np.array([1.0]))
    every = replace(
        series, sent=dict.fromkeys(series.sent, one), lengthened_rtt_s=dict.fromkeys(series.lengthened_rtt_s, one),
        recovery_rtt_s=one,
    )  # fmt: skip
    drawn = lanes.series_of(every, 100)
    assert {one["lane"] for one in drawn} == {lane["key"] for lane in lanes.LANES}
    for lane in lanes.LANES:
        own = [one for one in drawn if one["lane"] == lane["key"]]
        looks = {one["name"]: (one.get("symbol", one.get("dashed", 0)), one["colour"]) for one in own}
        assert len(looks) == len(own)
        assert alike_in_grey(looks, 55) == []


def test_kinds_of_packets_differ_in_colour_or_symbol(transfer: Any) -> None:
    (series,) = of_connections(read(transfer.bytes()), [1])
    one = Series(np.array([0.0]), np.array([1.0]))
    drawn = lanes.series_of(replace(series, sent=dict.fromkeys(series.sent, one)), 100)
    looks = [(point["colour"], point["symbol"]) for point in drawn if point["lane"] == "sequence" and "symbol" in point]
    assert len(set(looks)) == len(looks) == len(series.sent)
