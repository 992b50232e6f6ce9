"""The verdict's threshold in Python is the engine's, and what would help is set against what was."""

from pathlib import Path

import vmtrace
from vmtrace.analyze.words.units import share, si
from vmtrace.analyze.words.verdict import interval_words, is_open, remedies

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


def test_the_example_of_the_document_is_what_the_sample_shows() -> None:
    [connection] = vmtrace.read(SAMPLES / "lossy-sender.pcap").json()["connections"]
    verdict = connection["verdict"]
    frames = ", ".join(map(str, verdict["evidence"][0]["frames"][:3]))
    cells = [
        f"| sentence | {verdict['sentence'].rstrip('.')} |",
        f"| confidence | {share(verdict['confidence'])} |",
        f"| evidence | frames {frames} |",
        f"| what would help | {remedies(connection)[0]} |",
        f"| goodput ({si(connection['client_to_server']['goodput_bps'], 'bit/s')}) |",
        f"| now, of a remedy ({si(verdict['what_if'][0]['now_bps'], 'bit/s')}) |",
        f"| predicted ({si(verdict['what_if'][0]['goodput_bps'], 'bit/s')}) |",
    ]
    document = (SAMPLES.parent / "docs/verdict.md").read_text()
    assert [cell for cell in cells if cell not in document] == []


def test_losses_are_one_cause_and_what_comes_next_has_another_remedy() -> None:
    [connection] = vmtrace.read(SAMPLES / "lossy-receiver.pcap").json()["connections"]
    verdict = connection["verdict"]
    lost_bytes = {limit["factor"]: limit["lost_bytes"] for limit in connection["client_to_server"]["limits"]}
    assert (verdict["factor"], verdict["runner_up"]) == ("congestion_window", "slow_start")
    assert lost_bytes["loss_recovery"] > lost_bytes["slow_start"]
    changes = [what_if["change"] for what_if in verdict["what_if"]]
    assert changes == ["no loss", "a reused connection, past slow start"]


def test_no_remedy_makes_a_transfer_slower_than_it_was() -> None:
    shown = 0
    for capture in sorted(SAMPLES.glob("*.pcap*")):
        for connection in vmtrace.read(capture).json()["connections"]:
            verdict = connection["verdict"]
            if verdict is None:
                continue
            for what_if, text in zip(verdict["what_if"], remedies(connection), strict=True):
                assert text.startswith(f"with {what_if['change']}: ")
                if what_if["goodput_bps"] is None:
                    assert what_if["reason"] in text
                    continue
                assert what_if["now_bps"] < what_if["goodput_bps"]
                assert what_if["low_bps"] <= what_if["goodput_bps"] <= (what_if["high_bps"] or float("inf"))
                shown += f"instead of {si(what_if['now_bps'], 'bit/s')}" in text
    assert shown > 5


def test_a_prediction_names_its_interval_or_why_there_is_none() -> None:
    ends = {"low_bps": 1e6, "high_bps": 2e6, "now_bps": 5e5, "reason": None}
    unknown = {"change": "twice the window", "goodput_bps": None, "reason": "the model does not reproduce it"}
    predicted = [{"change": "no loss", "goodput_bps": 1.5e6} | ends, unknown]
    assert remedies({"verdict": {"what_if": predicted}}) == [
        "with no loss: 1.50 Mbit/s (between 1.00 Mbit/s and 2.00 Mbit/s) instead of 500 kbit/s",
        "with twice the window: no prediction: the model does not reproduce it",
    ]
    assert interval_words(1e6, None) == " (at least 1.00 Mbit/s)"
    assert interval_words(None, None) == ""
