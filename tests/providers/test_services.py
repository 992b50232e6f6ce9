"""What every service must do, by each adapter against a real server over TLS; and what its errors mean."""

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.services.service import Service as Server
from providers import registry
from providers.digest_sink import DigestSink
from providers.errors import ErrorKind, ServiceError
from providers.files import craft
from providers.plan import Workload
from providers.registry import Provider
from providers.service import Service, Target

SERVERS = {
    "s3": "swift_service",
    "glacier": "moto_service",
    "glacier-vault": "moto_service",
    "azure-blob": "azurite_service",
    "swift": "swift_service",
}
ALL = [pytest.param(name, marks=pytest.mark.may_skip if "azure" in name else ()) for name in SERVERS]

SOME = [one for one in ALL if one.values[0] in {"s3", "swift", "azure-blob"}]


@dataclass
class Bench:
    """A service with a container of its own."""

    provider: Provider
    container: str
    options: dict[str, str]

    def client(self, container: str | None = None, **more: Any) -> Service:
        target = Target(self.provider.name, container or self.container, options=self.options, **more)
        return registry.build(self.provider, target)

    def told(self, work: Callable[[], object]) -> ServiceError:
        """What the exception means that this raises."""
        try:
            work()
        except ServiceError as error:
            return error
        except Exception as error:  # noqa: BLE001 - every SDK has its own
            return self.provider.error_of(error)
        raise AssertionError("nothing was raised")


@pytest.fixture
def bench(request: pytest.FixtureRequest, client_of: Callable[[Server], None]) -> Bench:
    name: str = request.param
    client_of(request.getfixturevalue(SERVERS[name]))
    options = {"api": "vault"} if name == "glacier-vault" else {}
    fast = {"azure-blob": {"retry_total": "0"}, "swift": {"retries": "0"}}
    return Bench(
        registry.find(name.removesuffix("-vault")), f"vmtrace-{os.urandom(6).hex()}", {**options, **fast.get(name, {})}
    )


@pytest.fixture
def service(bench: Bench) -> Iterator[Service]:
    one = bench.client()
    one.create_container()
    yield one
    one.close()


def restored(service: Service, reference: str) -> None:
    import time

    service.request_restore(reference)
    ends_s = time.monotonic() + 30
    while not service.is_restored(reference):
        assert time.monotonic() < ends_s
        time.sleep(0.2)


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
def test_a_container_that_is_not_there_is_told_of(bench: Bench) -> None:
    error = bench.told(bench.client("vmtrace-nowhere").login)
    assert error.kind == ErrorKind.NO_SUCH_CONTAINER
    assert "leave --bucket out" in error.told("x")


@pytest.mark.parametrize(
    "bench", ["s3", "swift", pytest.param("azure-blob", marks=pytest.mark.may_skip)], indirect=True
)
def test_a_container_with_something_of_somebody_else_stays(bench: Bench, service: Service, tmp_path: Path) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 10), None)
    service.upload("precious", file)
    assert bench.told(service.remove_container).kind == ErrorKind.CONTAINER_NOT_EMPTY
    service.delete(["precious"])
    service.remove_container()


@pytest.mark.parametrize(
    "bench", ["s3", "swift", pytest.param("azure-blob", marks=pytest.mark.may_skip)], indirect=True
)
def test_wrong_credentials_are_told_of(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    monkeypatch.setenv("ST_KEY", "wrong")
    told = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "")
    key = told.partition("AccountKey=")[2].partition(";")[0]
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", told.replace(key, "d3Jvbmc=") if key else told)
    assert bench.told(bench.client().login).kind in {ErrorKind.CREDENTIALS, ErrorKind.ACCESS_DENIED}


