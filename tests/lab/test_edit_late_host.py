"""One side that was recorded late has sent when it sent: what follows from the true times comes out."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.lab.clean_captures import clean_capture
from tests.lab.edited import Record, analyzed, bulk, quality, total
from vmtrace.lab.edit.capture import pcap_bytes
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.late_host import LateHost

JUDGEMENTS = ("retransmitted_segments", "spurious_segments", "reordered_segments", "network_duplicates")
AT_RECEIVER = ("lossy-receiver.pcap", "window-limited-at-receiver", "made-at-receiver", "made-ipv6-at-receiver")
MS = 1_000_000
NEAR_S = 20e-6


def counts(document: Record) -> dict[str, int]:
    return {name: total(document, name) for name in JUDGEMENTS}


@pytest.mark.parametrize(
    ("name", "late_ns"), [("lossy-receiver.pcap", MS // 20), *product(AT_RECEIVER, [3 * MS, 40 * MS, 400 * MS])]
)
def test_a_lag_of_the_data_is_reported_and_taken_away(name: str, late_ns: int) -> None:
    clean = clean_capture(name)
    true, late = analyzed(clean), analyzed(edit(clean, LateHost(late_ns)).capture)
    fastest_answer_s = bulk(true)["rtt"]["min_s"]
    assert quality(late)["lag_s"] == pytest.approx(late_ns / 1e9 - fastest_answer_s, abs=NEAR_S)
    assert quality(late)["lag_removed"] is True
    assert counts(late) == counts(true)
    assert bulk(late)["rtt"]["samples"] == bulk(true)["rtt"]["samples"]
    assert bulk(late)["rtt"]["mean_s"] == pytest.approx(bulk(true)["rtt"]["mean_s"] - fastest_answer_s, abs=NEAR_S)
    assert [one["vantage"]["side"] for one in late["connections"]] == [
        one["vantage"]["side"] for one in true["connections"]
    ]
    assert quality(late)["reordered"] == quality(true)["reordered"]


@pytest.mark.parametrize("name", [*AT_RECEIVER, "lossy-sender.pcap", "tls13.pcap", "reordered-duplicated.pcap"])
def test_what_was_recorded_in_time_has_no_lag(name: str) -> None:
    assert not {"lag_s", "lag_removed"} & set(quality(analyzed(clean_capture(name))))


def test_standard_input_cannot_be_read_twice_and_that_is_said(tmp_path: Path) -> None:
    capture = edit(clean_capture("lossy-receiver.pcap"), LateHost(3 * MS)).capture
    path = tmp_path / "late.pcap"
    path.write_bytes(pcap_bytes(capture))

    def table(*source: str) -> str:
        command = [sys.executable, "-m", "vmtrace", "analyze", *source]
        with path.open("rb") as content:
            done = subprocess.run(command, stdin=content, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout + done.stderr

    assert "one side was recorded 2.99 ms late (taken away)" in table(str(path))
    assert "one side was recorded 2.99 ms late: times and retransmissions are wrong; save" in table("-")
