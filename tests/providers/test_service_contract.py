"""What every service must do, by each adapter against a real server over TLS."""

import gc
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.providers.real_services import ALL, SOME, Bench, restored
from vmtrace.providers import registry
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.files import craft
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import Service, Target


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_a_file_comes_back_as_it_was_and_is_gone_after_removal(bench: Bench, service: Service, tmp_path: Path) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 300_000), service.part_bytes)
    service.login()
    stored = service.upload("vmtrace-x/0001/00001", file)
    assert stored.digest_ok is True
    restored(service, stored.reference)
    sink = DigestSink()
    assert service.download(stored.reference, sink) == 0
    assert (sink.size_bytes, sink.sha256()) == (300_000, file.sha256)
    if service.lists_at_once:
        assert list(service.own_objects("vmtrace-x/")) == [stored.reference]
        assert list(service.own_objects("vmtrace-y/")) == []
    service.abandon_uploads("vmtrace-x/")
    service.delete([stored.reference])
    if bench.options.get("api") != "vault":  # moto fails there
        service.delete([stored.reference])  # what is gone already is fine
    service.remove_container()
    assert bench.told(service.login).kind == ErrorKind.NO_SUCH_CONTAINER
    if bench.options.get("api") != "vault":  # moto fails there
        service.remove_container()


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_the_sdk_and_what_it_is_set_to_are_known(bench: Bench, service: Service) -> None:
    assert service.sdk.name in {"boto3", "azure-storage-blob", "python-swiftclient"}
    assert service.sdk.version[0].isdigit()
    assert service.sdk.settings
    assert service.endpoint.startswith("https://127.0.0.1:")


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_a_container_that_is_there_already_is_a_name_clash(bench: Bench, service: Service) -> None:
    assert bench.told(bench.client().create_container).kind == ErrorKind.NAME_CLASH


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_a_container_that_is_not_there_is_reported(bench: Bench) -> None:
    error = bench.told(bench.client("vmtrace-nowhere").login)
    assert error.kind == ErrorKind.NO_SUCH_CONTAINER
    assert "leave --bucket out" in error.shown("x")


@pytest.mark.parametrize("bench", SOME, indirect=True)
def test_a_container_with_something_of_somebody_else_stays(bench: Bench, service: Service, tmp_path: Path) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 10), None)
    service.upload("precious", file)
    assert bench.told(service.remove_container).kind == ErrorKind.CONTAINER_NOT_EMPTY
    service.delete(["precious"])
    service.remove_container()


@pytest.mark.parametrize("bench", SOME, indirect=True)
def test_wrong_credentials_are_reported(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("ST_KEY", "wrong")
    shown = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    key = shown.partition("AccountKey=")[2].partition(";")[0]
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", shown.replace(key, "d3Jvbmc=") if key else shown)
    assert bench.told(bench.client().login).kind in {ErrorKind.CREDENTIALS, ErrorKind.ACCESS_DENIED}


@pytest.mark.parametrize("bench", ["s3", "glacier-vault", "swift"], indirect=True)
def test_no_credentials_are_reported_with_where_to_put_them(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ST_AUTH", "ST_USER", "ST_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert bench.told(lambda: bench.client().login()).kind == ErrorKind.CREDENTIALS


def test_azure_without_credentials_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(ServiceError) as refused:
        registry.build(registry.find("azure"), Target("azure-blob", "box"))
    assert refused.value.kind == ErrorKind.CREDENTIALS
    assert "set AZURE_STORAGE_CONNECTION_STRING" in refused.value.shown("azure-blob")


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_a_certificate_that_is_not_trusted_is_reported(bench: Bench, tmp_path: Path) -> None:
    import trustme

    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    error = bench.told(bench.client(ca_bundle=other).login)
    assert error.kind == ErrorKind.TLS_VERIFICATION
    assert "--ca-bundle" in error.shown("x")


@pytest.mark.parametrize("bench", SOME, indirect=True)
def test_an_endpoint_where_nobody_listens_is_gone(bench: Bench) -> None:
    bench.options.update({"max_attempts": "1"} if bench.provider.name == "s3" else {})
    url = "http://127.0.0.1:1/devstoreaccount1" if bench.provider.name == "azure-blob" else "http://127.0.0.1:1"
    assert bench.told(bench.client(endpoint_url=url).login).kind == ErrorKind.ENDPOINT_GONE


@contextmanager
def no_collection() -> Iterator[None]:
    """The garbage collector comes only when it is called."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def connections_to(port: int) -> int:
    """How many TCP connections of this process to this port are open, whoever holds them."""
    found = [one for one in gc.get_objects() if isinstance(one, socket.socket) and one.fileno() >= 0]
    return sum(one.type == socket.SOCK_STREAM and one.getpeername()[1] == port for one in found if _connected(one))


def _connected(one: socket.socket) -> bool:
    try:
        return bool(one.getpeername())
    except OSError:
        return False


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_no_connection_outlives_the_close_of_its_client(bench: Bench, service: Service, tmp_path: Path) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 300_000), service.part_bytes)
    service.login()
    port = urlsplit(service.endpoint).port or 443
    service.close()
    with no_collection():
        before = connections_to(port)  # of other clients of the same server, if there are any
        for step in range(2):
            client = bench.client()
            client.login()
            stored = client.upload(f"vmtrace-x/{step}", file)
            restored(client, stored.reference)
            client.download(stored.reference, DigestSink())
            client.delete([stored.reference])
            assert connections_to(port) > before
            client.close()
            assert connections_to(port) == before
            client.close()  # a second time does no harm
    last = bench.client()
    last.login()
    last.remove_container()
    last.close()


@pytest.mark.parametrize("bench", [one for one in SOME if one.values[0] == "s3"], indirect=True)
def test_a_certificate_file_that_is_not_there_and_a_region_that_is_not_valid_are_reported_with_the_remedy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = bench.client(region="mars")
    error = bench.told(client.create_container)
    client.close()
    assert error.kind == ErrorKind.UNSUPPORTED
    assert "--region" in error.shown("s3")
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere.pem")
    client = bench.client()
    error = bench.told(client.login)
    client.close()
    assert error.kind == ErrorKind.TLS_VERIFICATION
    assert "AWS_CA_BUNDLE" in error.shown("s3")
