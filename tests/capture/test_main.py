"""`python3 -m vmtrace.capture` is the command under its own name."""

from __future__ import annotations

import argparse

import pytest

from vmtrace.capture.__main__ import main


def test_the_help_names_the_program_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["capture", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python3 -m vmtrace.capture ")


def test_the_status_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["capture", "--interface", "lo"])
    assert main() == 2


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (OSError(24, "Too many open files"), 1, "vmtrace: Too many open files\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_trouble_is_at_most_one_line(
    error: BaseException,
    status: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def raises(_arguments: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr("sys.argv", ["capture", "--list"])
    monkeypatch.setattr("vmtrace.capture.__main__.run", raises)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    assert main() == status
    assert capfd.readouterr().err == told
