"""What moves on a terminal: bars by rich, one rewritten line without it, lines alone in a log."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

from vmtrace.capture import live_display
from vmtrace.capture.live_display import (
    Every,
    Lines,
    RewrittenDisplay,
    RewrittenLine,
    RichDisplay,
    amount,
    amount_bytes,
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_amounts_have_rate_and_time_left_where_these_are_known() -> None:
    assert amount_bytes(2_500_000, 10_000_000, 0.5) == "2.5 MB of 10 MB, 40 Mbit/s, 1.5 s left"
    assert amount_bytes(2_500_000, None, 0.5) == "2.5 MB, 40 Mbit/s"
    assert amount_bytes(0, 10, 0.5) == "0 B of 10 B"
    assert amount(100, 400, 1.0) == "100 of 400, 3 s left"
    assert amount(400, 400, 1.0) == "400 of 400"


def test_a_step_is_due_once_in_its_time() -> None:
    now_s = [0.0]
    every = Every(1.0, lambda: now_s[0])
    reported = []
    for tenths in range(31):
        now_s[0] = tenths / 10
        reported += [tenths] if every() else []
    assert reported == [10, 20, 30]


def test_a_line_is_cut_to_the_terminal_and_leaves_nothing_of_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    stream = Terminal()
    line = RewrittenLine(stream)
    line.show("a line that is too long")
    line.show("short")
    line.clear()
    line.clear()
    assert stream.getvalue() == "\ra line th\rshort    \r     \r"


def test_without_rich_bars_share_a_line_and_said_lines_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_display, "Every", lambda _seconds: lambda: True)
    stream = Terminal()
    display = RewrittenDisplay(stream)
    bar = display.bar("pairs", 4)
    bar.show(done=1, words="1 finished")
    display.say("a pair failed")
    bar.show("last pairs", done=4)
    display.close()
    shown = [part.strip() for part in stream.getvalue().replace("\n", "\r").split("\r") if part.strip()]
    assert shown == ["pairs 25%, 1 finished", "a pair failed", "last pairs 100%, 1 finished"]


def test_a_log_has_lines_and_nothing_that_moves() -> None:
    stream = io.StringIO()
    display = Lines(stream)
    bar = display.bar("pairs", 4)
    bar.show(done=1, words="1 finished")
    display.say("a pair failed")
    display.close()
    assert stream.getvalue() == "a pair failed\n"


def test_with_rich_there_are_bars_that_begin_anew_and_go() -> None:
    stream = io.StringIO()
    display = RichDisplay(Console(file=stream, force_terminal=True, width=120, color_system=None))
    display.progress.live.auto_refresh = False
    bar = display.bar("[1/2] first", 10)
    bar.show(done=5, words="half")
    display.progress.refresh()
    bar.restart("second", 20)
    display.progress.refresh()
    display.say("[not markup]")
    bar.remove()
    bar.show(done=20, words="after its end")
    display.close()
    text = stream.getvalue()
    for words in ("[1/2] first", "half", "second", "[not markup]"):
        assert words in text
    assert "after its end" not in text


@pytest.mark.parametrize("display", [Lines(), RewrittenDisplay()], ids=["log", "terminal"])
def test_a_closed_standard_error_ends_nothing(
    display: Lines | RewrittenDisplay, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    display.say("who hears this?")
    display.close()


def test_the_form_follows_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(live_display.live_display(io.StringIO()), Lines)
    assert isinstance(live_display.live_display(Terminal()), RichDisplay)
    monkeypatch.setattr("vmtrace.capture.live_display.importlib.util.find_spec", lambda _name: None)
    assert isinstance(live_display.live_display(Terminal()), RewrittenDisplay)
