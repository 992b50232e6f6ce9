"""The run folder is valid at every moment, and one program's at a time."""

import json
import os
import stat
from pathlib import Path

import pytest

from vmtrace.capture.campaign import COMPLETE, RUNNING
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.run_folder import RunFolder, lock_run, read_run


def test_a_run_begins_in_a_new_folder_that_only_its_owner_reads(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "deep" / "run", {"status": RUNNING})
    folder.append("objects", {"a": 1})
    folder.append("objects", {"a": 2})
    folder.end(COMPLETE, None, None)
    folder.close()
    state = read_run(tmp_path / "deep" / "run")
    assert (state["status"], state["error"]) == (COMPLETE, None)
    lines = (tmp_path / "deep/run/objects.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"a": 1}, {"a": 2}]
    assert stat.S_IMODE((tmp_path / "deep/run").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "deep/run/run.json").stat().st_mode) == 0o600


def test_a_folder_with_something_in_it_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ProvidersError, match="there is something in this folder"):
        RunFolder.create(tmp_path, {})
    with pytest.raises(ProvidersError, match="File exists"):
        RunFolder.create(tmp_path / "x" / "run", {})


def test_a_folder_that_is_written_is_nobody_elses(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {})
    with pytest.raises(ProvidersError, match="another vmtrace is writing"):
        lock_run(tmp_path / "run")
    folder.close()
    os.close(lock_run(tmp_path / "run"))


def test_what_is_no_storage_run_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ProvidersError, match="no run is there"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": "vmtrace.run/1"}')
    with pytest.raises(ProvidersError, match="not a run of vmtrace storage"):
        read_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ProvidersError, match="Expecting"):
        read_run(tmp_path)


def test_captures_are_numbered_by_transaction(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {})
    assert folder.capture_path(12) == tmp_path / "run/packets/0012.pcap"
    assert (tmp_path / "run/packets").is_dir()
    folder.close()
