"""The agent's first word picks the program; that the file runs on a bare Python is tested with `vmtrace agent`."""

from __future__ import annotations

import pytest

from vmtrace.sender.agent import main


def test_help_names_the_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("send", "receive", "capture", "fetch"))
    assert main([]) == 2


def test_each_program_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("send", "receive", "capture", "fetch"):
        with pytest.raises(SystemExit) as caught:
            main([name, "--help"])
        assert caught.value.code == 0
    assert "--key-file" in capsys.readouterr().out


def test_other_words_are_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze"]) == 2
    assert capsys.readouterr().err == "vmtrace: analyze: the agent has send, receive, capture, fetch (see --help)\n"


def test_a_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["send", "--show-plan"]) == 0
    assert main(["--version"]) == 0
    assert "plan lee2011" in capsys.readouterr().out
