"""The summary: medians, loss and RTT in plain words, and what went wrong."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from vmtrace.sender.plan import Plan
from vmtrace.sender.tally import Tally


def transfer(rate_bps: float, **capture: Any) -> dict[str, Any]:
    tcp = {"retransmitted_segments": 1, "segments_out": 100, "srtt_s": 0.22}
    return {"bytes": 1000, "goodput_bps": rate_bps, "tcp": tcp, "capture": capture or None}


def pair(rate_bps: float, **more: Any) -> dict[str, Any]:
    return {
        "status": "complete",
        "rtt": {"mean_s": 0.213},
        "probe": transfer(rate_bps / 2),
        "data": transfer(rate_bps),
        **more,
    }


def test_medians_loss_and_rtt_beside_the_baseline(plan: Plan) -> None:
    tally = Tally()
    for rate_bps in (1e6, 2e6, 90e6):
        tally.add(pair(rate_bps))
    record = tally.as_record()
    assert (record["probe_goodput_median_bps"], record["data_goodput_median_bps"]) == (1e6, 2e6)
    assert (record["data_retransmission_rate"], record["bytes"]) == (0.01, 6000)
    assert record["baseline_rtt_mean_s"] == pytest.approx(0.213)
    text = tally.summary(plan, "run1", "complete", None)
    assert text.splitlines() == [
        "complete: 3 of 3 pairs finished, 6 kB of payload",
        "  probe: median throughput 1 Mbit/s, 1 % of segments retransmitted, mean RTT 220 ms (idle: 213 ms)",
        "  data: median throughput 2 Mbit/s, 1 % of segments retransmitted, mean RTT 220 ms (idle: 213 ms)",
        "wrote: run1",
        "next:  vmtrace report run1",
    ]


def test_trouble_is_reported(plan: Plan) -> None:
    tally = Tally()
    dropping = transfer(
        1e6, sender_dropped=5, receiver_dropped=None, sender_error=None, receiver_error="no such interface"
    )
    tally.add(pair(1e6, data=dropping, clock_step_s=-1.5))
    tally.add({"status": "failed", "rtt": None, "probe": None, "data": None})
    text = tally.summary(plan, "run1", "interrupted", "given up")
    for words in (
        "interrupted: 2 of 3 pairs finished, 2 kB of payload (given up)",
        "5 packets not recorded at the sender: later captures had a larger buffer",
        "1 capture failed",
        "the clock was set during 1 pair:",
        "1 pair failed",
        "next:  vmtrace send --resume run1 --key-file FILE",
        "       vmtrace report run1",
    ):
        assert words in text


def test_what_was_not_measured_is_null_and_not_told(plan: Plan) -> None:
    tally = Tally()
    record = tally.as_record()
    names = ("probe_goodput_median_bps", "data_retransmission_rate", "data_srtt_mean_s", "baseline_rtt_mean_s")
    assert [record[name] for name in names] == [None] * 4
    endless = dataclasses.replace(plan, repeat=None, duration_s=60.0)
    text = tally.summary(endless, "r", "interrupted", None)
    assert text.splitlines()[0] == "interrupted: 0 pairs finished, 0 B of payload"
    assert "vmtrace report" not in text


def test_a_transfer_by_time_has_all_its_bits_over_the_time_of_its_data(plan: Plan) -> None:
    tally = Tally()
    for rate_bps, duration_s in ((10e6, 0.5), (20e6, 9.5)):
        data = {**transfer(rate_bps), "bytes": round(rate_bps * duration_s / 8), "duration_s": duration_s}
        tally.add(pair(rate_bps, data=data))
    assert tally.as_record()["data_goodput_bps"] == pytest.approx(19.5e6)
    filled = dataclasses.replace(plan, repeat=None, duration_s=10.0, fill=True)
    lines = tally.summary(filled, "r", "complete", None).splitlines()
    assert lines[2].startswith("  data: throughput 19.5 Mbit/s (24.38 MB in 10 s), 1 % of segments retransmitted")
