"""The verdict on pairs and on a run, from transfers whose verdicts are known."""

import json
from dataclasses import replace
from io import StringIO
from typing import Any

import jsonschema
import pytest
from rich.console import Console

from tests.analyze.pages import words
from tests.analyze.test_run_tables import results_of
from tests.analyze.verdicts import judged, what_if, with_verdicts
from vmtrace.analyze.reports.run.document import document
from vmtrace.analyze.reports.run.human import show
from vmtrace.analyze.reports.run.page.answer import answer
from vmtrace.analyze.reports.run.page.verdict import run_verdict_part
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.judged import WhatIf
from vmtrace.analyze.reports.run.verdict.of_pair import pair_verdicts
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict, run_verdicts
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

WINDOW, LOSS = "receiver_window", "loss_recovery"


@pytest.fixture
def results(small_run: Any) -> RunResults:
    """Eight captured pairs whose transfers have no verdicts yet."""
    return results_of(small_run)


def data(results: RunResults, *factors: tuple[str, float] | None, **more: Any) -> RunResults:
    """The run with a verdict on the data transfer of each pair, all transfers as long; the rest cannot be judged."""
    verdicts = {
        (number, "data"): judged(one[0], one[1], undetermined_between=more.get("between", ()) if one[1] < 0.6 else ())
        for number, one in enumerate(factors, 1)
        if one is not None
    }
    return with_verdicts(results, verdicts, duration_s=2.0)  # type: ignore[arg-type]


def test_the_factor_of_most_time_is_the_run_s_and_says_how_many_transfers_it_limited(results: RunResults) -> None:
    run = data(results, *[(WINDOW, 0.9)] * 7, (LOSS, 0.8))
    found = run_verdict(run)
    assert (found.factor, found.runner_up, found.share) == (WINDOW, LOSS, 7 / 8)
    assert found.sentence.startswith("The receiver's window limited 7 of 8 judged transfers (87.5 % of their")
    assert found.confidence == 0.9, "no surer than the verdicts on its transfers"
    assert (found.transfers, found.judged, found.left_open) == (16, 8, 0)
    whole, probe, of_data = run_verdicts(run)
    assert (probe.factor, probe.reason) == (
        None,
        "no transfer has enough packets in a capture to judge what limited it",
    )
    assert (of_data.factor, of_data.transfers) == (WINDOW, 8)
    assert whole.scope == "all"


def test_losses_are_one_cause_whichever_factor_shows_them(results: RunResults) -> None:
    run = data(results, *[("congestion_window", 0.9)] * 3, *[(LOSS, 0.9)] * 2, *[(WINDOW, 0.9)] * 3)
    transfers = tuple(replace(one, measures=replace(one.measures, loss_rate=0.01)) for one in run.transfers)
    found = run_verdict(replace(run, transfers=transfers))
    assert (found.factor, found.share) == ("congestion_window", 5 / 8)
    assert found.sentence.startswith("Losses, which kept the congestion window small, limited 5 of 8 judged transfers")
    slow = tuple(replace(one, measures=replace(one.measures, loss_rate=0.0)) for one in run.transfers)
    assert run_verdict(replace(run, transfers=slow)).share == 3 / 8, "without losses it is another cause"


def test_transfers_count_by_how_long_they_took(results: RunResults) -> None:
    found = with_verdicts(
        results, {(1, "data"): judged(LOSS), (2, "data"): judged(WINDOW), (3, "data"): judged(WINDOW)}
    )
    # The data transfer of pair n of `RunMaker.pairs` takes 0.2 s / n: the first as long as the next two are not.
    assert run_verdict(found).factor == LOSS
    assert run_verdict(found).share == pytest.approx(1 / (1 + 1 / 2 + 1 / 3))


def test_two_factors_that_lead_in_turn_leave_the_run_undetermined_and_both_are_named(results: RunResults) -> None:
    found = run_verdict(data(results, *[(WINDOW, 0.9), (LOSS, 0.9)] * 4))
    assert found.is_open
    assert set(found.undetermined_between) == {WINDOW, LOSS}
    assert found.sentence.startswith("Undecided: ")
    assert found.sentence.endswith("More pairs would decide.")