@pytest.mark.parametrize("bench", ["s3", "glacier-vault", "swift"], indirect=True)
def test_no_credentials_are_told_of_with_where_to_put_them(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "ST_AUTH", "ST_USER", "ST_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert bench.told(lambda: bench.client().login()).kind == ErrorKind.CREDENTIALS


def test_azure_without_credentials_names_the_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    with pytest.raises(ServiceError) as refused:
        registry.build(registry.find("azure"), Target("azure-blob", "box"))
    assert refused.value.kind == ErrorKind.CREDENTIALS
    assert "set AZURE_STORAGE_CONNECTION_STRING" in refused.value.told("azure-blob")


@pytest.mark.parametrize("bench", ALL, indirect=True)
def test_a_certificate_that_is_not_trusted_is_told_of(bench: Bench, tmp_path: Path) -> None:
    import trustme

    other = tmp_path / "other.pem"
    trustme.CA().cert_pem.write_to_path(other)
    error = bench.told(bench.client(ca_bundle=other).login)
    assert error.kind == ErrorKind.TLS_VERIFICATION
    assert "--ca-bundle" in error.told("x")


@pytest.mark.parametrize(
    "bench", ["s3", "swift", pytest.param("azure-blob", marks=pytest.mark.may_skip)], indirect=True
)
def test_an_endpoint_where_nobody_listens_is_gone(bench: Bench) -> None:
    bench.options.update({"max_attempts": "1"} if bench.provider.name == "s3" else {})
    url = "http://127.0.0.1:1/devstoreaccount1" if bench.provider.name == "azure-blob" else "http://127.0.0.1:1"
    assert bench.told(bench.client(endpoint_url=url).login).kind == ErrorKind.ENDPOINT_GONE


@pytest.mark.parametrize("bench", ["s3"], indirect=True)
def test_an_upload_in_parts_is_checked_by_the_digest_of_their_digests(
    bench: Bench, service: Service, tmp_path: Path
) -> None:
    bench.options["part_size"] = str(5 << 20)
    client = bench.client()
    (file,) = craft(tmp_path, Workload("a", 1, 11_000_000), client.part_bytes)
    stored = client.upload("vmtrace-x/large", file)
    joined = hashlib.md5(b"".join(map(bytes.fromhex, file.part_md5s)), usedforsecurity=False).hexdigest()
    assert (stored.service_digest, stored.digest_ok) == (f"{joined}-3", True)
    sink = DigestSink()
    client.download("vmtrace-x/large", sink)
    assert sink.sha256() == file.sha256
    client.delete(["vmtrace-x/large"])


@pytest.mark.parametrize("bench", ["s3"], indirect=True)
def test_an_upload_in_parts_that_broke_off_is_abandoned(bench: Bench, service: Service) -> None:
    import boto3

    client = boto3.session.Session().client("s3")
    client.create_multipart_upload(Bucket=bench.container, Key="vmtrace-x/torn")
    client.create_multipart_upload(Bucket=bench.container, Key="other/torn")
    service.abandon_uploads("vmtrace-x/")
    left = client.list_multipart_uploads(Bucket=bench.container).get("Uploads", [])
    assert [one["Key"] for one in left] == ["other/torn"]


@pytest.mark.parametrize("bench", ["glacier"], indirect=True)
def test_an_archived_object_must_be_restored_first(bench: Bench, service: Service, tmp_path: Path) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 10), None)
    stored = service.upload("vmtrace-x/cold", file)
    assert not service.is_restored(stored.reference)
    assert bench.told(lambda: service.download(stored.reference, DigestSink())).kind == ErrorKind.NOT_RESTORED
    restored(service, stored.reference)
    service.download(stored.reference, DigestSink())


@pytest.mark.parametrize("bench", ["glacier-vault"], indirect=True)
def test_the_inventory_of_a_vault_finds_what_was_uploaded_under_our_names(
    bench: Bench, service: Service, tmp_path: Path
) -> None:
    (file,) = craft(tmp_path, Workload("a", 1, 10), None)
    stored = service.upload("vmtrace-x/0001", file)
    assert stored.reference != "vmtrace-x/0001"
    assert list(service.own_objects("vmtrace-x/")) == [stored.reference]


