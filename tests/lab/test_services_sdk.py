"""Each stand-in, driven with the official SDK over TLS: what is put comes back, connections are kept and counted."""

import hashlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
import swiftclient
from azure.storage.blob import BlobServiceClient

from vmtrace.lab.services.service import Service

PAYLOAD = os.urandom(300_000)
REPEATS = 10


@pytest.fixture(params=["moto_service", "swift_service"])
def s3_service(request: pytest.FixtureRequest, client_of: Callable[[Service], None]) -> Service:
    service: Service = request.getfixturevalue(request.param)
    client_of(service)
    return service


@pytest.fixture
def s3(s3_service: Service) -> Iterator[Any]:
    client = boto3.session.Session().client("s3")
    yield client
    client.close()


def test_s3_returns_what_was_put_with_its_md5_as_etag_over_one_kept_connection(s3_service: Service, s3: Any) -> None:
    before = s3_service.connections_accepted()
    s3.create_bucket(Bucket="vmtrace-sdk")
    etag = s3.put_object(Bucket="vmtrace-sdk", Key="object", Body=PAYLOAD)["ETag"].strip('"')
    for _ in range(REPEATS):
        assert s3.get_object(Bucket="vmtrace-sdk", Key="object")["Body"].read() == PAYLOAD
    s3.delete_object(Bucket="vmtrace-sdk", Key="object")
    s3.delete_bucket(Bucket="vmtrace-sdk")
    assert etag == hashlib.md5(PAYLOAD).hexdigest()
    assert s3_service.connections_accepted() - before == 1


def test_a_new_client_is_a_new_connection_and_the_server_logs_its_port(s3_service: Service) -> None:
    before = s3_service.connections()
    for _ in range(3):
        client = boto3.session.Session().client("s3")
        client.list_buckets()
        client.close()
    new = s3_service.connections()[len(before) :]
    assert len(new) == 3
    assert len({connection.peer_port for connection in new}) == 3
    assert {connection.peer_address for connection in new} == {"127.0.0.1"}


def test_glacier_takes_an_archive(moto_service: Service, client_of: Callable[[Service], None]) -> None:
    client_of(moto_service)
    before = moto_service.connections_accepted()
    client = boto3.session.Session().client("glacier")
    client.create_vault(vaultName="vmtrace-sdk")
    archive = client.upload_archive(vaultName="vmtrace-sdk", body=PAYLOAD)["archiveId"]
    client.delete_archive(vaultName="vmtrace-sdk", archiveId=archive)
    client.delete_vault(vaultName="vmtrace-sdk")
    client.close()
    assert moto_service.connections_accepted() - before == 1


def test_swift_logs_in_and_returns_what_was_put(swift_service: Service, client_of: Callable[[Service], None]) -> None:
    client_of(swift_service)
    before = swift_service.connections_accepted()
    environment = swift_service.environment
    client = swiftclient.Connection(
        environment["ST_AUTH"],
        environment["ST_USER"],
        environment["ST_KEY"],
        auth_version="1",
        cacert=environment["OS_CACERT"],
    )
    client.put_container("vmtrace-sdk")
    assert client.put_object("vmtrace-sdk", "object", PAYLOAD) == hashlib.md5(PAYLOAD).hexdigest()
    for _ in range(REPEATS):
        assert client.get_object("vmtrace-sdk", "object")[1] == PAYLOAD
    client.delete_object("vmtrace-sdk", "object")
    client.delete_container("vmtrace-sdk")
    client.close()
    assert swift_service.connections_accepted() - before == 2  # one to log in, one to the storage


def test_azure_returns_what_was_put_over_one_kept_connection(
    azurite_service: Service, client_of: Callable[[Service], None]
) -> None:
    client_of(azurite_service)
    before = azurite_service.connections_accepted()
    with BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"]) as client:
        container = client.create_container("vmtrace-sdk")
        container.upload_blob("object", PAYLOAD)
        for _ in range(REPEATS):
            assert container.download_blob("object").readall() == PAYLOAD
        container.delete_container()
    assert azurite_service.connections_accepted() - before == 1