def test_time_that_is_left_open_competes_as_a_factor_does(results: RunResults) -> None:
    found = run_verdict(data(results, (WINDOW, 0.9), *[(LOSS, 0.5)] * 7, between=(LOSS, "slow_start")))
    assert found.is_open
    assert found.left_open == 7
    assert found.reason == "more time is undecided than any factor has"
    assert found.sentence.endswith("Captures at both sides, or longer transfers would decide.")
    assert set(found.undetermined_between) == {LOSS, "slow_start"}


def test_verdicts_all_left_open_have_no_factor(results: RunResults) -> None:
    found = run_verdict(data(results, *[(LOSS, 0.5)] * 8))
    assert (found.factor, found.confidence, found.reason) == (None, None, "every verdict is undecided")
    assert "is undecided between repairing losses" in found.sentence


def test_a_run_of_which_few_transfers_can_be_judged_is_undetermined(results: RunResults) -> None:
    found = run_verdicts(data(results, *[(WINDOW, 0.9)] * 3))[2]
    assert (found.confidence, found.reason) == (0.5, "only 3 of 8 transfers long enough to judge")
    assert "Captures of all transfers, long enough to judge, would decide" in found.sentence


def test_evidence_names_pair_capture_and_frames_of_the_factor_and_of_the_runner_up(results: RunResults) -> None:
    found = run_verdict(data(results, *[(WINDOW, 0.9)] * 6, (LOSS, 0.8), (LOSS, 0.8)))
    assert [one.text for one in found.evidence] == [f"{WINDOW}: 1 interval"] * 5 + [f"{LOSS}: 1 interval"] * 2
    first = found.evidence[0]
    assert (first.sequence, first.role, first.frames) == (1, "data", (3, 9))
    assert first.file == "packets/sender/0001-data.pcap"
    assert first.display_filter == "frame.number in {3, 9}"


def test_what_would_help_is_predicted_over_the_run_and_what_it_says_nothing_of_stays(results: RunResults) -> None:
    verdicts = {
        (number, "data"): judged(WINDOW, what_if=(what_if("twice the receiver's window", 0.5),)) for number in (1, 2)
    }
    run = with_verdicts(results, verdicts, duration_s=1.0, bytes=1_000_000)  # type: ignore[arg-type]
    found = run_verdict(run)
    assert found.goodput_bps == pytest.approx(8e6)
    (change,) = found.what_if
    assert (change.change, change.transfers) == ("twice the receiver's window", 2)
    assert change.goodput_bps == pytest.approx(8e6 * 16 / 15), "two of sixteen transfers take half as long"
    assert change.low_bps == pytest.approx(change.goodput_bps), "no ends are known"
    assert change.high_bps is None
    several = with_verdicts(results, verdicts, duration_s=1.0, streams=2)  # type: ignore[arg-type]
    assert run_verdict(several).what_if == ()


def test_a_prediction_over_the_run_has_all_transfers_at_one_end_of_their_intervals(results: RunResults) -> None:
    one = WhatIf("no loss", 2e6, 0.5, low_bps=1.25e6, high_bps=4e6)
    run = with_verdicts(
        results,
        {(1, "data"): judged(LOSS, what_if=(one,))},
        duration_s=1.0,
        bytes=1_000_000,
    )
    (change,) = run_verdict(run).what_if
    assert change.goodput_bps == pytest.approx(8e6 * 16 / 15.5), "one of sixteen transfers takes half as long"
    assert change.low_bps == pytest.approx(8e6 * 16 / 15.8)
    assert change.high_bps == pytest.approx(8e6 * 16 / 15.25)


def test_what_would_help_against_the_factor_comes_first_though_another_change_would_bring_more(
    results: RunResults,
) -> None:
    own = judged(WINDOW, what_if=(what_if("twice the receiver's window", 0.9), what_if("no stalls", 0.2)))
    run = with_verdicts(results, {(number, "data"): own for number in range(1, 9)}, duration_s=1.0)
    found = run_verdict(run)
    assert [one.change for one in found.what_if] == ["twice the receiver's window", "no stalls"]
    assert "With twice the receiver's window the run would have reached" in found.sentence


