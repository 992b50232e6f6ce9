"""Names, patterns and folders become the files to read, in a fixed order."""

import bz2
import gzip
from pathlib import Path

import pytest

from vmtrace.analyze.read.capture_files import find, is_capture

PCAP = b"\xd4\xc3\xb2\xa1" + bytes(20)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.pcap").write_bytes(PCAP)
    (tmp_path / "a.trace").write_bytes(PCAP)
    (tmp_path / "notes.txt").write_text("no capture")
    (tmp_path / "empty.pcap").write_bytes(b"")
    (tmp_path / "sub" / "c.dmp.gz").write_bytes(gzip.compress(PCAP))
    (tmp_path / "sub" / "archive.tar.gz").write_bytes(gzip.compress(b"no capture"))
    return tmp_path


def test_a_folder_gives_the_captures_in_it_by_content(folder: Path) -> None:
    found = find([str(folder)])
    assert [Path(path).name for path in found.paths] == ["a.trace", "b.pcap", "c.dmp.gz"]
    assert found.problems == ()


def test_a_folder_gives_bzip2_and_erf_by_their_names_and_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.pcap.bz2").write_bytes(bz2.compress(PCAP))
    (tmp_path / "b.erf").write_bytes(bytes([7, 0, 1, 2, 3, 4]) + bytes(20))
    (tmp_path / "c.erf").write_bytes(b"")
    (tmp_path / "notes.bz2").write_bytes(bz2.compress(b"no capture"))
    assert [Path(path).name for path in find([str(tmp_path)]).paths] == ["a.pcap.bz2", "b.erf"]


def test_a_folder_without_captures_is_a_problem(tmp_path: Path) -> None:
    found = find([str(tmp_path)])
    assert found.paths == ()
    assert found.problems == (f"{tmp_path}: no capture files in this folder",)


def test_a_pattern_gives_the_files_that_match(folder: Path) -> None:
    assert find([f"{folder}/*.pcap"]).paths == (f"{folder}/b.pcap", f"{folder}/empty.pcap")
    assert find([f"{folder}/**/*.gz"]).paths == (f"{folder}/sub/archive.tar.gz", f"{folder}/sub/c.dmp.gz")


def test_a_pattern_that_matches_nothing_is_a_problem(folder: Path) -> None:
    assert find([f"{folder}/*.cap"]).problems == (f"{folder}/*.cap: no file matches this pattern",)


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    path = tmp_path / "run[1].pcap"
    path.write_bytes(PCAP)
    assert find([str(path)]).paths == (str(path),)


def test_a_file_named_outright_is_taken_whatever_it_holds(folder: Path) -> None:
    assert find([f"{folder}/notes.txt", "gone.pcap", "-"]).paths == (f"{folder}/notes.txt", "gone.pcap", "-")


def test_a_file_named_twice_is_read_once(folder: Path) -> None:
    assert len(find([f"{folder}/b.pcap", str(folder)]).paths) == 3


def test_a_file_of_several_names_is_read_once_by_the_first(folder: Path) -> None:
    (folder / "latest.pcap").symlink_to("b.pcap")
    (folder / "z.pcap").hardlink_to(folder / "a.trace")
    assert [Path(path).name for path in find([str(folder)]).paths] == ["a.trace", "b.pcap", "c.dmp.gz"]
    other_name = f"{folder}/sub/../b.pcap"
    assert find([other_name, f"{folder}/a.trace", f"{folder}/b.pcap"]).paths == (other_name, f"{folder}/a.trace")
    assert find(["/dev/null", "/dev/null", "-", "gone.pcap"]).paths == ("/dev/null", "-", "gone.pcap")


def test_a_capture_is_known_by_its_first_bytes(folder: Path) -> None:
    names = ("a.trace", "notes.txt", "empty.pcap", "sub/c.dmp.gz", "sub/archive.tar.gz", "sub", "gone")
    assert [is_capture(folder / name) for name in names] == [True, False, False, True, False, False, False]


@pytest.mark.parametrize("start", [b"\x0a\x0d\x0d\x0a", b"\xa1\xb2\x3c\x4d", b"snoop\x00"])
def test_every_format_that_is_read_is_found_in_a_folder(tmp_path: Path, start: bytes) -> None:
    (tmp_path / "capture").write_bytes(start + bytes(20))
    assert find([str(tmp_path)]).paths == (f"{tmp_path}/capture",)


def test_an_empty_name_is_a_problem_and_not_the_current_folder() -> None:
    found = find([""])
    assert (found.paths, len(found.problems)) == ((), 1)
