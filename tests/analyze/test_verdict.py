"""The verdict's threshold in Python is the engine's, and what would help is set against what was."""

from pathlib import Path

import vmtrace
from analyze.units import si
from analyze.verdict import is_open, remedies

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


def test_no_remedy_makes_a_transfer_slower_than_it_was() -> None:
    told = 0
    for capture in sorted(SAMPLES.glob("*.pcap*")):
        for connection in vmtrace.read(capture).json()["connections"]:
            verdict = connection["verdict"]
            if verdict is None:
                continue
            direction = connection[verdict["direction"]]
            now_bps = direction["unique_payload_bytes"] * 8 / sum(limit["time_s"] for limit in direction["limits"])
            for what_if, text in zip(verdict["what_if"], remedies(connection), strict=True):
                assert what_if["goodput_bps"] >= now_bps
                assert text.startswith(f"with {what_if['change']}: ")
                told += f"instead of {si(now_bps, 'bit/s')}" in text
    assert told > 10
