"""Latency from due and from send, lateness, and both along the run; quantiles to three digits."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.queues_made import Made, at, stage
from vmtrace.analyze.reports.queues.latency import clock_error_s, latency_rows, lateness_rows
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.over_time import period_rows
from vmtrace.analyze.reports.queues.quantiles import curve, quantiles


@given(st.lists(st.floats(1e-3, 1000), min_size=1, max_size=300))
def test_quantiles_are_right_to_three_digits(times: list[float]) -> None:
    found = quantiles(np.array(times))
    ordered = sorted(times)
    assert (found.n, found.min_s, found.max_s) == (len(times), ordered[0], ordered[-1])
    for value, share in ((found.p50_s, 0.5), (found.p90_s, 0.9), (found.p99_s, 0.99)):
        exact = ordered[max(0, int(share * len(times) + 0.5) - 1)]  # the nearest rank
        assert value == pytest.approx(exact, rel=2e-3)


def test_no_sample_has_no_quantiles() -> None:
    found = quantiles(np.empty(0))
    assert (found.n, found.p50_s, found.max_s) == (0, None, None)


def test_a_curve_rises() -> None:
    heights = curve(np.arange(1, 1001) / 1000, [10, 50, 99])
    assert heights == pytest.approx([0.1, 0.5, 0.99], rel=2e-3)


def test_latency_is_from_due_and_from_the_send_call(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=2, rate_per_s=10.0))
    made.send([0], 3, 8, due=0).send([1], 130, 140, due=100)
    made.receive([(0, 3, 0)], 5, 20).receive([(1, 130, 100)], 130, 160)
    due, sent = latency_rows(Messages(made.read()))
    assert (due.from_, sent.from_, due.quantiles.n) == ("due", "sent", 2)
    assert due.quantiles.max_s == pytest.approx(0.060)
    assert sent.quantiles.min_s == pytest.approx(0.017)
    assert sent.quantiles.max_s == pytest.approx(0.03)


def test_only_the_first_delivery_counts(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1))
    made.send([0], 0, 5).receive([(0, 0, None)], 5, 10).receive([(0, 0, None)], 30_000, 31_000)
    _, sent = latency_rows(Messages(made.read()))
    assert sent.quantiles.n == 1
    assert sent.quantiles.max_s == pytest.approx(0.010)


def test_as_fast_as_possible_has_no_due_time_and_says_so(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=1)).send([0], 0, 5).receive([(0, 0, None)], 5, 10)
    due, _ = latency_rows(Messages(made.read()))
    assert due.quantiles.n == 0
    assert due.reason is not None
    assert "nothing was due" in due.reason


def test_messages_over_a_break_and_before_their_send_are_left_out_and_counted(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=3), sessions=2, clock_moved_s=0.25)
    made.send([0], 0, 5).send([1], 10, 15).send([2], 20, 25)
    made.receive([(0, 0, None)], 5, 10, session=2).receive([(1, 10, None)], 5, 9).receive([(2, 20, None)], 25, 30)
    run = made.read()
    _, sent = latency_rows(Messages(run))
    assert (sent.quantiles.n, sent.left_out_over_break, sent.left_out_negative) == (1, 1, 1)
    assert clock_error_s(Messages(run)) == 0.25


def test_messages_that_wait_on_purpose_have_no_latency(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(kind="put", messages=1), stage(kind="take", messages=0))
    made.send([0], 0, 5).receive([(0, 0, None)], 5000, 5010, role="taker", stage=2)
    assert all(row.quantiles.n == 0 for row in latency_rows(Messages(made.read())))


def test_lateness_is_after_due_and_after_the_sender_was_free(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=2, rate_per_s=100.0))
    made.send([0], 1, 50, due=0).send([1], 52, 60, due=10)
    due, free = lateness_rows(Messages(made.read()))
    assert due.quantiles.min_s == pytest.approx(0.001)
    assert due.quantiles.max_s == pytest.approx(0.042)
    assert free.quantiles.max_s == pytest.approx(0.002)


def test_a_batch_is_late_after_its_last_message_was_due(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=2, rate_per_s=10.0, send_batch=2))
    record = {"operation": "send", "start_ns": at(101), "end_ns": at(110), "sent_ns": at(101), "numbers": [0, 1],
              "due_ns": [at(0), at(100)], "requests": 1}  # fmt: skip
    made.line("sender", record)
    due, _ = lateness_rows(Messages(made.read()))
    assert due.quantiles.max_s == pytest.approx(0.001)


def test_bins_hold_what_was_sent_and_what_came_in_them(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(messages=3, rate_per_s=1.0))
    for number in range(3):
        made.send([number], 1000 * number, 1000 * number + 5, due=1000 * number)
    made.receive([(0, 0, 0), (1, 1000, 1000)], 1200, 1500).receive([(2, 2000, 2000)], 2000, 2100)
    made.delete([0, 1], 1600, 1700)
    rows = period_rows(Messages(made.read()))
    assert [(row.sent, row.delivered, row.deleted) for row in rows][:3] == [(1, 0, 0), (1, 2, 2), (1, 1, 0)]
    assert [row.from_due.max_s for row in rows][:3] == [None, pytest.approx(1.5), pytest.approx(0.1)]


def test_an_empty_run_has_no_bins(tmp_path: Path) -> None:
    assert period_rows(Messages(Made(tmp_path / "run", stage()).read())) == []
