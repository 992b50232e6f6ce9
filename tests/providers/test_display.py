"""What a run tells while it goes on."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests import golden_texts
from vmtrace.providers.display import (
    BarDisplay,
    Display,
    PlainDisplay,
    TimeLeft,
    choose,
    left_text,
    started_text,
    transaction_text,
)
from vmtrace.providers.plan import Plan, Workload
from vmtrace.providers.transfer import Job

PLAN = Plan("p", (Workload("a", 1, 1000), Workload("b", 2, 500)), repeat=2, wait_s=10, idle_s=100)


def record(transaction: int, **more: Any) -> dict[str, Any]:
    plain = {
        "transaction": transaction,
        "workload": "a",
        "direction": "upload",
        "repeat": 1,
        "files": 1,
        "bytes": 1000,
        "moved_bytes": 1000,
        "objects_done": 1,
        "duration_s": 2.0,
        "retries": 0,
        "capture": None,
        "status": "complete",
        "error": None,
    }
    return {**plain, **more}


def test_time_left_is_pauses_and_what_transactions_like_these_took() -> None:
    left = TimeLeft()
    left.begin(PLAN)
    assert left.seconds() is None
    left.finished(record(1))
    # 4 waits, 3 idle times; 1000 bytes in 2 s, for the 7 transactions of 1000 bytes that are left
    assert left.seconds() == 4 * 10 + 3 * 100 + 7 * 2.0
    left.finished(record(2, direction="download", duration_s=4.0))
    assert left.seconds() == 3 * 10 + 3 * 100 + 2.0 + 4.0 + 4 * 3.0
    for number in range(3, 9):
        left.finished(record(number))
    assert left.seconds() == 0


def test_charges_are_reported_or_said_to_be_unknown() -> None:
    assert left_text(None, None, "") == "time left unknown, charges unknown"
    assert left_text(90, 0.5, "EUR") == "1 min 30 s left, charges 0.5000 EUR left"
    shown = started_text(PLAN, Path("run"), "https://x", None, "")
    golden_texts.check("charges-are-reported-or-said-to-be-unknown", shown)
    assert "charges at most 1.2500 USD" in started_text(PLAN, Path("run"), "https://x", 1.25, "USD")


def test_a_transaction_is_reported_with_what_is_odd_about_it() -> None:
    assert transaction_text(record(1)) == "a upload 1, 1 of 1 files in 2 s, 4 kbit/s"
    odd = record(1, status="failed", error="no", retries=3, moved_bytes=0, capture={"dropped": 4, "error": "disk full"})
    assert transaction_text(odd).endswith(
        "3 retries, 4 packets NOT CAPTURED, the capture ended early: disk full, failed: no"
    )


def test_without_a_terminal_there_is_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    display = choose(quiet=False, currency="USD")
    assert isinstance(display, PlainDisplay)
    display.started(PLAN, Path("run"), "https://x", 1.0)
    display.transaction_ends(record(1), 0.5)
    shown = capsys.readouterr().err.splitlines()
    assert shown[1].startswith("[1/8] a upload 1, ")
    assert shown[1].endswith("left, charges 0.5000 USD left")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    display = choose(quiet=True, currency="")
    assert type(display) is Display
    display.started(PLAN, Path("run"), "https://x", None)
    display.transaction_ends(record(1), None)
    assert capsys.readouterr() == ("", "")


def test_the_bar_goes_through_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    display = BarDisplay("USD")
    display.started(PLAN, Path("run"), "https://x", None)
    display.transaction_begins(Job(1, PLAN.workloads[0], 1, "upload", []))
    display.moved(1000)
    display.waiting("wait", 10)
    display.transaction_ends(record(1), None)
    display.removing()
    display.ended()
    display.moved(1)
    assert "a upload 1" in capsys.readouterr().err


def test_a_log_that_was_closed_does_not_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    closed = (tmp_path / "log").open("w")
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    display = PlainDisplay("EUR")
    display.started(PLAN, tmp_path, "https://somewhere", None)
    display.transaction_ends(record(1), None)
