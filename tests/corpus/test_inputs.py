"""Captures are found with their versions and starts; what is none is a line."""

from pathlib import Path

import pytest

from tests.corpus import captures_made as made
from vmtrace.corpus.inputs import check_unchanged, find


def test_captures_have_their_starts_and_others_a_line(tmp_path: Path) -> None:
    paths = made.written(tmp_path, made.rotated(made.merged(made.talks(10)), 2), packed=True)
    (tmp_path / "a.txt").write_text("no capture")
    found = find([str(tmp_path / "*")], None)
    assert [one.name for one in found.inputs] == [str(path) for path in paths]
    assert found.starts_ns[0] == made.START_NS
    assert (found.starts_ns[1] or 0) > made.START_NS
    assert len(found.problems) == 1
    assert "left out" in found.problems[0]
    assert found.inputs[0].head() == paths[0].read_bytes()[: 64 << 10]


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    [path] = made.written(tmp_path, [made.merged(made.talks(3))])
    found = find([str(path)], None)
    check_unchanged(found.inputs)
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(OSError, match="it was changed"):
        check_unchanged(found.inputs)
