"""A run of captures becomes slices and a manifest, once."""

from dataclasses import replace
from pathlib import Path

from tests.corpus.test_commands import files_in
from vmtrace.corpus.buckets import BucketTask, analyze_bucket
from vmtrace.corpus.inputs import find
from vmtrace.corpus.splitting import SplitTask, manifests, split


def task_of(tmp_path: Path, buckets: int = 3) -> SplitTask:
    return SplitTask(find(files_in(tmp_path / "in"), None).inputs, buckets, str(tmp_path / "work"))


def test_a_task_has_the_same_name_for_whoever_does_it(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    assert task.key == replace(task, to="elsewhere", memory_bytes=1).key
    assert task.key != replace(task, buckets=4).key != replace(task, inputs=task.inputs[:1]).key
    assert task.input_bytes == sum(path.stat().st_size for path in (tmp_path / "in").iterdir())


def test_the_manifest_has_all_slices_and_what_is_known_of_frames(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    [manifest] = manifests(task.to, None, [split(task)])
    assert manifest.packets == sum(header["tcp_packets"] for header in manifest.header)
    written = [path for path in (tmp_path / "work/slices").rglob("*") if path.is_file()]
    assert manifest.slice_bytes == sum(path.stat().st_size for path in written)
    assert len(manifest.names) == 3
    assert not manifest.problems
    assert not manifest.has_frames_without_time


def test_slices_that_were_lost_are_made_again(tmp_path: Path) -> None:
    task = task_of(tmp_path)
    split(task)
    slices = sorted((tmp_path / f"work/slices/{task.key}").iterdir())
    before = [path.read_bytes() for path in slices]
    slices[0].write_bytes(before[0][:-5])
    split(task)
    assert [path.read_bytes() for path in slices] == before


def test_a_bucket_whose_parts_were_lost_is_analysed_again(tmp_path: Path) -> None:
    split(task_of(tmp_path))
    task = BucketTask(str(tmp_path / "work"), 1, str(tmp_path / "out"), json=True)
    analyze_bucket(task)
    lines = tmp_path / "out/buckets/00001.document"
    before = lines.read_bytes()
    lines.write_bytes(b"")
    analyze_bucket(task)
    assert lines.read_bytes() == before
    assert before.count(b"\n") > 3
