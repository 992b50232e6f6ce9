"""Hosts that were in step are summed step by step; others are not put together."""

from pathlib import Path
from typing import Any

import pytest

from tests.analyze.campaign_made import START_NS, campaign_of, folder_of, request
from vmtrace.analyze.reports.storage.campaign import Campaign
from vmtrace.analyze.reports.storage.surge_hosts import all_hosts

S_NS = 1_000_000_000
STEP_S = 10


def surge(folder: Path, rates_bps: dict[int, float], **more: Any) -> Campaign:
    """A host whose every thread moves that much, without a pause, in one step for each number of threads."""
    requests, steps = [], []
    for number, (threads, rate_bps) in enumerate(rates_bps.items(), 1):
        start_s = float(STEP_S * (number - 1))
        start_ns = START_NS + round(start_s) * S_NS
        steps.append(
            {"step": number, "round": 1, "threads": threads, "direction": "download", "start_ns": start_ns,
             "end_ns": start_ns + STEP_S * S_NS, "cost": None}
        )  # fmt: skip
        size_bytes = round(rate_bps * STEP_S / 8)
        requests += [
            request(start_s, rate_bps, bytes=size_bytes, step=number, threads=threads, thread=thread + 1)
            for thread in range(threads)
        ]
    return campaign_of(folder_of(folder, "surge", requests, steps, **{"surge_start_ns": START_NS, **more}))


def test_what_hosts_in_step_move_is_summed_by_threads_of_one(tmp_path: Path) -> None:
    one = surge(tmp_path / "a", {1: 8e6, 2: 6e6}, host="a")
    other = surge(tmp_path / "b", {1: 4e6, 2: 2e6}, host="b")
    rows = {row.threads: row for row in all_hosts([one, other])}
    assert {row.host for row in rows.values()} == {"all 2 hosts"}
    assert rows[1].combined_bps == pytest.approx(12e6)
    assert rows[2].combined_bps == pytest.approx(2 * 6e6 + 2 * 2e6)
    assert rows[1].per_thread_bps == pytest.approx(6e6)
    assert (rows[1].n, rows[2].n) == (2, 4)
    assert rows[2].limited_by is None


def test_a_step_that_one_host_does_not_have_is_left_out(tmp_path: Path) -> None:
    one, other = surge(tmp_path / "a", {1: 8e6, 2: 6e6}), surge(tmp_path / "b", {1: 4e6})
    assert [(row.threads, row.steps) for row in all_hosts([one, other])] == [(1, 1)]


@pytest.mark.parametrize(
    "more", [{"surge_start_ns": START_NS + S_NS}, {"plan": {"step_s": 60.0}}, {"surge_start_ns": None}]
)
def test_hosts_that_were_not_in_step_are_not_put_together(tmp_path: Path, more: dict[str, Any]) -> None:
    assert all_hosts([surge(tmp_path / "a", {1: 8e6}), surge(tmp_path / "b", {1: 4e6}, **more)]) == []


def test_one_host_is_not_all_hosts(tmp_path: Path) -> None:
    assert all_hosts([surge(tmp_path / "a", {1: 8e6})]) == []
