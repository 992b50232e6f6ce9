"""What is written to a folder or a prefix appears whole, once, and readable by its owner alone."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.analyze.read.stores import store
from vmtrace.corpus.folder import Folder, LocalFolder, folder
from vmtrace.lab.services.object_store import started


@pytest.fixture(params=["folder", "store"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Folder]:
    if request.param == "folder":
        yield folder(str(tmp_path / "out"))
        return
    (tmp_path / "bucket").mkdir()
    with started(tmp_path) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        store.opened.cache_clear()
        running.faults.page_keys = 2
        yield folder("s3://bucket/out/", running.endpoint_url)
    store.opened.cache_clear()


def test_files_come_back_as_they_were_put(place: Folder, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"from a file")
    place.put("buckets/a.json", b"one")
    place.put("deep/b.bin", tmp_path / "source")
    place.put("deep/c.bin", b"")
    assert (place.get("buckets/a.json"), place.get("deep/b.bin"), place.get("none")) == (b"one", b"from a file", None)
    assert [name for name in place.names("deep") if name != "deep/c.bin"] == ["deep/b.bin"]
    assert place.local("deep/b.bin", tmp_path).read_bytes() == b"from a file"
    assert place.holds("buckets/a.json", 3)
    place.remove("deep")
    assert place.get("deep/b.bin") is None
    assert place.names("deep") == []


def test_slices_are_what_was_written_bucket_by_bucket(place: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.corpus.folder._HELD_BYTES", 10)
    for _ in range(2):
        writer = place.slices("slices/key")
        for bucket, piece in ((1, b"one"), (0, b"zero"), (1, b"and more of one"), (0, b"!")):
            writer.write(bucket, piece)
        slices = writer.finish()
        found = {bucket: b"".join(place.get(name) or b"" for name, _ in pieces) for bucket, pieces in slices.items()}
        assert found == {0: b"zero!", 1: b"oneand more of one"}
        assert all(len(place.get(name) or b"") == size for pieces in slices.values() for name, size in pieces)


def test_there_may_be_more_slices_than_open_files(tmp_path: Path) -> None:
    few, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(few, 256), most))
    try:
        writer = LocalFolder(tmp_path).slices("slices/key")
        for bucket in [*range(400), *range(400)]:
            writer.write(bucket, b"piece")
        slices = writer.finish()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, most))
    assert {size for [(_, size)] in slices.values()} == {10}
    assert len(slices) == len(list((tmp_path / "slices/key").iterdir())) == 400


def test_files_of_a_folder_are_the_owners_alone(tmp_path: Path) -> None:
    place = LocalFolder(tmp_path / "out")
    place.put("buckets/a", b"x")
    place.put("b", b"x")
    writer = place.slices("slices/key")
    writer.write(0, b"x")
    writer.finish()
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert not place.holds("b", 2)
    assert not place.holds("c", 1)


def test_nothing_is_written_to_a_web_server() -> None:
    with pytest.raises(OSError, match="web servers are read-only"):
        folder("https://host/out")


def test_the_store_of_the_tests_counts_what_it_is_asked(tmp_path: Path) -> None:
    with started(tmp_path) as running:
        assert running.requests == []


def test_a_file_on_the_same_disk_is_not_written_twice(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"a table")
    made.chmod(0o644)
    folder(str(tmp_path / "out")).put("table.parquet", made)
    found = tmp_path / "out/table.parquet"
    assert found.read_bytes() == b"a table"
    assert found.stat().st_ino == made.stat().st_ino
    assert found.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["table.parquet"]
