"""Golden files: a text that differs fails with what to do, and is written where that is asked for."""

from pathlib import Path

import pytest

from tests import golden_texts


def test_what_differs_fails_until_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(golden_texts, "FOLDER", tmp_path)
    monkeypatch.delenv(golden_texts.WRITES, raising=False)
    with pytest.raises(AssertionError, match=r"x\.txt differs: if it should, make golden"):
        golden_texts.check("x", "one  \ntwo")
    monkeypatch.setenv(golden_texts.WRITES, "1")
    golden_texts.check("x", "one  \ntwo")
    monkeypatch.delenv(golden_texts.WRITES)
    golden_texts.check("x", "one\ntwo\n")
    with pytest.raises(AssertionError):
        golden_texts.check("x", "one\nthree\n")
