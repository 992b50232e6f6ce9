"""The progress bar: for people who wait, and nobody else."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.eventually import eventually
from vmtrace import progress
from vmtrace.progress import Bar, total_bytes


def test_sizes_add_up_unless_one_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(10))
    (tmp_path / "b").write_bytes(bytes(5))
    assert total_bytes([str(tmp_path / "a"), str(tmp_path / "b")]) == 15
    assert total_bytes([str(tmp_path / "a"), "-"]) is None


class Terminal:
    """Standard error as a terminal that remembers."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)

    def flush(self) -> None:
        pass


@pytest.fixture
def install_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Puts a terminal in the place of standard error (from within the test: pytest changes it after the set-up)."""

    def install() -> Terminal:
        terminal = Terminal()
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stderr", terminal)
        return terminal

    return install


def test_nothing_is_drawn_before_the_patience_is_over(install_terminal: Callable[[], Terminal]) -> None:
    terminal = install_terminal()
    with Bar([], wanted=True) as bar:
        bar(1)
    assert terminal.text == ""


def test_a_bar_is_drawn_after_it(
    install_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(bytes(2000))
    monkeypatch.setattr(progress, "_PATIENCE_S", -1.0)
    terminal = install_terminal()
    with Bar([str(tmp_path / "a")], wanted=True) as bar:
        bar(1000)
        bar(2000)
        bar(10)  # a second pass
    assert "reading" in terminal.text
    assert "2 kB of 2 kB" in terminal.text


def test_nothing_is_drawn_where_it_is_not_wanted(
    install_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_PATIENCE_S", -1.0)
    terminal = install_terminal()
    with Bar([], wanted=False) as bar:
        bar(1)
    assert terminal.text == ""


def test_what_is_being_made_is_reported_after_the_patience_and_reading_in_between_is_shown(
    install_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(bytes(2000))
    monkeypatch.setattr(progress, "_PATIENCE_S", -1.0)
    terminal = install_terminal()
    with Bar([str(tmp_path / "a")], wanted=True) as bar:
        bar(2000)
        with bar.making("report.html"):
            bar(10)  # the file is read once more
            bar(2000)
            assert eventually(lambda: "making report.html" in terminal.text, within_s=20)
    assert terminal.text.index("reading") < terminal.text.index("making report.html")


def test_what_is_made_at_once_is_not_told(install_terminal: Callable[[], Terminal]) -> None:
    terminal = install_terminal()
    with Bar(wanted=True) as bar, bar.making("report.html"):
        pass
    assert terminal.text == ""
