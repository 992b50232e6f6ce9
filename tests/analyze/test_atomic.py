"""An output file is whole or not there, and its owner's alone."""

import errno
import os
import stat
from pathlib import Path

import pytest

from vmtrace.analyze.read.atomic import make_folder, writing


def test_a_file_appears_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with writing(path) as out:
        out.write(b"{}")
        assert not path.exists()
    assert path.read_bytes() == b"{}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), writing(path) as out:
        out.write(b"%d" % (1 // 0))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_with_the_name_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match="No space") as caught, writing(path):
        raise full
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.pcap", "out.json", "a.pcap.gz"])
def test_a_capture_is_never_overwritten(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = (b"\x1f\x8b" if name.endswith(".gz") else b"\xd4\xc3\xb2\xa1") + bytes(20)
    path.write_bytes(content)
    with pytest.raises(FileExistsError, match="is a capture") as caught, writing(path):
        pass
    assert caught.value.filename == str(path)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (content, [path])


def test_a_missing_folder_is_reported_with_the_name_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "no" / "out.json"
    with pytest.raises(FileNotFoundError) as caught, writing(path):
        pass
    assert caught.value.filename == str(path)


def test_a_device_is_written_directly() -> None:
    with writing(Path(os.devnull)) as out:
        out.write(b"gone")
    assert Path(os.devnull).is_char_device()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with writing(link) as out:
        out.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_folder_for_output_is_private(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    make_folder(tmp_path / "a" / "b")
