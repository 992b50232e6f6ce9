"""A run is good only when every witness agrees: each kind of disagreement is found and named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts
from tests.lab.packets import fate
from vmtrace.capture.provenance import provenance
from vmtrace.lab.capture_run import CaptureHealth
from vmtrace.lab.description import Scenario
from vmtrace.lab.evidence import Evidence, truth_document
from vmtrace.lab.pcap_file import CapturedPacket
from vmtrace.lab.transfer import TransferOutcome

SENDER = bytes([198, 18, 1, 1])
TABLE_HEAD = provenance("vmtrace.tcpinfo/1", 0.01, "by hand").header() + "stream,rtt_us,min_rtt_us\n"


def agreeing(folder: Path) -> Evidence:
    """Three data segments, the second sent twice, as every witness should tell it."""
    fates = [fate(0, 0), fate(1, 100, arrives_ms=None), fate(2, 200), fate(3, 100)]
    near = [CapturedPacket(row.time_in_ns, SENDER, 1000, row.seq, 16, 140, 100) for row in fates]
    far = [CapturedPacket(row.time_out_ns, SENDER, 1000, row.seq, 16, 140, 100) for row in fates if not row.lost]
    (folder / "info.csv").write_text(f"{TABLE_HEAD}0,20000,19000\n")
    end = {"connections": [{"sent_bytes": 1, "got_bytes": 0, "sent_digest": "x", "got_digest": ""}]}
    other = {"connections": [{"sent_bytes": 0, "got_bytes": 1, "sent_digest": "", "got_digest": "x"}]}
    tables = dict.fromkeys(("sender", "receiver"), folder / "info.csv")
    emulator = {"longest_turn_ns": 0, "clock_step_ns": 0, "refused_writes": 0, "real_time_priority": 1}
    health = {"sender": CaptureHealth(4, 4, 0, 0), "receiver": CaptureHealth(3, 3, 0, 0)}
    counters: dict[str, dict[str, int]] = {"sender": {"RetransSegs": 1}, "receiver": {}}
    outcome = TransferOutcome({"sender": end, "receiver": other}, tables)
    return Evidence(Scenario("s", ""), fates, emulator, outcome, counters, health, {"sender": near, "receiver": far}, 0)


def test_agreement_is_good_and_tells_the_numbers(tmp_path: Path) -> None:
    document = truth_document(agreeing(tmp_path))
    assert document["good"], document["problems"]
    assert document["retransmits"]["sender"] == {"kernel": 1, "emulator": 1}
    assert document["seen_at"]["receiver"][0]["data_segments"] == 3
    assert document["rtt"]["kernel_min_rtt_s"] == 0.019


def test_what_a_round_trip_takes_in_the_sender_s_host_is_known_of_superpackets_too(tmp_path: Path) -> None:
    known = agreeing(tmp_path)
    answers = [replace(fate(number, 0, 0), direction="reverse", source_port=2000) for number in (5, 6)]
    # Two segments in a frame 0.3 ms before the last enters the path, one 0.1 ms before, a repeat; answers 50 us after.
    frames = [(1, 0, 200, 300_000), (2, 200, 100, 100_000), (3, 150, 50, 0)]
    near = [
        CapturedPacket(known.fates[number].time_in_ns - early_ns, SENDER, 1000, seq, 16, size + 40, size)
        for number, seq, size, early_ns in frames
    ]
    near += [CapturedPacket(row.time_out_ns + 50_000, bytes(4), 2000, row.seq, 16, 40, 0) for row in answers]
    seen = replace(known, fates=[*known.fates, *answers], packets={**known.packets, "sender": near})
    assert truth_document(seen)["timing"]["at_sender_s"] == pytest.approx(0.00025)
    one_missed = replace(seen, packets={**seen.packets, "sender": near[:-1]})
    assert truth_document(one_missed)["timing"]["at_sender_s"] is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"counters": {"sender": {"RetransSegs": 2}, "receiver": {}}}, "RetransSegs of sender is 2, the log has 1"),
        ({"device_drops": 1}, "devices dropped 1"),
        ({"fates": []}, "no packet passed"),
        ({"packets": {"sender": [], "receiver": []}}, "capture sender has 0 TCP packets, the log 4"),
    ],
)
def test_each_disagreement_is_named(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    document = truth_document(replace(agreeing(tmp_path), **change))
    assert not document["good"]
    assert any(words in problem for problem in document["problems"]), document["problems"]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("longest_turn_ns", 6_000_000, "paused"),
        ("clock_step_ns", -2_000_000, "clock stepped"),
        ("refused_writes", 1, "refused 1"),
    ],
)
def test_an_emulator_beyond_its_bounds_is_named(tmp_path: Path, name: str, value: int, words: str) -> None:
    known = agreeing(tmp_path)
    document = truth_document(replace(known, emulator={**known.emulator, name: value}))
    (problem,) = document["problems"]
    assert words in problem
    assert document["late"] == ([problem] if words == "paused" else [])


def test_a_dropping_capture_and_a_late_emulator_are_named(tmp_path: Path) -> None:
    known = agreeing(tmp_path)
    late = [replace(row, time_due_ns=row.time_out_ns - 2_000_000) if not row.lost else row for row in known.fates]
    health = {**known.health, "sender": CaptureHealth(4, 5, 1, 0)}
    problems = " ".join(truth_document(replace(known, fates=late, health=health))["problems"])
    golden_texts.check("a-dropping-capture-and-a-late-emulator-are-named", problems)
