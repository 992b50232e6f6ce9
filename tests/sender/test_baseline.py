"""The baseline: ICMP where it works, TCP handshakes where not, each echo written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.sender.fakes import FastInterruption
from vmtrace.sender.baseline import Baseline, RoundTrips, baseline_of
from vmtrace.sender.ping import Echo
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.wire.endpoint import Endpoint

NewRun = Callable[..., RunFolder]


@dataclass
class Scripted:
    """Echoes with these times, then 5 ms each."""

    method: str
    times_s: list[float | None] = field(default_factory=list)
    sent: int = 0
    closed: bool = False

    def echo(self) -> Echo:
        self.sent += 1
        return Echo(self.sent, self.times_s.pop(0) if self.times_s else 0.005)

    def close(self) -> None:
        self.closed = True


def forbidden() -> Scripted:
    raise PermissionError("Operation not permitted")


def test_ten_echoes_come_first_and_three_before_each_pair(new_run: NewRun) -> None:
    folder, interruption, icmp = new_run(), FastInterruption(), Scripted("icmp", [0.001, None, 0.003])
    baseline = Baseline(lambda: icmp, lambda: Scripted("tcp"), folder, interruption, 0.2)
    first = baseline.before(1)
    assert (first.method, first.sent, first.lost, first.min_s, first.max_s) == ("icmp", 10, 1, 0.001, 0.005)
    assert first.mean_s == pytest.approx((0.001 + 0.003 + 7 * 0.005) / 9)
    assert interruption.slept == [0.2] * 9
    assert baseline.before(2).sent == 3
    baseline.close()
    assert icmp.closed


@pytest.mark.parametrize("filtered", [True, False])
def test_where_icmp_is_forbidden_or_filtered_few_handshakes_are_made(new_run: NewRun, filtered: bool) -> None:
    folder, tcp, silent = new_run(), Scripted("tcp"), Scripted("icmp", [None] * 10)
    baseline = Baseline((lambda: silent) if filtered else forbidden, lambda: tcp, folder, FastInterruption(), 0.2)
    assert baseline.before(1) == RoundTrips("tcp", 3, 0, 0.005, 0.015 / 3, 0.005)
    assert baseline.before(2).sent == 1
    assert tcp.sent == 4
    lines = [json.loads(line) for line in (folder.path / "ping.jsonl").read_text().splitlines()]
    assert [line["method"] for line in lines] == ["icmp"] * (10 if filtered else 0) + ["tcp"] * 4
    assert all(line["rtt_s"] is None for line in lines if line["method"] == "icmp")
    assert silent.closed is filtered


def test_when_nothing_comes_back_there_are_no_times(new_run: NewRun) -> None:
    baseline = Baseline(forbidden, lambda: Scripted("tcp", [None] * 3), new_run(), FastInterruption(), 0.2)
    assert baseline.before(1).as_record() == {
        "method": "tcp",
        "sent": 3,
        "lost": 3,
        "min_s": None,
        "mean_s": None,
        "max_s": None,
    }


def test_the_real_one_measures_the_way_to_this_machine_or_says_that_it_was_lost(new_run: NewRun) -> None:
    baseline = baseline_of(Endpoint("127.0.0.1", 1), "127.0.0.1", new_run(), FastInterruption(), 0.2)
    trips = baseline.before(1)
    baseline.close()
    # Nobody listens at port 1: without the right to ICMP all is lost.
    assert (trips.method, trips.lost) in {("icmp", 0), ("tcp", 3)}
