"""Objects are read where a file is: in ranges, of one version, and with one line for whatever goes wrong."""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from vmtrace.analyze.read import capture_files, stores
from vmtrace.analyze.read.stores import listing, reader, store, upload
from vmtrace.analyze.read.stores.listing import ObjectUrl
from vmtrace.analyze.trace import Options, read
from vmtrace.cli import run
from vmtrace.lab.services.object_store import Faults, ObjectStore, started

SAMPLES = Path(__file__).parents[2] / "samples"


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    folder = tmp_path / "store"
    (folder / "bucket").mkdir(parents=True)
    store.opened.cache_clear()
    with started(folder, Faults()) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("AWS_PROFILE", raising=False)
        yield running
    store.opened.cache_clear()


def two_captures(objects: ObjectStore) -> list[str]:
    names = ["tls13.pcap", "lossy-sender.pcap"]
    for name in names:
        objects.put("bucket", f"day/{name}", (SAMPLES / name).read_bytes())
    return sorted(f"s3://bucket/day/{name}" for name in names)


def test_urls_are_told_from_files() -> None:
    assert stores.is_url("s3://bucket/key")
    assert stores.is_url("HTTPS://host/x")
    assert not stores.is_url("s3:/bucket/key")
    assert not stores.is_url("traces/file.pcap")
    assert not stores.is_url(Path("x"))
    assert not stores.is_url("ftp://host/x")
    assert stores.parsed("s3://bucket/a/b").url == "s3://bucket/a/b"
    assert stores.url_of(Path("s3://bucket/a")) == "s3://bucket/a"
    assert stores.url_of(Path("a/b")) is None
    assert stores.url_of("gs://bucket/a") == "gs://bucket/a"
    assert stores.url_of("-") is None
    assert stores.parsed("s3://bucket/a/*.pcap").is_pattern
    assert not stores.parsed("https://host/a?b=[1]").is_pattern
    with pytest.raises(stores.PlaceError, match="names no bucket"):
        stores.parsed("s3:///key")


def test_patterns_of_keys_are_those_of_a_shell(objects: ObjectStore) -> None:
    for key in ("a/one.pcap", "a/two.pcap.gz", "a/b/three.pcap", "c/four.pcap", "a/.empty"):
        objects.put("bucket", key, b"" if "empty" in key else b"x")
    objects.faults.page_keys = 2

    def found(pattern: str) -> list[str]:
        return [one.removeprefix("s3://bucket/") for one in listing.find(f"s3://bucket/{pattern}")]

    assert found("a/*.pcap") == ["a/one.pcap"]
    assert found("**/*.pcap") == ["a/b/three.pcap", "a/one.pcap", "c/four.pcap"]
    assert found("a/t?o.pcap.*") == ["a/two.pcap.gz"]
    assert found("a/[!o]*") == ["a/two.pcap.gz"]
    assert found("a/") == ["a/b/three.pcap", "a/one.pcap", "a/two.pcap.gz"]
    assert found("") == ["a/b/three.pcap", "a/one.pcap", "a/two.pcap.gz", "c/four.pcap"]
    assert found("none/*") == []


def test_objects_give_the_results_of_files(objects: ObjectStore) -> None:
    urls = two_captures(objects)
    files = [str(SAMPLES / url.rpartition("/")[2]) for url in urls]
    by_url, by_file = read(*urls, options=Options(packets_of=())), read(*files)
    assert by_url.json()["connections"] == by_file.json()["connections"]
    assert by_url.paths == urls
    assert by_url.packets(1).values("frame") == by_file.packets(1).values("frame")


def test_a_store_that_fails_now_and_then_is_asked_again(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "RANGE_BYTES", 10_000)
    monkeypatch.setattr(reader, "FIRST_BYTES", 1_000)
    objects.faults.unavailable_every, objects.faults.cut_every = 5, 4
    urls = two_captures(objects)
    assert read(*urls).json()["connections"] == read(*[str(SAMPLES / url[16:]) for url in urls]).json()["connections"]
    statuses = [request.status for request in objects.requests]
    assert 503 in statuses
    assert objects.counts["body"] > 8


