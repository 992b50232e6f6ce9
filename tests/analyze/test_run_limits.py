"""What limited the transfers of a run, taken together."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests import golden_texts
from tests.analyze.pages import words
from tests.analyze.test_run_tables import results_of
from vmtrace.analyze.reports.run.limits import LimitRow, limit_rows, limit_sentences
from vmtrace.analyze.reports.run.page.verdict import limits_part
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict


def judged(
    results: RunResults, verdicts: list[tuple[str, str | None, float, dict[str, list[float | None]]]]
) -> RunResults:
    """The run with these verdicts in place of its own: role, factor, confidence, limits; the rest is not judged."""
    waiting = list(verdicts)
    transfers = []
    for one in results.transfers:
        found = next((verdict for verdict in waiting if verdict[0] == one.transfer.role), None)
        measures = replace(one.measures, verdict_factor=None, verdict_confidence=None, limits=None)
        if found is not None:
            waiting.remove(found)
            _, factor, confidence, limits = found
            measures = replace(
                measures, verdict_factor=factor, verdict_confidence=confidence, limits=json.dumps(limits)
            )
        transfers.append(replace(one, measures=measures))
    assert not waiting
    return replace(results, transfers=tuple(transfers))


@pytest.fixture
def results(small_run: Any) -> RunResults:
    return judged(
        results_of(small_run),
        [
            ("data", "receiver_window", 0.9, {"receiver_window": [3.0, 600], "slow_start": [1.0, 100]}),
            ("data", "slow_start", 0.5, {"receiver_window": [1.0, 200], "idle": [5.0, 9000], "setup": [1.0, None]}),
        ],
    )


def test_times_and_losses_are_summed_by_factor_and_waiting_for_the_other_side_is_no_loss(results: RunResults) -> None:
    rows = {row.factor: row for row in limit_rows(results)}
    assert set(rows) == {"receiver_window", "slow_start", "idle", "setup"}
    window = rows["receiver_window"]
    assert window == LimitRow("data", "receiver_window", 1, 2, 4.0, 4 / 11, 800, 8 / 9)
    assert rows["idle"].lost_share is None
    assert rows["idle"].time_share == 5 / 11


def test_what_no_transfer_tells_was_lost_is_not_known_and_not_nothing(results: RunResults) -> None:
    setup = next(row for row in limit_rows(results) if row.factor == "setup")
    assert (setup.lost_bytes, setup.lost_share) == (None, None)
    assert setup.time_share == 1 / 11
    shown = next(one for one in run_verdict(results).factors if one.factor == "setup")
    assert (shown.lost_bytes, shown.lost_share) == (None, None)


def test_a_verdict_left_open_is_judged_and_is_no_factors(results: RunResults) -> None:
    rows = {row.factor: row for row in limit_rows(results)}
    assert (rows["slow_start"].first_in, rows["slow_start"].judged) == (0, 2)
    assert list(limit_sentences(limit_rows(results))) == [
        "data: receiver window limited 1 of 2 transfers and cost 88.9 % of the shortfall"
    ]


def test_all_verdicts_left_open_are_reported_so(small_run: Any) -> None:
    run = judged(results_of(small_run), [("probe", "setup", 0.4, {"setup": [1.0, 5]})])
    assert list(limit_sentences(limit_rows(run))) == ["probe: what limited the transfers is undecided in all 1 of them"]


def test_the_page_says_where_nothing_can_be_judged(small_run: Any) -> None:
    assert "enough packets" in words(limits_part(judged(results_of(small_run), [])))


def test_the_page_has_sentence_and_numbers(results: RunResults) -> None:
    page = words(limits_part(results))
    golden_texts.check("the-page-has-sentence-and-numbers", page)
