"""Options of `vmtrace corpus` and its progress. What the commands do is tested in `tests/corpus/test_commands.py`."""

import io
from contextlib import closing

import pytest

from vmtrace.capture import live_display
from vmtrace.commands.corpus_options import StageDisplay


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_stage_moves_with_what_is_read_and_with_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(live_display, "Every", lambda _seconds: lambda: True)
    monkeypatch.setattr("vmtrace.capture.live_display.importlib.util.find_spec", lambda _name: None)
    monkeypatch.setattr("sys.stderr", terminal)
    with closing(StageDisplay(wanted=True)) as display:
        display.stage("split", 3_000_000)
        display.reading(500_000)
        display.done(1_000_000)
        display.reading(500_000)
        # A bucket that does not fit into memory is read more than once.
        display.reading(9_000_000)
    shares = [line.split(",")[0].strip() for line in terminal.getvalue().split("\r") if "%" in line]
    assert shares == ["split 17%", "split 33%", "split 50%", "split 100%"]
