"""Where the time of a message goes: parts that follow each other, and sum to its latency."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.queues_made import Made, stage
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.page import time_bar
from vmtrace.analyze.reports.queues.tables import reports_of
from vmtrace.analyze.reports.queues.time_parts import LATE, QUEUED, RECEIVING, SENDING, time_parts_of
from vmtrace.analyze.reports.queues.wire import measure


def test_a_message_is_late_sent_queued_and_received(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1, rate_per_s=1.0))
    run = made.send([0], 15, 25, due=10).receive([(0, 15, 10)], 40, 47).read()
    found = time_parts_of(Messages(run))
    assert found.messages == 1
    assert found.seconds == pytest.approx({LATE: 0.005, SENDING: 0.010, QUEUED: 0.015, RECEIVING: 0.007})


def test_a_call_that_waits_for_the_message_receives_from_its_acknowledgement_on(tmp_path: Path) -> None:
    run = Made(tmp_path / "run", stage(messages=1)).send([0], 10, 20).receive([(0, 10, None)], 0, 26).read()
    found = time_parts_of(Messages(run))
    assert found.seconds == pytest.approx({LATE: 0.0, SENDING: 0.010, QUEUED: 0.0, RECEIVING: 0.006})


def test_a_message_that_comes_before_its_acknowledgement_has_no_time_in_the_queue(tmp_path: Path) -> None:
    run = Made(tmp_path / "run", stage(messages=1)).send([0], 10, 90).receive([(0, 10, None)], 5, 30).read()
    found = time_parts_of(Messages(run))
    assert found.seconds == pytest.approx({LATE: 0.0, SENDING: 0.020, QUEUED: 0.0, RECEIVING: 0.0})


def test_messages_over_a_break_or_before_they_were_sent_have_no_parts(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=2), sessions=2)
    made.send([0, 1], 10, 20)
    made.receive([(0, 10, None)], 5, 9)
    run = made.receive([(1, 10, None)], 5000, 5010, session=2).read()
    assert time_parts_of(Messages(run)).messages == 0
    report = reports_of([(run, measure(run))])[0]
    assert time_bar(report, named=False) is None


@given(st.lists(st.tuples(*(st.integers(1, 500) for _ in range(5))), min_size=1, max_size=8))
def test_parts_sum_to_the_latency_and_none_is_negative(
    tmp_path_factory: pytest.TempPathFactory, times: list[tuple[int, ...]]
) -> None:
    made = Made(tmp_path_factory.mktemp("parts") / "run", stage(messages=len(times), rate_per_s=1.0))
    latency_ms = 0
    for number, (due, late, call, opened, took) in enumerate(times):
        sent = due + late
        made.send([number], sent, sent + call, due=due)
        end = max(sent, opened) + took
        made.receive([(number, sent, due)], opened, end)
        latency_ms += end - due
    found = time_parts_of(Messages(made.read()))
    assert found.messages == len(times)
    assert min(found.seconds.values()) >= 0
    assert found.total_s == pytest.approx(latency_ms / 1e3)


def test_the_bar_shows_each_part_with_its_mean(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1))
    run = made.send([0], 10, 20).receive([(0, 10, None)], 0, 30).stage_ended().read()
    bar = time_bar(reports_of([(run, measure(run))])[0], named=False)
    assert bar is not None
    assert [(part.name, part.text) for part in bar.parts] == [
        ("send call", "50.0 %, 10.0 ms each"),
        ("receive call", "50.0 %, 10.0 ms each"),
    ]
    assert sum(part.share for part in bar.parts) == pytest.approx(1)
