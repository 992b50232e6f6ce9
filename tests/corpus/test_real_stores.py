"""A corpus in real servers of the stores' protocols, over TLS: results as from files."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.corpus.oracle import assert_same
from tests.corpus.test_commands import files_in
from vmtrace.analyze.read.stores import listing, store, upload
from vmtrace.analyze.read.stores.reader import get_range
from vmtrace.cli import run
from vmtrace.lab.services.object_store import started
from vmtrace.lab.services.service import Service


@contextmanager
def fresh_clients() -> Iterator[None]:
    store.opened.cache_clear()
    yield
    store.opened.cache_clear()


def analyze_there(root: str, tmp_path: Path) -> None:
    """Captures go to a store, are analysed there, and the results come back; they are those of files."""
    paths = files_in(tmp_path / "in")
    with fresh_clients():
        for path in paths:
            upload.put(f"{root}/in/{Path(path).name}", Path(path))
        out = f"{root}/out"
        words = ["corpus", "analyze", f"{root}/in/*.pcap", "--out", out, "--json", "--buckets", "3", "--quiet"]
        assert run(words) == 0
        assert run(["index", f"{root}/in/{Path(paths[0]).name}", "--quiet"]) == 0
        left = listing.find(f"{out}/")
        for found in left:
            place = tmp_path / "out" / str(found).removeprefix(f"{out}/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(get_range(found, 0, found.size_bytes))
    # Paths in the document are URLs there.
    document = (tmp_path / "out/analysis.json").read_bytes()
    (tmp_path / "out/analysis.json").write_bytes(document.replace(f"{root}/in".encode(), str(tmp_path / "in").encode()))
    assert_same(tmp_path / "out", paths)
    assert not any("/slices/" in str(found) for found in left)


@pytest.mark.long  # Swift refuses a signature now and then
def test_a_corpus_in_swifts_s3_is_analysed_there(
    tmp_path: Path, swift_service: Service, client_of: Callable[[Service], None]
) -> None:
    import boto3

    client_of(swift_service)
    boto3.client("s3").create_bucket(Bucket="corpus-swift")
    analyze_there("s3://corpus-swift/here", tmp_path)


@pytest.mark.may_skip
def test_a_corpus_in_azure_blob_is_analysed_there(
    tmp_path: Path, azurite_service: Service, client_of: Callable[[Service], None]
) -> None:
    from azure.storage.blob import BlobServiceClient

    client_of(azurite_service)
    client = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
    client.create_container("corpus-azurite")
    analyze_there("az://corpus-azurite/here", tmp_path)


def test_a_corpus_in_googles_protocol_is_analysed_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store/corpus-google").mkdir(parents=True)
    with started(tmp_path / "store") as objects:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", objects.endpoint_url)
        analyze_there("gs://corpus-google/here", tmp_path)
    assert any(request.method == "GET" and request.range for request in objects.requests)
