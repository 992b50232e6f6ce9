"""Files are written whole or not at all, for their owner alone, and read only from inside of the folder."""

import os
from pathlib import Path

import pytest

from vmtrace.cloudwatch import files
from vmtrace.cloudwatch.errors import CloudWatchError


def test_a_file_is_for_its_owner_alone_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "cloudwatch.json"
    path.write_text("old")
    path.chmod(0o644)
    files.write_aside(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cloudwatch.json"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_aside(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("x")
    (tmp_path / "run/run.json").symlink_to(tmp_path / "secret")
    with pytest.raises(CloudWatchError, match="not a file of the run folder"):
        files.read(tmp_path / "run", "run.json")


def test_a_pipe_does_not_make_us_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.json")
    with pytest.raises(CloudWatchError, match="not a file of the run folder"):
        files.read(tmp_path, "run.json")


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    (tmp_path / "a").write_bytes(b"x" * 11)
    with pytest.raises(CloudWatchError, match="no file of metrics is so large"):
        files.read_any(tmp_path / "a")


def test_a_line_behind_a_torn_one_can_be_read(tmp_path: Path) -> None:
    """Else what was published is not known, and put once more: it would count twice."""
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntw")
    files.append_line(path, "three")
    assert files.lines(path.read_bytes()) == [b"one", b"three"]


def test_appended_lines_come_back_without_a_torn_last_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    files.append_line(path, "one")
    files.append_line(path, "two")
    assert path.stat().st_mode & 0o777 == 0o600
    assert files.lines(path.read_bytes() + b"thr") == [b"one", b"two"]
    assert files.lines(b"") == []
