"""The commands of a corpus: splitting, buckets, results, questions and the page, from files and from a store."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus import captures_made as made
from tests.corpus.oracle import assert_same
from vmtrace.analyze.read.stores import store
from vmtrace.cli import run
from vmtrace.corpus.inputs import CapturesFound
from vmtrace.corpus.running import Done, Run
from vmtrace.lab.services.object_store import Faults, ObjectStore, started


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    (tmp_path / "store/bucket").mkdir(parents=True)
    with started(tmp_path / "store", Faults(page_keys=2, unavailable_every=9, cut_every=7, slow_s=0.005)) as running:
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
    answer = capsys.readouterr().out.splitlines()[-5:]
    assert "more finding" in answer[0]
    assert answer[1] == "40 connections in 3 captures"
    assert answer[2] == f"wrote: {out}/"
    assert answer[4].startswith(f"next:  vmtrace corpus query {out} ")
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
    shown = capsys.readouterr()
    assert "notes.txt: text, not a capture" in shown.err
    here, there = [json.loads(text) for text in (_document(tmp_path, paths), _stored(objects, "out/analysis.json"))]
    assert here["connections"] == there["connections"]
    statuses = Counter(one.status for one in objects.requests)
    assert statuses[503] > 5
    assert objects.counts["body"] // 7 > 5
    assert run(["corpus", "query", out, "SELECT count(*) AS n FROM connections", "--format", "csv"]) == 0
    assert capsys.readouterr().out == '"n"\n40\n'


def lengths(objects: ObjectStore, below: str) -> dict[str, int]:
    """Of objects below a key, the bytes that GETs have asked for."""
    found: Counter[str] = Counter()
    for one in objects.requests:
        if one.method == "GET" and one.range and one.key.startswith(below):
            first, last = one.range.removeprefix("bytes=").split("-")
            found[one.key] += int(last) - int(first) + 1
    return dict(found)


def test_a_whole_run_asks_for_each_byte_once(tmp_path: Path, objects: ObjectStore) -> None:
    objects.faults = Faults()
    for path in files_in(tmp_path / "in", 200, 4):
        objects.put("bucket", f"in/{Path(path).name}", Path(path).read_bytes())
    words = ["corpus", "analyze", "s3://bucket/in/*", "--out", "s3://bucket/out", "--buckets", "5", "--keep-slices"]
    assert run([*words, "--quiet"]) == 0
    for key, asked in lengths(objects, "bucket/in/").items():
        size = (objects.folder / key).stat().st_size
        assert size > 1 << 17
        # The first look at each capture, when it starts, is on top.
        assert asked == size + (64 << 10)
    slices = lengths(objects, "bucket/out/slices/")
    assert slices == {key: (objects.folder / key).stat().st_size for key in slices}
    assert len(slices) == 5
    gets = Counter(one.key.split("/")[1:3][-1] for one in objects.requests if one.method == "GET" and one.range)
    # A look, the start, the rest of each capture; of each slice start and rest; then what buckets left.
    assert sum(count for key, count in gets.items() if key.endswith(".pcap")) == 3 * 4
    assert gets["slices"] == 2 * 5
    assert gets.total() < 3 * 4 + 5 * 20


def test_an_object_that_changes_within_a_run_ends_it_with_a_line(
    tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in files_in(tmp_path / "in"):
        objects.put("bucket", f"in/{Path(path).name}", Path(path).read_bytes())
    true = Run.of

    def of(self: Run, found: CapturesFound) -> Done:
        objects.put("bucket", "in/cap-001.pcap", Path(tmp_path / "in/cap-001.pcap").read_bytes() + b"more")
        return true(self, found)

    monkeypatch.setattr(Run, "of", of)
    words = ["corpus", "analyze", "s3://bucket/in/*", "--out", "s3://bucket/out", "--buckets", "3", "--quiet"]
    assert run(words) == 1
    [line] = capsys.readouterr().err.splitlines()
    assert "in/cap-001.pcap: it was changed while it was read: analyse a copy of it" in line
    assert not (objects.folder / "bucket/out/connections").exists()


@pytest.mark.parametrize(
    ("url", "faults", "what"),
    [
        ("s3://nobody/in/*", Faults(), "no such bucket"),
        ("s3://bucket/none/*", Faults(), "no object matches"),
        ("s3://bucket/none/", Faults(), "no object matches"),
        ("s3://bucket/in/*", Faults(denied=True), "access denied"),
        ("s3://bucket/in/*", Faults(elsewhere=True), "set AWS_REGION to its region"),
    ],
)
def test_what_cannot_be_listed_is_a_line_that_says_what_to_do(
    url: str, faults: Faults, what: str, tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str]
) -> None:
    objects.put("bucket", "in/a.pcap", b"x")
    objects.faults = faults
    assert run(["corpus", "analyze", url, "--out", str(tmp_path / "out")]) == 1
    first, last = capsys.readouterr().err.splitlines()
    assert what in first
    assert last == "vmtrace: no captures to analyse"
    assert not (tmp_path / "out").exists()


def test_without_credentials_a_line_says_which_to_set(
    tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in objects.environment():
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(store, "_MOST_RETRIES", 0)
    words = ["--out", str(tmp_path / "out"), "--endpoint-url", objects.endpoint_url]
    assert run(["corpus", "analyze", "s3://bucket/in/*", *words]) == 1
    assert "no credentials: set AWS_ACCESS_KEY_ID" in capsys.readouterr().err


def test_more_keys_than_a_run_takes_are_refused(
    tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.analyze.read.stores.listing.MOST_OBJECTS", 5)
    for number in range(7):
        objects.put("bucket", f"in/{number}.pcap", b"x")
    assert run(["corpus", "analyze", "s3://bucket/in/*", "--out", str(tmp_path / "out")]) == 1
    assert "narrower pattern" in capsys.readouterr().err


def test_results_that_are_there_are_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths, out = files_in(tmp_path / "in"), str(tmp_path / "out")
    assert run(["corpus", "analyze", *paths[:2], "--out", out, "--quiet"]) == 0
    assert run(["corpus", "analyze", *paths, "--out", out, "--quiet"]) == 1
    assert "results of other captures are here: name another --out" in capsys.readouterr().err
    assert run(["corpus", "analyze", *paths, "--out", f"{out}2", "--filter", "tcp prot 443"]) == 2
    assert "tcp prot 443" in capsys.readouterr().err


def _document(tmp_path: Path, paths: list[str]) -> bytes:
    assert run(["analyze", *paths, "--merge", "--quiet", "--json", str(tmp_path / "one.json")]) == 0
    return (tmp_path / "one.json").read_bytes()


def _stored(objects: ObjectStore, key: str) -> bytes:
    return (objects.folder / "bucket" / key).read_bytes()


def test_wrong_usage_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["corpus", "analyze", "s3://", "--out", str(tmp_path)]) == 1
    assert run(["corpus", "split", str(tmp_path / "none"), "--buckets", "2", "--to", str(tmp_path)]) == 1
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 4
    assert all(line.startswith("vmtrace: ") for line in shown)
