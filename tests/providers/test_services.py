"""What is peculiar to a service, and what its errors mean."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from tests.providers.real_services import Bench, restored
from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind
from vmtrace.providers.files import craft
from vmtrace.providers.plan import Workload
from vmtrace.providers.service import Service


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
        ("InvalidBucketName", 400, ErrorKind.UNSUPPORTED),
        ("IllegalLocationConstraintException", 400, ErrorKind.UNSUPPORTED),
        ("Strange", 400, ErrorKind.OTHER),
    ],
)
def test_codes_of_s3_have_their_kinds(code: str, status: int, kind: ErrorKind) -> None:
    from boto3.exceptions import S3UploadFailedError

    from vmtrace.providers.services import s3

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

    from vmtrace.providers.services import swift

    assert swift.error_of(ClientException("Object PUT failed", http_status=status, http_path=path)).kind == kind


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            b"Upload exceeds quota.",
            "Object PUT failed: https://h/v1/A/c/o 413 Large b'Upload exceeds quota.'",
        ),
        (b"<html><h1>Large</h1></html>", "Object PUT failed: https://h/v1/A/c/o 413 Large"),
        (b"<html><h1>It's large</h1>" + 99 * b"x", "Object PUT failed: https://h/v1/A/c/o 413 Large"),
    ],
)
def test_a_page_for_a_browser_is_no_part_of_an_error_of_swift(content: bytes, told: str) -> None:
    from swiftclient.exceptions import ClientException

    from vmtrace.providers.services import swift

    error = ClientException(
        "Object PUT failed",
        http_scheme="https",
        http_host="h",
        http_path="/v1/A/c/o",
        http_status=413,
        http_reason="Large",
        http_response_content=content,
    )
    assert str(swift.error_of(error)) == told


@pytest.mark.parametrize(
    ("code", "status", "text", "kind"),
    [
        ("ContainerNotFound", 404, "", ErrorKind.NO_SUCH_CONTAINER),
        ("BlobArchived", 409, "", ErrorKind.NOT_RESTORED),
        ("ServerBusy", 503, "", ErrorKind.THROTTLED),
        ("AuthenticationFailed", 403, "The date header in the request is incorrect.", ErrorKind.CLOCK_SKEW),
        ("AuthenticationFailed", 403, "Signature not valid in the specified time frame", ErrorKind.EXPIRED_TOKEN),
        ("AuthenticationFailed", 403, "The MAC signature found", ErrorKind.CREDENTIALS),
        ("AuthorizationFailure", 403, "Server failed to authenticate the request.", ErrorKind.CREDENTIALS),
        ("AuthorizationFailure", 403, "This request is not authorized", ErrorKind.ACCESS_DENIED),
        ("InvalidResourceName", 400, "", ErrorKind.UNSUPPORTED),
        ("InternalError", 500, "", ErrorKind.SERVICE),
    ],
)
def test_codes_of_azure_have_their_kinds(code: str, status: int, text: str, kind: ErrorKind) -> None:
    from azure.core.exceptions import HttpResponseError

    from vmtrace.providers.services import azure_blob

    error: Any = HttpResponseError(message=f"refused\n{text}")
    error.status_code, error.error_code = status, code
    assert azure_blob.error_of(error).kind == kind