@pytest.mark.parametrize("duration_s", [0.0, 5e-305])
def test_a_time_that_no_bytes_fit_in_has_no_rate(results: RunResults, duration_s: float) -> None:
    found = run_verdict(with_verdicts(results, {(1, "data"): judged(WINDOW)}, duration_s=duration_s))
    assert found.goodput_bps is None


def test_what_was_lost_is_summed_by_factor_beside_the_verdict(results: RunResults) -> None:
    limits = {(1, "data"): {WINDOW: [1.0, 300.0], "slow_start": [1.0, 700.0], "idle": [9.0, 5000.0]}}
    found = run_verdict(with_verdicts(results, {(1, "data"): judged(WINDOW)}, limits))  # type: ignore[arg-type]
    shares = {one.factor: one.lost_share for one in found.factors}
    assert shares == {WINDOW: 0.3, "slow_start": 0.7, "idle": None}


def test_a_pair_says_whether_the_probe_was_limited_by_the_same(results: RunResults) -> None:
    run = with_verdicts(
        results,
        {
            (1, "probe"): judged(WINDOW), (1, "data"): judged(WINDOW),
            (2, "probe"): judged("slow_start"), (2, "data"): judged(WINDOW),
            (3, "data"): judged(WINDOW), (4, "probe"): judged("setup"),
            (5, "probe"): judged("setup", 0.4), (5, "data"): judged(LOSS),
        },
        {(1, "data"): {WINDOW: [1.0, 300.0]}, (1, "probe"): {"setup": [1.0, 100.0], "idle": [1.0, 50.0]}},
    )  # fmt: skip
    same, other, alone, probe_only, open_probe, *_, neither = pair_verdicts(run)
    assert (same.factor, same.limited_alike) == (WINDOW, True)
    assert same.sentence.endswith("The probe was limited by the same.")
    assert {one.factor: one.lost_share for one in same.factors} == {WINDOW: 0.75, "setup": 0.25}
    assert [one.role for one in same.evidence] == ["data", "probe"]
    assert other.limited_alike is False
    assert "something else, slow start: its throughput says little of the data transfer's" in other.sentence
    assert (alone.limited_alike, alone.probe_factor) == (None, None)
    assert (probe_only.factor, probe_only.confidence) == ("setup", 0.9)
    assert open_probe.limited_alike is None
    assert "What limited the probe is undecided" in open_probe.sentence
    assert (neither.factor, neither.reason) == (None, "too few packets to judge")


def test_the_verdict_comes_first_in_the_answer_and_in_the_page_and_json_is_as_the_schema_says(
    results: RunResults,
) -> None:
    run = data(results, *[(WINDOW, 0.9)] * 8)
    console = Console(width=100, record=True, file=StringIO())
    show(run, console)
    text = console.export_text()
    assert text.index("verdict: The receiver's window limited 8 of 8") < text.index("median RTT")
    assert "see pair 1 data (packets/sender/0001-data.pcap)" in text
    page = words(answer([run], None))
    assert page.startswith("The receiver's window limited 8 of 8 judged transfers")
    page = words(run_verdict_part(run))
    assert "frame.number in {3, 9}" in page
    content = json.loads(as_bytes(document([run], [run.choose(None)])))
    jsonschema.validate(content, load("vmtrace.run_report.1"))
    (written,) = content["runs"]
    assert written["verdict"]["factor"] == WINDOW
    assert written["verdict"]["by_role"]["probe"]["factor"] is None
    assert [one["factor"] for one in written["pair_verdicts"]] == [WINDOW] * 8


def test_a_run_without_captures_says_so_in_the_page_and_nothing_in_the_answer(new_run: Any) -> None:
    bare = new_run()
    bare.pairs(2, captured=False)
    run = results_of(bare)
    assert "no transfer has enough packets in a capture" in words(answer([run], None))
    console = Console(width=100, record=True, file=StringIO())
    show(run, console)
    assert "verdict:" not in console.export_text()
