"""Ratios are of costs per packet, and a promise is kept or not."""

import pytest

from bench.measure import Cost
from bench.results import Figures, Promise, Row, promises, promises_table, table

MIB = 2**20


def row(capture: str, program: str, packets: int, cpu_s: float, *, whole: bool = True) -> Row:
    return Row(capture, program, packets, whole, Cost(wall_s=cpu_s, cpu_s=cpu_s, peak_bytes=10 * MIB))


def test_the_ratio_of_a_peer_on_a_prefix_is_per_packet() -> None:
    rows = [row("few", "vmtrace", 1_000_000, 0.1), row("few", "tshark conv,tcp", 1000, 0.01, whole=False)]
    last = table(rows).splitlines()[-1]
    assert last == "| few | tshark conv,tcp | 1,000 (the first) | 0.1 | 0.1 | 10 | 100.00 |"


@pytest.mark.parametrize(("bound", "measured", "kept"), [(">=", 3.0, True), (">=", 2.9, False), ("<=", 3.1, False)])
def test_a_promise_is_kept_up_to_its_limit(bound: str, measured: float, kept: bool) -> None:
    assert Promise("x", measured, bound, 3).kept is kept


def test_promises_need_their_measurements() -> None:
    rows = [row("few", "vmtrace", 1000, 1.0), row("few", "tcptrace -l -r -n", 1000, 4.0)]
    found = {promise.what: promise for promise in promises(Figures(rows, {}))}
    assert found["few: CPU of tcptrace -l -r -n / vmtrace"].measured == 4
    assert found["few: peak memory"].kept
    assert not any(what.startswith(("short", "many", "full")) for what in found)


def test_the_minimal_pass_of_the_same_run_bounds_the_cpu_time() -> None:
    rows = [row("few", "vmtrace", 1000, 1.0), row("few", "minimal pass", 1000, 0.25)]
    found = {promise.what: promise for promise in promises(Figures(rows, {}))}
    assert found["few: CPU of vmtrace / minimal pass"].measured == 4
    assert not any("tshark" in what or "per CPU-second" in what for what in found)


def test_speed_up_is_wall_time_on_one_processor_over_all() -> None:
    figures = Figures([row("many", "vmtrace", 1000, 1.0)], {"many": Cost(1.7, 1.7, MIB)})
    assert [promise.kept for promise in promises(figures) if promise.what.startswith("many")] == [True]


def test_a_broken_promise_is_seen_in_the_table() -> None:
    assert "| at least 3 | 2 | **no** |" in promises_table([Promise("x", 2.0, ">=", 3)])
