"""A second reading from a store fetches the stretches that it needs, and no others."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.analyze.test_index_file import ONE, capture
from vmtrace.analyze.read.stores import listing, store
from vmtrace.analyze.trace import read
from vmtrace.cli import run
from vmtrace.lab.services.object_store import Faults, ObjectStore, started


@pytest.fixture
def objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    (tmp_path / "store/bucket").mkdir(parents=True)
    with started(tmp_path / "store", Faults()) as running:
        for name, value in running.environment().items():
            monkeypatch.setenv(name, value)
        store.opened.cache_clear()
        yield running
    store.opened.cache_clear()


def fetched(objects: ObjectStore, key: str) -> list[int]:
    """Bytes of each GET of the capture, which are forgotten then."""
    ranges = [one.range for one in objects.requests if one.method == "GET" and one.key == key and one.range]
    objects.requests.clear()
    ends = [range_.removeprefix("bytes=").split("-") for range_ in ranges]
    return [int(last) - int(first) + 1 for first, last in ends]


def test_packets_of_a_connection_cost_a_few_gets_of_its_stretches(tmp_path: Path, objects: ObjectStore) -> None:
    [path] = capture(tmp_path, 1500)
    objects.put("bucket", "big.pcap", Path(path).read_bytes())
    size = Path(path).stat().st_size
    assert run(["index", "s3://bucket/big.pcap"]) == 0
    assert sum(fetched(objects, "bucket/big.pcap")) == size
    [url] = listing.find("s3://bucket/big.pcap")
    trace = read(url, options=ONE)
    assert sum(fetched(objects, "bucket/big.pcap")) == size
    found = pa.table(trace.packets([700]))
    gets = fetched(objects, "bucket/big.pcap")
    assert len(gets) <= 3
    assert sum(gets) < 0.15 * size
    assert found.equals(pa.table(read(path, options=ONE).packets([700])))


def test_a_report_of_a_connection_fetches_its_stretches(tmp_path: Path, objects: ObjectStore) -> None:
    [path] = capture(tmp_path, 1500)
    objects.put("bucket", "big.pcap", Path(path).read_bytes())
    assert run(["index", "s3://bucket/big.pcap", "--quiet"]) == 0
    objects.requests.clear()
    words = ["--connection", "700", "--report", str(tmp_path / "page.html"), "--quiet"]
    assert run(["analyze", "s3://bucket/big.pcap", *words]) == 0
    assert sum(fetched(objects, "bucket/big.pcap")) < 1.2 * Path(path).stat().st_size


def test_an_object_that_was_replaced_makes_its_index_stale(
    tmp_path: Path, objects: ObjectStore, capsys: pytest.CaptureFixture[str]
) -> None:
    [path] = capture(tmp_path, 300)
    content = Path(path).read_bytes()
    objects.put("bucket", "big.pcap", content)
    assert run(["index", "s3://bucket/big.pcap"]) == 0
    objects.put("bucket", "big.pcap", content[:40] + content[40:])
    words = ["--report", str(tmp_path / "page.html"), "--quiet"]
    assert run(["analyze", "s3://bucket/big.pcap", *words]) == 0
    [line] = capsys.readouterr().err.splitlines()
    assert "another ETag now" in line