@pytest.mark.may_skip
@pytest.mark.parametrize("bench", ["azure-blob"], indirect=True)
def test_a_blob_of_blocks_has_no_digest_of_the_service(bench: Bench, service: Service, tmp_path: Path) -> None:
    bench.options.update({"max_single_put_size": "100000", "max_block_size": "100000", "concurrency": "2"})
    client = bench.client()
    (file,) = craft(tmp_path, Workload("a", 1, 250_000), None)
    stored = client.upload("vmtrace-x/blocks", file)
    assert (stored.service_digest, stored.digest_ok) == (None, None)
    sink = DigestSink()
    client.download("vmtrace-x/blocks", sink)
    assert sink.sha256() == file.sha256


def client_error(code: str, status: int = 400) -> Exception:
    from botocore.exceptions import ClientError

    answer: Any = {"Error": {"Code": code, "Message": "m"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, "PutObject")


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("RequestTimeTooSkewed", 403, ErrorKind.CLOCK_SKEW),
        ("ExpiredToken", 400, ErrorKind.EXPIRED_TOKEN),
        ("InvalidAccessKeyId", 403, ErrorKind.CREDENTIALS),
        ("AccessDenied", 403, ErrorKind.ACCESS_DENIED),
        ("BucketAlreadyExists", 409, ErrorKind.NAME_CLASH),
        ("SlowDown", 503, ErrorKind.THROTTLED),
        ("QuotaExceeded", 403, ErrorKind.QUOTA),
        ("BadDigest", 400, ErrorKind.DIGEST),
        ("InternalError", 500, ErrorKind.SERVICE),
        ("Strange", 400, ErrorKind.OTHER),
    ],
)
def test_codes_of_s3_have_their_kinds(code: str, status: int, kind: ErrorKind) -> None:
    from boto3.exceptions import S3UploadFailedError

    from providers.services import s3

    assert s3.error_of(client_error(code, status)).kind == kind
    wrapped = S3UploadFailedError("Failed to upload")
    wrapped.__context__ = client_error(code, status)
    assert s3.error_of(wrapped).kind == kind


@pytest.mark.parametrize(
    ("status", "path", "kind"),
    [
        (401, "/v1/AUTH_x/box", ErrorKind.CREDENTIALS),
        (404, "/v1/AUTH_x/box", ErrorKind.NO_SUCH_CONTAINER),
        (404, "/v1/AUTH_x/box/object", ErrorKind.NO_SUCH_OBJECT),
        (413, "/v1/AUTH_x/box/object", ErrorKind.QUOTA),
        (498, "/v1/AUTH_x/box/object", ErrorKind.THROTTLED),
        (422, "/v1/AUTH_x/box/object", ErrorKind.DIGEST),
        (503, "/v1/AUTH_x/box/object", ErrorKind.SERVICE),
    ],
)
def test_statuses_of_swift_have_their_kinds(status: int, path: str, kind: ErrorKind) -> None:
    from swiftclient.exceptions import ClientException

    from providers.services import swift

    assert swift.error_of(ClientException("Object PUT failed", http_status=status, http_path=path)).kind == kind


@pytest.mark.parametrize(
    ("code", "status", "text", "kind"),
    [
        ("ContainerNotFound", 404, "", ErrorKind.NO_SUCH_CONTAINER),
        ("BlobArchived", 409, "", ErrorKind.NOT_RESTORED),
        ("ServerBusy", 503, "", ErrorKind.THROTTLED),
        ("AuthenticationFailed", 403, "The date header in the request is incorrect.", ErrorKind.CLOCK_SKEW),
        ("AuthenticationFailed", 403, "Signature not valid in the specified time frame", ErrorKind.EXPIRED_TOKEN),
        ("AuthenticationFailed", 403, "The MAC signature found", ErrorKind.CREDENTIALS),
        ("InternalError", 500, "", ErrorKind.SERVICE),
    ],
)
def test_codes_of_azure_have_their_kinds(code: str, status: int, text: str, kind: ErrorKind) -> None:
    from azure.core.exceptions import HttpResponseError

    from providers.services import azure_blob

    error: Any = HttpResponseError(message=f"refused\n{text}")
    error.status_code, error.error_code = status, code
    assert azure_blob.error_of(error).kind == kind
