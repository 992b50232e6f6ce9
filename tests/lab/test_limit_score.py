"""Limiting factors are scored by time, with a round trip's grace at the edges."""

from __future__ import annotations

from vmtrace.lab.accuracy.limit_score import TimeScore, Told, score, table, told_of
from vmtrace.lab.accuracy.limit_truth import Known

MS = 1_000_000


def test_time_is_right_where_any_of_the_true_names_was_reported() -> None:
    known = [Known(0, 100 * MS, ("slow_start",)), Known(100 * MS, 300 * MS, ("token_bucket", "loss_recovery"))]
    shown = [Told(0, 100 * MS, "slow_start"), Told(100 * MS, 300 * MS, "loss_recovery")]
    assert score(known, shown, 0).share == 1.0


def test_a_change_seen_within_a_round_trip_is_right_but_not_strictly() -> None:
    known = [Known(0, 100 * MS, ("slow_start",)), Known(100 * MS, 120 * MS, ("application",))]
    known += [Known(120 * MS, 300 * MS, ("application",))]
    late = [Told(0, 120 * MS, "slow_start"), Told(120 * MS, 300 * MS, "application")]
    result = score(known, late, 20 * MS)
    assert (result.share, result.strictly_right_ns) == (1.0, 280 * MS)


def test_what_is_wrong_for_longer_is_wrong() -> None:
    known = [Known(0, 100 * MS, ("slow_start",)), Known(100 * MS, 200 * MS, ("application",))]
    result = score(known, [Told(0, 200 * MS, "slow_start")], 20 * MS)
    assert result.share == 0.6
    assert result.time_ns["application", "slow_start"] == 80 * MS
    assert table(result).splitlines()[2:] == ["| application | 0.1 | 0% |", "| slow_start | 0.1 | 100% |"]


def test_time_of_which_nothing_is_reported_is_not_right() -> None:
    known = [Known(0, 100 * MS, ("slow_start",)), Known(100 * MS, 200 * MS, ("application",))]
    result = score(known, [Told(50 * MS, 100 * MS, "slow_start")], 0)
    assert (result.share, result.time_ns["application", "nothing"]) == (0.25, 100 * MS)
    assert score(known, [], 0).share == 0


def test_a_capture_elsewhere_is_brought_to_the_senders_time() -> None:
    direction = {"limit_intervals": [{"start_ns": 50, "end_ns": 90, "factor": "setup"}]}
    assert told_of(direction, 20) == [Told(30, 70, "setup")]
    assert told_of({}, 20) == []


def test_scores_add_up() -> None:
    total = TimeScore()
    assert total.share is None
    for _ in range(2):
        total.add(score([Known(0, MS, ("idle",))], [Told(0, MS, "idle")], 0))
    assert (total.all_ns, total.right_ns) == (2 * MS, 2 * MS)
