"""Which display is chosen, and how it knows what is left."""

from __future__ import annotations

import dataclasses
import io
import sys
from typing import Any

import pytest

from vmtrace.sender.display.choose import choose_display
from vmtrace.sender.display.json_lines import JsonLines
from vmtrace.sender.display.live import RichDisplay
from vmtrace.sender.display.plain import PlainDisplay
from vmtrace.sender.display.view import Display, Pace
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


def test_rich_only_at_a_terminal_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert isinstance(choose_display(quiet=False, json_lines=False), RichDisplay)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert isinstance(choose_display(quiet=False, json_lines=False), PlainDisplay)


def test_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert isinstance(choose_display(quiet=False, json_lines=False), PlainDisplay)
    assert isinstance(choose_display(quiet=False, json_lines=True), JsonLines)
    assert type(choose_display(quiet=True, json_lines=False)) is Display


def test_quiet_says_nothing(plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
    display: Any = Display()
    step = plan.step(1)
    display.started(None)
    display.transfer_begins(step, "probe", plan.entries[0].probe)
    display.moving(Moving(1, None, None, None))
    display.pair_finished({})
    display.attempt_failed(step, 1, "lost", 1.0)
    display.noticed("x")
    display.fetching(1, 2)
    display.fetched("complete", 1, 1, None)
    display.ended(None)
    display.close()
    assert capsys.readouterr() == ("", "")


def test_the_time_left_follows_from_the_bytes_and_the_idle_times(plan: Plan) -> None:
    pace = Pace(plan, 0)
    assert pace.left_s(0, 0, 1.0) is None
    # 110 of 440 bytes and one of two idle times of 0.5 s took 10.5 s: 330 bytes take 30 s, and 0.5 s idle.
    assert pace.left_s(1, 0, 10.5) == pytest.approx(30.5)
    assert pace.left_s(1, 110, 20.5) == pytest.approx(20.5)
    assert pace.share(1, 10.5) == pytest.approx(1 / 3)


def test_a_session_that_goes_on_counts_what_it_did_itself(plan: Plan) -> None:
    assert Pace(plan, 1).left_s(2, 0, 10.5) == pytest.approx(20.0)


def test_a_run_limited_by_time_has_its_own_measure(plan: Plan) -> None:
    pace = Pace(dataclasses.replace(plan, repeat=None, duration_s=100.0), 0, earlier_s=30.0)
    assert pace.left_s(5, 0, 20.0) == 50.0
    assert pace.share(5, 20.0) == 0.5
    assert pace.left_s(5, 0, 200.0) == 0
