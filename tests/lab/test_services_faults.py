"""The fault proxy does to chosen requests what its rules say, leaves the others alone, and logs which was which."""

import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import boto3
import pytest
import swiftclient
from azure.core.exceptions import HttpResponseError
from azure.storage.blob import BlobServiceClient
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, IncompleteReadError, ResponseStreamingError

from vmtrace.lab.services import fault_proxy, faults
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.fault_proxy import FaultProxy
from vmtrace.lab.services.faults import Action, Fault, Rules
from vmtrace.lab.services.service import Service

BODY = os.urandom(200_000)
BUCKET = "vmtrace-faults"


@pytest.fixture
def s3_through(moto_service: Service, chain: Certificates, client_of: Callable[[Service], None]) -> Callable[..., Any]:
    """A client of S3 behind a proxy with the given faults, and the proxy; at most one attempt unless told."""

    @contextmanager
    def make(*rules: Fault, attempts: int = 1) -> Iterator[tuple[Any, FaultProxy]]:
        with fault_proxy.started(moto_service, rules, chain) as proxy:
            client_of(proxy.service)
            config = Config(retries={"total_max_attempts": attempts, "mode": "standard"}, read_timeout=20)
            client = boto3.session.Session().client("s3", config=config)
            client.create_bucket(Bucket=BUCKET)
            yield client, proxy
            client.close()

    return make


def faults_met(proxy: FaultProxy) -> list[tuple[str, Action]]:
    return [(request.method, request.fault) for request in proxy.requests() if request.fault]


def test_without_faults_a_client_notices_nothing(s3_through: Callable[..., Any], moto_service: Service) -> None:
    behind = moto_service.connections_accepted()
    with s3_through() as (client, proxy):
        for size in (0, 1, 1_000, 200_000):
            client.put_object(Bucket=BUCKET, Key="whole", Body=BODY[:size])
            assert client.get_object(Bucket=BUCKET, Key="whole")["Body"].read() == BODY[:size]
        client.head_object(Bucket=BUCKET, Key="whole")
        assert [request.method for request in proxy.requests()] == ["PUT", *["PUT", "GET"] * 4, "HEAD"]
        assert faults_met(proxy) == []
        assert proxy.service.connections_accepted() == 1
        assert moto_service.connections_accepted() - behind == 1
        assert "asyncio" in proxy.service.tls_terminated_by


@pytest.mark.parametrize(("status", "code"), [(500, "InternalError"), (503, "SlowDown")])
def test_a_status_reaches_the_client_and_not_the_server(s3_through: Callable[..., Any], status: int, code: str) -> None:
    with s3_through(Fault(Action.STATUS, "PUT", "/refused", status=status)) as (client, proxy):
        with pytest.raises(ClientError) as caught:
            client.put_object(Bucket=BUCKET, Key="refused", Body=BODY)
        assert caught.value.response["Error"]["Code"] == code
        assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == status
        with pytest.raises(ClientError, match="NoSuchKey"):
            client.get_object(Bucket=BUCKET, Key="refused")
        client.put_object(Bucket=BUCKET, Key="refused", Body=BODY)  # the rule is used up
        client.delete_object(Bucket=BUCKET, Key="refused")
        assert faults_met(proxy) == [("PUT", Action.STATUS)]
        assert proxy.service.connections_accepted() == 1


def test_the_sdk_retries_what_the_proxy_refuses_and_says_how_often(s3_through: Callable[..., Any]) -> None:
    with s3_through(Fault(Action.STATUS, "PUT", "/again", times=2), attempts=4) as (client, proxy):
        answer = client.put_object(Bucket=BUCKET, Key="again", Body=BODY)
        assert answer["ResponseMetadata"]["RetryAttempts"] == 2
        assert answer["ETag"].strip('"') == hashlib.md5(BODY).hexdigest()
        assert faults_met(proxy) == [("PUT", Action.STATUS)] * 2


def test_a_reset_ends_an_upload_and_the_retry_needs_a_new_connection(s3_through: Callable[..., Any]) -> None:
    with s3_through(Fault(Action.RESET, "PUT", "/cut", after_bytes=50_000)) as (client, proxy):
        with pytest.raises(ConnectionClosedError):
            client.put_object(Bucket=BUCKET, Key="cut", Body=BODY)
        client.put_object(Bucket=BUCKET, Key="cut", Body=BODY)
        assert faults_met(proxy) == [("PUT", Action.RESET)]
        assert proxy.service.connections_accepted() == 2


@pytest.mark.parametrize("action", [Action.RESET, Action.TRUNCATE])
def test_a_download_that_ends_early_is_an_error_of_reading(s3_through: Callable[..., Any], action: Action) -> None:
    with s3_through(Fault(action, "GET", "/early", after_bytes=70_000)) as (client, proxy):
        client.put_object(Bucket=BUCKET, Key="early", Body=BODY)
        body = client.get_object(Bucket=BUCKET, Key="early")["Body"]
        with pytest.raises((IncompleteReadError, ResponseStreamingError)):
            body.read()
        body.close()
        assert client.get_object(Bucket=BUCKET, Key="early")["Body"].read() == BODY
        assert faults_met(proxy) == [("GET", action)]