def test_each_byte_is_asked_for_once(objects: ObjectStore) -> None:
    content = (SAMPLES / "offload-sender.pcap").read_bytes()
    objects.put("bucket", "one.pcap", content)
    read("s3://bucket/one.pcap")
    ranges = [request.range for request in objects.requests if request.method == "GET" and request.range]
    ends = [(0, reader.FIRST_BYTES - 1), (reader.FIRST_BYTES, len(content) - 1)]
    assert ranges == [f"bytes={first}-{last}" for first, last in ends]


def test_an_object_that_changes_meanwhile_is_an_error_that_says_so(objects: ObjectStore) -> None:
    objects.put("bucket", "one.pcap", (SAMPLES / "tls13.pcap").read_bytes())
    seen = listing.head("s3://bucket/one.pcap")
    objects.put("bucket", "one.pcap", (SAMPLES / "tls13.pcap").read_bytes() + b"more")
    with pytest.raises(OSError, match="it was changed while it was read"):
        read(seen)
    with pytest.raises(OSError, match="it was changed while it was read"):
        reader.get_range(ObjectUrl(seen, seen.size_bytes, '"another"'), 0, 10)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("s3://bucket/none.pcap", "no such object"),
        ("s3://nobody/one.pcap", "no such"),
        ("s3://nobody/", "no such bucket"),
        ("s3://bucket/empty/", "no object matches"),
        ("s3://", "names no bucket"),
        ("http://127.0.0.1:9/one.pcap", "cannot connect"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(
    objects: ObjectStore, name: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_MOST_RETRIES", 0)
    [problem] = capture_files.find([name]).problems
    assert what in problem
    assert "\n" not in problem
    assert name.rstrip("/") in problem


def test_refusals_say_what_to_do(objects: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    objects.put("bucket", "one.pcap", b"x")
    objects.faults.denied = True
    assert "access denied" in capture_files.find(["s3://bucket/*"]).problems[0]
    objects.faults.denied, objects.faults.elsewhere = False, True
    assert "set AWS_REGION" in capture_files.find(["s3://bucket/*"]).problems[0]
    for name in objects.environment():
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setattr(store, "_MOST_RETRIES", 0)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store.opened.cache_clear()
    assert "no credentials" in capture_files.find(["s3://bucket/*"], objects.endpoint_url).problems[0]


def test_the_command_reads_and_writes_objects(objects: ObjectStore, capsys: pytest.CaptureFixture[str]) -> None:
    two_captures(objects)
    out = "s3://bucket/out"
    command = ["analyze", "s3://bucket/day/*.pcap", "--quiet", "--endpoint-url", objects.endpoint_url]
    outputs = ["--json", f"{out}/all.json", "--parquet", f"{out}/tables", "--report", f"{out}/page.html"]
    assert run([*command, *outputs]) == 0, capsys.readouterr().err
    written = {
        path.relative_to(objects.folder / "bucket/out").as_posix()
        for path in (objects.folder / "bucket/out").rglob("*.*")
    }
    assert written == {
        "all.json",
        "page.html",
        "tables/connections.parquet",
        "tables/findings.parquet",
        "tables/flows.parquet",
        "tables/lookups.parquet",
        "tables/syns.parquet",
    }
    assert len(json.loads((objects.folder / "bucket/out/all.json").read_bytes())["inputs"]) == 2


def test_a_web_server_is_read_and_not_written(objects: ObjectStore, capsys: pytest.CaptureFixture[str]) -> None:
    objects.put("bucket", "one.pcap", (SAMPLES / "tls13.pcap").read_bytes())
    url = f"{objects.endpoint_url}/bucket/one.pcap"
    assert len(read(url)) == len(read(SAMPLES / "tls13.pcap"))
    assert run(["analyze", url, "--quiet", "--json", f"{objects.endpoint_url}/bucket/x.json"]) == 1
    assert "web servers are read-only" in capsys.readouterr().err
    with pytest.raises(OSError, match="name an object or a prefix"):
        upload.check_writable("s3://bucket")


def test_an_object_is_written_whole(objects: ObjectStore) -> None:
    def half(local: Path) -> None:
        local.write_bytes(b"one")
        raise RuntimeError

    upload.write_to("s3://bucket/a/b.bin", lambda local: local.write_bytes(b"onetwo"))
    assert (objects.folder / "bucket/a/b.bin").read_bytes() == b"onetwo"
    with suppress(RuntimeError):
        upload.write_to("s3://bucket/a/c.bin", half)
    assert not (objects.folder / "bucket/a/c.bin").exists()
