"""What changed between runs about what limited them."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tests.analyze.pages import words
from tests.analyze.test_run_tables import results_of
from tests.analyze.verdicts import judged, with_verdicts
from vmtrace.analyze.reports.run.changes.columns import columns, names, rows
from vmtrace.analyze.reports.run.changes.compare_runs import compare_runs
from vmtrace.analyze.reports.run.changes.document import document as changes_document
from vmtrace.analyze.reports.run.document import document
from vmtrace.analyze.reports.run.page.verdict import changes_part
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.of_set import verdict_change, verdict_changes
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

WINDOW, BANDWIDTH = "receiver_window", "bottleneck_bandwidth"


def limited(new_run: Any, name: str, factor: str, share: float, confidence: float = 0.9) -> RunResults:
    """Eight pairs of one index whose data transfers are limited by the factor for about that share of their time."""
    made = new_run(name)
    made.plan(("I_0", 8, 10_000, 50_000))
    made.pairs(8)
    verdicts = {(number, "data"): judged(factor, confidence) for number in range(1, 9)}
    limits = {
        (number, "data"): {factor: [share + number / 100, 10.0], "slow_start": [1 - share - number / 100, 1.0]}
        for number in range(1, 9)
    }
    found = with_verdicts(results_of(made), verdicts, limits)  # type: ignore[arg-type]
    return replace(found, run=replace(found.run, name=name))


@pytest.fixture
def runs(new_run: Any) -> tuple[RunResults, RunResults]:
    return limited(new_run, "old", WINDOW, 0.8), limited(new_run, "new", BANDWIDTH, 0.6)


def test_another_limit_is_reported_with_the_shares_of_time_that_changed(runs: tuple[RunResults, RunResults]) -> None:
    (found,) = verdict_changes(runs)
    assert (found.factor_before, found.factor_after, found.changed) == (WINDOW, BANDWIDTH, True)
    assert {one.factor: one.change for one in found.factors} == {
        WINDOW: "lower", BANDWIDTH: "higher", "slow_start": "higher",
    }  # fmt: skip
    assert found.sentence.startswith(
        "Another limit: old: the receiver's window (100 % of the time); "
        "new: the bottleneck bandwidth (100 % of the time)."
    )
    assert (
        "Time limited by the receiver's window in data transfers: -84 [-87, -83] percentage points." in found.sentence
    )


def test_the_same_limit_is_no_change_and_no_share_is_called_changed(new_run: Any) -> None:
    same = limited(new_run, "a", WINDOW, 0.8), limited(new_run, "b", WINDOW, 0.8)
    (found,) = verdict_changes(same)
    assert found.changed is False
    assert found.established == []
    assert found.sentence.startswith("The same limit: ")
    assert found.sentence.endswith("No change of any factor's share of time is established.")


def test_a_verdict_left_open_leaves_the_change_open(new_run: Any) -> None:
    (found,) = verdict_changes((limited(new_run, "a", WINDOW, 0.8), limited(new_run, "b", WINDOW, 0.8, 0.5)))
    assert (found.changed, found.factor_after) == (None, None)
    assert found.sentence.startswith("Whether the limit changed is undecided: ")


def test_runs_without_captures_have_too_little_to_compare(new_run: Any) -> None:
    made = [new_run(name) for name in ("a", "b")]
    for one in made:
        one.pairs(8, captured=False)
    (found,) = verdict_changes([results_of(one) for one in made])
    assert found.factors == ()
    assert "Too little was measured in both" in found.sentence


def test_one_run_alone_has_nothing_to_be_compared_with(runs: tuple[RunResults, RunResults]) -> None:
    assert verdict_changes(runs[:1]) == []
    assert changes_part(runs[:1]) == ()


def test_reports_and_comparisons_write_it_as_their_schemas_say(runs: tuple[RunResults, RunResults]) -> None:
    content = json.loads(as_bytes(document(runs, [run.choose(None) for run in runs])))
    jsonschema.validate(content, load("vmtrace.run_report.1"))
    (change,) = content["verdict_changes"]
    assert (change["before"], change["after"], change["changed"]) == ("old", "new", True)
    compared = json.loads(as_bytes(changes_document(compare_runs(*runs))))
    jsonschema.validate(compared, load("vmtrace.runs_comparison.1"))
    assert compared["verdicts"]["factor_after"] == BANDWIDTH
    assert "Another limit" in words(changes_part(runs))


def test_compare_runs_tests_every_factor_that_a_run_has_and_thresholds_can_ask_for_it(
    runs: tuple[RunResults, RunResults],
) -> None:
    comparison = compare_runs(*runs)
    asked = {one.metric for one in comparison.changes if one.metric.startswith("limited_by_") and one.part == "data"}
    assert asked == {f"limited_by_{name}" for name in (WINDOW, BANDWIDTH, "slow_start")}
    assert "data_limited_by_receiver_window_difference" in names()
    found = columns(comparison)["data_limited_by_receiver_window_difference"]
    assert found[rows(comparison).index("I_0")] == pytest.approx(-0.845)
    assert {one.p_adjusted for one in verdict_change(comparison).factors} != {None}
