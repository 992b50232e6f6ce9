"""Findings of many captures: joined by kind and owner, each with the file that its frames are of."""

import pytest

from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.joined import OfCapture, joined, joined_lines, of_captures


def finding(kind: str, cost_s: float | None, connection: int = 1, confidence: float = 0.9) -> Finding:
    evidence = {"text": f"of {connection}", "frames": [connection], "display_filter": ""}
    return Finding(
        kind=kind,
        sentence=f"Connection {connection}: {kind}.",
        confidence=confidence,
        owner="path",
        remedy="",
        cost_s=cost_s,
        connections=[connection],
        evidence=[evidence],
    )


CAPTURES = (
    OfCapture("1.pcap", (finding("losses", 0.5), finding("health_checks", None)), 4.0),
    OfCapture("2.pcap", (finding("losses", 1.5, 7, 0.8),), 5.0),
    OfCapture("3.pcap", (finding("timeouts", 0.05),), 1.0),
)


def test_a_kind_of_several_captures_is_one_row_with_the_sum_of_its_costs() -> None:
    losses, without_cost = joined(CAPTURES, "transaction")
    assert (losses.kind, losses.cost_s, losses.share, losses.captures_count) == ("losses", 2.0, 0.2, 2)
    assert losses.sentence.startswith("2 of 3 transactions: ")
    assert (losses.confidence, losses.captures) == (0.9, ["2.pcap", "1.pcap"])
    assert [(one["file"], one["frames"]) for one in losses.evidence] == [("2.pcap", [7]), ("1.pcap", [1])]
    assert (without_cost.kind, without_cost.cost_s) == ("health_checks", None)


def test_what_costs_less_than_a_hundredth_of_all_time_is_left_out() -> None:
    assert [one.kind for one in joined(CAPTURES, "transaction")] == ["losses", "health_checks"]
    assert [one.kind for one in joined(CAPTURES[2:], "transaction")] == ["timeouts"]


def test_lines_are_those_of_every_command() -> None:
    first, *_ = joined_lines(joined(CAPTURES, "transaction"))
    assert first.startswith("1. 2.00 s (20.0 %): 2 of 3 transactions: ")
    assert first.endswith("Confidence 90.0 %.")
    assert joined_lines(joined((), "transaction")) == []


def test_findings_of_captures_read_together_go_to_the_capture_of_their_connections() -> None:
    found = [finding("losses", 0.5, 2), finding("timeouts", 0.2, 1)]
    first, second = of_captures(found, ([1, 2], [0, 1], [3.0, 2.5]), ["a.pcap", "b.pcap"])
    assert [one.kind for one in first.findings] == ["timeouts"]
    assert [one.kind for one in second.findings] == ["losses"]
    assert (first.waited_s, second.waited_s) == pytest.approx((3.0, 2.5))


def test_what_concerns_no_connection_is_of_the_one_capture_that_there_is() -> None:
    lookup = Finding(kind="dns_slow", sentence="It took 1 s.", confidence=0.9, owner="resolver", remedy="", cost_s=1.0)
    assert of_captures([lookup], ([], [], []), ["a.pcap"])[0].findings == (lookup,)
    assert all(not one.findings for one in of_captures([lookup], ([], [], []), ["a.pcap", "b.pcap"]))
