"""The progress bar: for people who wait, and nobody else."""

import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.analyze import discovery_made, queues_made
from tests.analyze.storage_made import MadeRun, said, talk
from tests.analyze.swarm_made import MadeSwarm
from tests.eventually import eventually
from tests.in_process import vmtrace_here
from vmtrace import cli, progress
from vmtrace.progress import Bar, total_bytes

SAMPLES = Path(__file__).parents[2] / "samples"


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


class Now:
    """A timer whose time has come when it starts."""

    daemon = True

    def __init__(self, _seconds: float, show: Callable[[], None]) -> None:
        self._show = show

    def start(self) -> None:
        self._show()

    def cancel(self) -> None:
        pass

    join = cancel


LOSSY, OTHER_END = (str(SAMPLES / f"lossy-{end}.pcap") for end in ("sender", "receiver"))
LONG: dict[str, tuple[str, ...]] = {
    "analyze": ("analyze", LOSSY, "--report", "page.html"),
    "compare": ("compare", LOSSY, OTHER_END, "--csv", "tables"),
    "report": ("report", "run"),
    "report of runs": ("report", "run", "other"),
    "compare-runs": ("compare-runs", "run", "other", "--html", "page.html"),
    "annotate": ("annotate", LOSSY, "--write", "made.pcapng"),
    "index": ("index", LOSSY, "--out", "made.index"),
    "query": ("query", "SELECT kind FROM findings", LOSSY),
    "corpus analyze": ("corpus", "analyze", LOSSY, "--out", "results", "--workers", "1"),
    "cost": ("cost", "dzero", "--prices", "palankar2008"),
    "storage report": ("storage", "report", "storage"),
    "queue report": ("queue", "report", "queue"),
    "swarm report": ("swarm", "report", "swarm"),
    "discover report": ("discover", "report", "discovery"),
}
"""What reads captures or logs, or reckons: by the size of its input each may take a minute."""


@pytest.fixture
def inputs(new_run: Any, tmp_path: Path) -> Path:
    """Folders of all kinds of runs, each of a few transfers."""
    for name in ("run", "other"):
        new_run(name).pairs(2)
    run = MadeRun(tmp_path / "storage")
    run.transaction(1, [said(0, 60, 62, 1001, opened=True)])
    run.capture(1, talk(1001, 25, [(100, 1200)]))
    queue = queues_made.Made(tmp_path / "queue", queues_made.stage(messages=1, rate_per_s=100.0))
    queue.send([0], 1, 5, due=0).receive([(0, 1, 0)], 60, 110).delete([0], 111, 115).stage_ended().read()
    MadeSwarm(tmp_path / "swarm").download(20_000)
    discovery_made.three_vantages(tmp_path, (0.015, 0.075, 0.3))[0].folder.rename(tmp_path / "discovery")
    return tmp_path


@pytest.mark.parametrize("name", LONG)
def test_a_long_command_shows_that_it_works(
    name: str, inputs: Path, install_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Now)
    monkeypatch.chdir(inputs)
    terminal = install_terminal()
    with redirect_stdout(StringIO()):
        assert cli.run(list(LONG[name])) == 0, terminal.text
    words = ("reading", "making the", "split") if name != "cost" else ("making the estimate",)
    assert [word for word in words if word in terminal.text], terminal.text


@pytest.mark.parametrize("name", LONG)
def test_a_program_that_reads_standard_error_gets_no_progress(
    name: str, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Now)
    done = vmtrace_here(*LONG[name], folder=inputs)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_answer_appears_at_once_and_whole_where_somebody_looks_on(
    inputs: Path, install_terminal: Callable[[], Terminal], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Now)
    piped = vmtrace_here("analyze", LOSSY, folder=inputs)
    monkeypatch.chdir(inputs)
    install_terminal()
    with redirect_stdout(StringIO()) as out:
        assert cli.run(["analyze", LOSSY]) == 0
    assert out.getvalue() == piped.stdout
