"""Tables of token buckets and of causes of retransmissions beside their truth."""

from __future__ import annotations

import pytest

from vmtrace.lab.accuracy.__main__ import main
from vmtrace.lab.accuracy.limit_tables import Bucket, Triggers, buckets, triggers
from vmtrace.lab.impairments import TokenBucket

SHAPER = TokenBucket(10e6, 1_000_000, 300_000)


def test_a_bucket_is_shown_by_its_errors_and_a_wrong_kind_stands_out() -> None:
    shown = {"kind": "policer", "sustained_bps": 10.1e6, "burst_bytes": 900_000}
    lines = buckets([Bucket("shaper-0", SHAPER, {"sender": shown, "receiver": None})])
    assert lines[2] == "| shaper-0 | 10.0 | 1000 | **policer**, rate +1.0%, burst -10% | not found |"
    assert lines[-1] == "Told in 0 transfers without one: none."


def test_a_bucket_told_where_there_was_none_is_named() -> None:
    shown = {"kind": "shaper", "sustained_bps": 1e6, "burst_bytes": 1}
    assert buckets([Bucket("losses-0", None, {"sender": shown})])[-1].endswith("without one: losses-0 at the sender.")


def test_causes_are_confused_transfer_by_transfer() -> None:
    kernel = {"fast": 90, "timeout": 10, "probe": 0}
    shown = {"vmtrace": {"fast": 92, "timeout": 8, "probe": 0}, "tshark": {"fast": 10, "timeout": 50, "probe": 0}}
    lines = triggers([Triggers(kernel, shown)])
    assert "| timeout, by vmtrace | 2 | 8 | 0 | 0 |" in lines
    assert lines[-1] == "Right: vmtrace 98.0%, tshark 20.0%."
    assert triggers([]) == []


def test_a_scenario_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["accuracy", "clean-cubic-rtt20", "policer-0"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "no such scenario: policer-0;" in capsys.readouterr().err
