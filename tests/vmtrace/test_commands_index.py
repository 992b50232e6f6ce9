"""`vmtrace index` writes an index next to each capture, or says in one line why there is none."""

from pathlib import Path

import pytest

from tests.corpus import captures_made as made
from vmtrace.cli import run


def captures(folder: Path, *, packed: bool = False) -> list[str]:
    files = made.rotated(made.merged(made.talks(30)), 2)
    return [str(path) for path in made.written(folder, files, packed=packed)]


def test_each_capture_gets_an_index_of_its_owner_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = captures(tmp_path)
    assert run(["index", *paths]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wrote: ")]
    assert shown == [f"wrote: {path}.vmtrace-index" for path in paths]
    assert all(Path(f"{path}.vmtrace-index").stat().st_mode & 0o777 == 0o600 for path in paths)
    # A folder of captures with their indexes is read as one of captures.
    assert run(["analyze", str(tmp_path), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_what_has_no_index_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = captures(tmp_path, packed=True)
    (tmp_path / "notes.txt").write_text("no capture")
    assert run(["index", paths[0], str(tmp_path / "notes.txt"), str(tmp_path / "none.pcap")]) == 1
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 3
    assert all(line.startswith("vmtrace: ") for line in shown)
    assert any("it is compressed" in line for line in shown)
    assert not list(tmp_path.glob("*.vmtrace-index"))


def test_one_index_is_written_where_it_is_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = captures(tmp_path)
    assert run(["index", paths[0], "--out", str(tmp_path / "elsewhere"), "--quiet"]) == 0
    assert (tmp_path / "elsewhere").exists()
    assert run(["index", *paths, "--out", str(tmp_path / "elsewhere")]) == 2
    assert "the indexes of several" in capsys.readouterr().err
