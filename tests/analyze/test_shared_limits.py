"""Connections through one bottleneck: their limit is reported once, and none could have had more than its part."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.outcome_made import Ends, Wire
from vmtrace.analyze.reports.capture.write import write_report
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.tables.human_table import summary_text
from vmtrace.analyze.trace import Trace

RATE_BPS = 24e6
RTT_S = 0.03
SLOT_S = 0.02


def through(seed: int, flows: int, *, shared: bool, seconds: float = 6.0) -> Trace:
    """Uploads, captured at the client: each sends evenly at its part of the rate, by weights that wander."""
    dice, wire = random.Random(seed), Wire()
    ends = [Ends(ports=(40000 + number, 443)) for number in range(flows)]
    sent = [0] * flows
    weights = [1.0] * flows
    for number, one in enumerate(ends):
        at = wire.at(one)
        at.tcp(0.0 + number * 1e-4, True, "S").tcp(RTT_S + number * 1e-4, False, "SA")
        at.tcp(RTT_S + 1e-5 + number * 1e-4, True, "A")
    for slot in range(round(seconds / SLOT_S)):
        weights = [min(max(weight * dice.uniform(0.85, 1.18), 0.3), 3.0) for weight in weights]
        whole = sum(weights) if shared else flows
        for number, one in enumerate(ends):
            packets = max(1, round(RATE_BPS / 8 * SLOT_S * weights[number] / whole / 1500))
            for packet in range(packets):
                time_s = 2 * RTT_S + (slot + (packet + number / flows) / packets) * SLOT_S
                wire.at(one).tcp(time_s, True, "A", sent[number], 0, one.full)
                sent[number] += one.full
                wire.at(one).tcp(time_s + 1.5 * RTT_S, False, "A", 0, sent[number], window=16000)
    return wire.trace()


@pytest.fixture(scope="module")
def five() -> Trace:
    return through(1, 5, shared=True)


def test_a_limit_that_connections_share_is_reported_once(five: Trace) -> None:
    document: dict[str, Any] = five.json()
    [limit] = document["shared_limits"]
    assert limit["connections"] == [1, 2, 3, 4, 5]
    assert limit["kind"] == "bottleneck_bandwidth"
    assert limit["burst_bytes"] is None
    assert limit["rate_bps"] == pytest.approx(RATE_BPS, rel=0.05)
    assert limit["to_ns"] - limit["from_ns"] == pytest.approx(6e9, rel=0.1)


def test_no_connection_could_have_had_more_than_the_others_left(five: Trace) -> None:
    for connection in five.json()["connections"]:
        way = connection["client_to_server"]
        assert way["reference_bps"] <= 1.15 * way["goodput_bps"]
        assert connection["verdict"]["factor"] == "bottleneck_bandwidth"
        assert "with 4 other connections" in connection["verdict"]["sentence"]


def test_connections_that_know_nothing_of_each_other_share_nothing() -> None:
    trace = through(2, 5, shared=False)
    assert trace.json()["shared_limits"] == []


def test_the_summary_has_a_line_for_it(five: Trace) -> None:
    [line] = [line for line in summary_text(five, limit=10, width=200).splitlines() if "share a link" in line]
    assert "5 connections share a link of 2" in line


def test_the_page_has_a_line_for_it(five: Trace, tmp_path: Path) -> None:
    write_report(five, [], provenance.of(five, anonymous=False), tmp_path / "page.html")
    assert "5 connections share a link of" in (tmp_path / "page.html").read_text()
