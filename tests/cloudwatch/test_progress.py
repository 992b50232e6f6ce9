"""Progress is told to whoever waited two seconds, and to nobody else."""

import io

import pytest

from vmtrace.cloudwatch.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("vmtrace.cloudwatch.progress.time.monotonic", lambda: now[0])
    return now


def test_nothing_is_reported_within_two_seconds(clock: list[float]) -> None:
    stream = Terminal()
    progress = Progress(stream=stream)
    clock[0] = 1.9
    progress("a")
    progress.clear()
    assert stream.getvalue() == ""


def test_a_terminal_s_line_is_rewritten_and_cleared(clock: list[float]) -> None:
    stream = Terminal()
    progress = Progress(stream=stream)
    clock[0] = 2.1
    progress("long line")
    progress("short")
    progress.clear()
    assert stream.getvalue() == "\rlong line\rshort    \r     \r"


def test_no_line_is_wider_than_the_terminal(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    stream = Terminal()
    progress = Progress(stream=stream)
    clock[0] = 3.0
    progress("a line that is too long")
    assert stream.getvalue() == "\ra line th"


def test_a_log_gets_a_line_now_and_then(clock: list[float]) -> None:
    stream = io.StringIO()
    progress = Progress(stream=stream)
    for second in range(70):
        clock[0] = float(second)
        progress(f"{second} s")
    progress.clear()
    assert stream.getvalue() == "2 s\n32 s\n62 s\n"


def test_quiet_says_nothing_and_a_closed_stream_harms_nobody(clock: list[float]) -> None:
    stream = io.StringIO()
    quiet, loud = Progress(wanted=False, stream=stream), Progress(stream=stream)
    clock[0] = 5.0
    quiet("a")
    assert stream.getvalue() == ""
    stream.close()
    loud("a")
    loud("b")
