"""The verdict's threshold in Python is the engine's."""

from pathlib import Path

import vmtrace
from analyze.verdict import is_open

SAMPLES = Path(__file__).parents[2] / "samples"


def test_a_verdict_is_open_where_the_engine_names_candidates() -> None:
    seen = set()
    for capture in sorted(SAMPLES.glob("*.pcap*")):
        for connection in vmtrace.read(capture).json()["connections"]:
            verdict = connection["verdict"]
            if verdict is not None:
                assert is_open(verdict["confidence"]) == bool(verdict["undetermined_between"])
                seen.add(is_open(verdict["confidence"]))
    assert seen == {True, False}


def test_a_verdict_of_unknown_confidence_is_open() -> None:
    assert is_open(None)


def test_one_remedy_for_two_factors_is_said_once() -> None:
    [connection] = vmtrace.read(SAMPLES / "lossy-receiver.pcap").json()["connections"]
    verdict = connection["verdict"]
    assert {verdict["factor"], verdict["runner_up"]} == {"congestion_window", "loss_recovery"}
    assert [what_if["change"] for what_if in verdict["what_if"]] == ["no loss"]
