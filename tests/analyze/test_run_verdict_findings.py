"""Findings of a run, from transfers whose costs are known."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest

from tests.analyze.test_run_tables import results_of
from tests.analyze.verdicts import judged, with_verdicts
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.reports.run.changes.compare_runs import compare_runs
from vmtrace.analyze.reports.run.changes.document import document as comparison_document
from vmtrace.analyze.reports.run.changes.terminal import causes
from vmtrace.analyze.reports.run.document import document
from vmtrace.analyze.reports.run.page.verdict import run_verdict_part
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.verdict.findings import finding_lines, run_findings
from vmtrace.analyze.reports.run.verdict.judged import Cost, Judged, of_json
from vmtrace.analyze.reports.run.verdict.words import verdict_lines
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

WINDOW, LOSS = "receiver_window", "loss_recovery"


def costing(factor: str, confidence: float, *costs: tuple[str, str, float]) -> Judged:
    return replace(judged(factor, confidence), costs=tuple(Cost(*one) for one in costs))


@pytest.fixture
def results(small_run: Any) -> RunResults:
    """Four judged data transfers of 2 s each: three closed windows, one of them with losses too, and losses."""
    window = costing(WINDOW, 0.8, (WINDOW, "client_host", 0.5))
    both = costing(WINDOW, 0.9, (WINDOW, "client_host", 0.25), (LOSS, "path", 0.1))
    losses = costing(LOSS, 0.7, (LOSS, "path", 1.5))
    found = {(number, "data"): one for number, one in enumerate((window, window, both, losses), 1)}
    return with_verdicts(results_of(small_run), found, duration_s=2.0)  # type: ignore[arg-type]


def test_transfers_of_one_kind_are_one_finding_and_the_costliest_is_first(results: RunResults) -> None:
    first, second = (one.finding for one in run_findings(results))
    assert (first.kind, first.cost_s, first.share, first.owner) == (LOSS, 1.6, 0.2, "path")
    assert (second.kind, second.cost_s, second.share, second.owner) == (WINDOW, 1.25, 1.25 / 8, "client_host")
    assert first.sentence == "2 of 4 transfers: repairing losses took 1.60 s (20.0 % of the time)."
    assert (first.confidence, second.confidence) == (0.7, 0.9)
    assert first.remedy == KINDS[LOSS].remedy
    assert run_findings(results)[0].transfers == ((4, "data"), (3, "data"))


def test_a_kind_that_no_verdict_names_is_less_sure(results: RunResults) -> None:
    idle = costing(WINDOW, 0.9, ("slow_start", "path", 1.0))
    found = run_findings(with_verdicts(results, {(1, "data"): idle}, duration_s=2.0))
    assert [(one.finding.kind, one.finding.confidence, one.finding.evidence) for one in found] == [
        ("slow_start", 0.6, [])
    ]


def test_what_costs_next_to_nothing_is_left_out(results: RunResults) -> None:
    little = costing(WINDOW, 0.9, (WINDOW, "client_host", 0.019), (LOSS, "path", 0.021))
    found = run_findings(with_verdicts(results, {(1, "data"): little}, duration_s=2.0))
    assert [one.finding.kind for one in found] == [LOSS]


def test_terminal_page_and_document_say_the_same(results: RunResults) -> None:
    lines = finding_lines(results)
    assert lines[0] == (
        "1. 1.60 s (20.0 %): 2 of 4 transfers: repairing losses took 1.60 s (20.0 % of the time). Confidence 70.0 %."
    )
    assert [f"  {line}" for line in lines] == [
        line for line in verdict_lines(results) if line.startswith(("  1.", "  2."))
    ]
    assert run_verdict_part(results)[0] == Lines(tuple(lines))
    shown = json.loads(as_bytes(document([results], [results.choose(None)])))["runs"][0]["findings"]
    assert [(one["kind"], one["cost_s"], one["sentence"]) for one in shown] == [
        (one.finding.kind, one.finding.cost_s, one.finding.sentence) for one in run_findings(results)
    ]
    schema = load("vmtrace.run_report.1")
    for one in shown:
        jsonschema.validate(one, {"$ref": "#/$defs/run_finding", "$defs": schema["$defs"]})


def test_costs_are_kept_with_the_verdict() -> None:
    made = costing(WINDOW, 0.8, (WINDOW, "client_host", 0.5))
    assert of_json(made.as_json()) == made


def test_a_comparison_of_two_runs_prints_the_findings_of_both(results: RunResults) -> None:
    comparison = compare_runs(results, results)
    lines = list(causes(comparison))
    for word in ("before", "after"):
        assert [line.removeprefix(f"{word}: ") for line in lines if line.startswith(f"{word}: ")] == finding_lines(
            results
        )
    found = comparison_document(comparison)
    jsonschema.validate(json.loads(as_bytes(found)), load("vmtrace.runs_comparison.1"))
    assert [one["kind"] for one in found["before"]["findings"]] == [LOSS, WINDOW]
