"""Fields that differ between two builds: changed ones first, added keys apart, lists of other lengths as a whole."""

import json
from pathlib import Path

import pytest

from tools import engine_net_diff


def _leave(folder: Path, **documents: object) -> Path:
    folder.mkdir()
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def test_a_field_of_a_list_is_one_line_for_all_its_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = _leave(tmp_path / "old", a={"list": [{"n": 1}, {"n": 2}]}, b={"list": []})
    new = _leave(tmp_path / "new", a={"list": [{"n": 3}, {"n": 4}]}, b={"list": []})
    assert engine_net_diff.main([str(old), str(new), "--examples", "1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "list[].n: 2 in 1 captures"
    assert lines[1].strip() == "a.json list[0].n: 1 -> 3"
    assert lines[-1] == "2 captures compared, 1 fields differ"


def test_added_keys_come_after_changed_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = _leave(tmp_path / "old", a={"z": 1})
    new = _leave(tmp_path / "new", a={"added": None, "z": 2})
    assert engine_net_diff.main([str(old), str(new)]) == 1
    fields = [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    assert fields[:2] == ["z", "added"]


def test_equal_outputs_differ_in_nothing(tmp_path: Path) -> None:
    folder = _leave(tmp_path / "old", a={"z": [1, {"y": None}]})
    assert engine_net_diff.main([str(folder), str(folder)]) == 0


def test_folders_without_a_common_capture_are_an_error(tmp_path: Path) -> None:
    folders = _leave(tmp_path / "old", a={}), _leave(tmp_path / "new", b={})
    assert engine_net_diff.main([str(folder) for folder in folders]) == 2
