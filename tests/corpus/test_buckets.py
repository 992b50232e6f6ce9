"""A bucket within little memory is taken in parts, with the same result."""

from pathlib import Path

import pytest

from tests.corpus.test_splitting import task_of
from vmtrace.corpus.buckets import BucketTask, analyze_bucket
from vmtrace.corpus.splitting import split


def test_little_memory_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    split(task_of(tmp_path, buckets=1))
    monkeypatch.setattr("vmtrace.corpus.buckets._ROOM_SHARE", 1.0)
    results = []
    for number, memory in enumerate((1 << 30, 40_000)):
        out = tmp_path / f"out{number}"
        analyze_bucket(BucketTask(str(tmp_path / "work"), 0, str(out), json=True, memory_bytes=memory))
        results.append([(out / f"buckets/00000{end}").read_bytes() for end in (".document", ".orders", ".json")])
    assert results[0] == results[1]
