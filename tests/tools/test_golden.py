"""Golden files: a text that differs fails with what to do, and is written where that is asked for."""

from pathlib import Path

import pytest

from tests import golden


def test_what_differs_fails_until_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden, "FOLDER", tmp_path)
    monkeypatch.delenv(golden.WRITES, raising=False)
    with pytest.raises(AssertionError, match=r"x\.txt differs: if it should, make golden"):
        golden.check("x", "one  \ntwo")
    monkeypatch.setenv(golden.WRITES, "1")
    golden.check("x", "one  \ntwo")
    monkeypatch.delenv(golden.WRITES)
    golden.check("x", "one\ntwo\n")
    with pytest.raises(AssertionError):
        golden.check("x", "one\nthree\n")
