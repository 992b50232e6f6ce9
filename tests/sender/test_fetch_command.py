"""The command line of `fetch`; that it fetches is tested end to end."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vmtrace.sender.errors import SenderError
from vmtrace.sender.fetch_command import build_parser, run
from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.wire.errors import ReceiverGone

NewRun = Callable[..., RunFolder]


def test_a_folder_without_a_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SenderError, match=r"no run is there"):
        run(build_parser().parse_args([str(tmp_path)]))


def test_a_run_that_never_reached_its_receiver_has_nothing_to_fetch(new_run: NewRun) -> None:
    folder = new_run()
    folder.close()
    with pytest.raises(SenderError, match="never reached in this run: there is nothing to fetch"):
        run(build_parser().parse_args([str(folder.path)]))
    # The lock was given back.
    RunFolder.open(folder.path).close()
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_a_strange_port_in_a_changed_run_json_is_no_defect(new_run: NewRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VMTRACE_KEY", "a" * 64)
    folder = new_run()
    folder.note(receiver={"name": "127.0.0.1", "port": {"number": 5810}})
    folder.close()
    words = [str(folder.path), "--quiet"]
    with pytest.raises(ReceiverGone, match=r"127\.0\.0\.1:5810: "):
        run(build_parser().parse_args(words))
    folder._lock = os.open(folder.path, os.O_RDONLY)


def test_ports_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["run", "--port", "0"])
    assert "expected a whole number from 1 to 65535" in capsys.readouterr().err
