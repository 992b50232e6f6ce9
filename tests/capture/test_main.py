"""`python3 -m capture` is the command under its own name."""

from __future__ import annotations

import pytest

from capture.__main__ import main


def test_the_help_names_the_program_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["capture", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: python3 -m capture ")


def test_the_status_is_that_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["capture", "--interface", "lo"])
    assert main() == 2
