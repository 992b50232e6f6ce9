"""`run.json` as both campaigns keep it: what was written is read again, and whatever else is there is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from vmtrace.formats.run_state import NAME, RunStateError, read_run_state, write_run_state

SCHEMA = "vmtrace.test/1"


def test_what_was_written_is_read_again_and_is_its_owners_alone(tmp_path: Path) -> None:
    write_run_state(tmp_path, {"schema": SCHEMA, "status": "running"})
    write_run_state(tmp_path, {"schema": SCHEMA, "status": "complete"})
    assert read_run_state(tmp_path, SCHEMA, "a test") == {"schema": SCHEMA, "status": "complete"}
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunStateError, match=r"^\S+: no run is there \(no run\.json\)$"):
        read_run_state(tmp_path, SCHEMA, "a test")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", "Expecting property name"),
        (b"\xff", "codec can't decode"),
        (b"[" * 100_000, "recursion"),
        (b"[]", "not a run of a test"),
        (b'{"schema": "another/1"}', r"not a run of a test \(another/1\)"),
    ],
)
def test_what_is_no_run_is_refused_in_one_line_that_names_the_file(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(RunStateError, match=rf"run\.json: .*{reason}") as refused:
        read_run_state(tmp_path, SCHEMA, "a test")
    assert "\n" not in str(refused.value)
