"""The commands of a corpus: splitting, buckets, results, questions and the page, from files and from a store."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analyze.stores import store
from lab.services.object_store import Faults, ObjectStore, started
from tests.corpus import captures_made as made
from tests.corpus.oracle import assert_same
from vmtrace.cli import run


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    (tmp_path / "store/bucket").mkdir(parents=True)
    with started(tmp_path / "store", Faults(page_keys=2, unavailable_every=9, cut_every=7)) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        store.opened.cache_clear()
        yield running
    store.opened.cache_clear()


def files_in(folder: Path, count: int = 40, files: int = 3) -> list[str]:
    return [str(path) for path in made.written(folder, made.rotated(made.merged(made.talks(count)), files))]


def test_two_commands_and_a_merge_give_the_result_of_one_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths, work, out = files_in(tmp_path / "in"), str(tmp_path / "work"), str(tmp_path / "out")
    for path in [*paths, paths[0]]:
        assert run(["corpus", "split", path, "--buckets", "2", "--to", work]) == 0
    for bucket in ("0", "1", "1"):
        assert run(["corpus", "bucket", work, "--bucket", bucket, "--out", out, "--json"]) == 0
    assert run(["corpus", "merge", work, "--out", out, "--json"]) == 0
    assert_same(tmp_path / "out", paths)
    answer = capsys.readouterr().out.splitlines()[-4:]
    assert "slowed" in answer[0] or "limited" in answer[0]
    assert answer[1].startswith("40 connections in 3 captures")
    assert run(["corpus", "bucket", work, "--bucket", "2", "--out", out]) == 1
    assert "--bucket: from 0 to 1, not 2" in capsys.readouterr().err


def test_a_corpus_in_a_store_with_faults_gives_the_result_of_files(
    tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = files_in(tmp_path / "in")
    for path in paths:
        objects.put("bucket", f"in/{Path(path).name}", Path(path).read_bytes())
    objects.put("bucket", "in/notes.txt", b"no capture")
    out = "s3://bucket/out"
    assert run(["corpus", "analyze", "s3://bucket/in/*", "--out", out, "--json", "--buckets", "3"]) == 0
    told = capsys.readouterr()
    assert "notes.txt: text, not a capture" in told.err
    here, there = [json.loads(text) for text in (_document(tmp_path, paths), _stored(objects, "out/analysis.json"))]
    assert here["connections"] == there["connections"]
    assert run(["corpus", "query", out, "SELECT count(*) AS n FROM connections", "--format", "csv"]) == 0
    assert capsys.readouterr().out == '"n"\n40\n'


def _document(tmp_path: Path, paths: list[str]) -> bytes:
    assert run(["analyze", *paths, "--merge", "--quiet", "--json", str(tmp_path / "one.json")]) == 0
    return (tmp_path / "one.json").read_bytes()


def _stored(objects: ObjectStore, key: str) -> bytes:
    return (objects.folder / "bucket" / key).read_bytes()


def test_wrong_usage_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpus", "analyze", "s3://", "--out", str(tmp_path)]) == 1
    assert run(["corpus", "split", str(tmp_path / "none"), "--buckets", "2", "--to", str(tmp_path)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 4
    assert all(line.startswith("vmtrace: ") for line in told)