def test_a_shortened_or_corrupted_download_is_seen_by_its_digest_alone(s3_through: Callable[..., Any]) -> None:
    rules = [
        Fault(Action.SHORTEN, "GET", "/silent", after_bytes=100_000),
        Fault(Action.CORRUPT, "GET", "/silent", after_bytes=123_456),
    ]
    with s3_through(*rules) as (client, proxy):
        client.meta.config.response_checksum_validation = "when_required"
        client.put_object(Bucket=BUCKET, Key="silent", Body=BODY)
        short, spoiled, whole = (client.get_object(Bucket=BUCKET, Key="silent")["Body"].read() for _ in range(3))
        assert short == BODY[:100_000]
        assert len(spoiled) == len(BODY)
        assert [at for at, byte in enumerate(spoiled) if byte != BODY[at]] == [123_456]
        assert whole == BODY
        assert [action for _, action in faults_met(proxy)] == [Action.SHORTEN, Action.CORRUPT]


def test_a_delay_is_waited_for_by_the_chosen_request_alone(s3_through: Callable[..., Any]) -> None:
    with s3_through(Fault(Action.DELAY, "GET", "/late", skip=1, delay_s=0.7)) as (client, proxy):
        client.put_object(Bucket=BUCKET, Key="late", Body=b"x")
        for _ in range(3):
            client.get_object(Bucket=BUCKET, Key="late")["Body"].read()
        client.list_buckets()
        instants_ns = [request.unix_ns for request in proxy.requests()]
        assert [request.fault for request in proxy.requests()] == [None, None, None, Action.DELAY, None, None]
        assert instants_ns[4] - instants_ns[3] > 0.7e9


@pytest.mark.parametrize("size_bytes", [2, 50_000, 200_000])
def test_a_slow_body_is_late_by_its_delay_however_small_it_is(s3_through: Callable[..., Any], size_bytes: int) -> None:
    with s3_through(Fault(Action.SLOW, "GET", "/slow", delay_s=0.3)) as (client, _):
        client.put_object(Bucket=BUCKET, Key="slow", Body=BODY[:size_bytes])
        began_s = time.monotonic()
        assert client.get_object(Bucket=BUCKET, Key="slow")["Body"].read() == BODY[:size_bytes]
        assert time.monotonic() - began_s > 0.3


def test_a_connection_beyond_those_allowed_is_reset(moto_service: Service, chain: Certificates) -> None:
    with fault_proxy.started(moto_service, (), chain, most_connections=2) as proxy, ExitStack() as stack:
        place = (proxy.service.address, proxy.service.port)
        kept: list[socket.socket] = []
        while len(kept) < 2:  # the one that found the proxy ready may still count
            one = stack.enter_context(socket.create_connection(place, timeout=0.2))
            try:
                one.recv(1)
            except TimeoutError:
                kept.append(one)
            except ConnectionResetError:
                one.close()
        with pytest.raises(ConnectionResetError):
            stack.enter_context(socket.create_connection(place, timeout=5)).recv(1)
        with pytest.raises(TimeoutError):
            kept[0].recv(1)


def test_all_of_swift_goes_through_the_proxy_from_login_on(
    swift_service: Service, chain: Certificates, client_of: Callable[[Service], None]
) -> None:
    refused = Fault(Action.STATUS, "GET", "/vmtrace-faults/object", status=500)
    with fault_proxy.started(swift_service, [refused], chain) as proxy:
        client_of(proxy.service)
        shown = proxy.service.environment
        client = swiftclient.Connection(
            shown["ST_AUTH"], shown["ST_USER"], shown["ST_KEY"], auth_version="1", cacert=shown["OS_CACERT"], retries=0
        )
        client.put_container(BUCKET)
        client.put_object(BUCKET, "object", BODY)
        with pytest.raises(swiftclient.ClientException) as caught:
            client.get_object(BUCKET, "object")
        assert caught.value.http_status == 500
        assert client.get_object(BUCKET, "object")[1] == BODY
        client.delete_object(BUCKET, "object")
        client.delete_container(BUCKET)
        client.close()
        assert faults_met(proxy) == [("GET", Action.STATUS)]
        assert [request.method for request in proxy.requests()] == [
            *("GET", "PUT", "PUT", "GET", "GET"),  # the first is the login
            *("DELETE", "DELETE"),
        ]


def test_azure_tells_a_server_that_is_busy_by_its_code(
    azurite_service: Service, chain: Certificates, client_of: Callable[[Service], None]
) -> None:
    with fault_proxy.started(azurite_service, [Fault(Action.STATUS, "PUT", "/object")], chain) as proxy:
        client_of(proxy.service)
        shown = proxy.service.environment["AZURE_STORAGE_CONNECTION_STRING"]
        with BlobServiceClient.from_connection_string(shown, retry_total=0) as client:
            container = client.create_container(BUCKET)
            with pytest.raises(HttpResponseError) as caught:
                container.upload_blob("object", BODY)
            assert getattr(caught.value, "error_code", None) == "ServerBusy"
            container.upload_blob("object", BODY)
            assert container.download_blob("object").readall() == BODY
            container.delete_container()
        assert faults_met(proxy) == [("PUT", Action.STATUS)]


def test_rules_are_used_in_order_and_only_as_often_as_they_say() -> None:
    rules = Rules([Fault(Action.RESET, "PUT", "a$", times=2, skip=1), Fault(Action.STATUS, path="a$")])
    asked = [rules.choose(method, target) for method, target in [("PUT", "/a")] * 3 + [("GET", "/a"), ("PUT", "/a")]]
    assert [fault and fault.action for fault in asked] == [None, Action.RESET, Action.RESET, Action.STATUS, None]
    assert rules.choose("PUT", "/ab") is None


def test_rules_survive_their_file() -> None:
    rules = [Fault(Action.DELAY, "PUT", "x", delay_s=0.5), Fault(Action.RESET, after_bytes=9)]
    assert faults.from_json(faults.to_json(rules)) == rules
    with pytest.raises(ValueError, match="explode"):
        faults.from_json([{"action": "explode"}])
