"""The contract of queue services, held by each against its real server over TLS."""

import os
from collections.abc import Callable, Iterator

import pytest

from vmtrace.lab.services.service import Service as Server
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.queues import registry
from vmtrace.providers.queues.contract import Outgoing, QueueService
from vmtrace.providers.queues.registry import QueueProvider
from vmtrace.providers.service import Target

SERVERS = {"sqs": "moto_service", "azure-queue": "azurite_queue_service"}
ALL = [pytest.param(name, marks=pytest.mark.may_skip if "azure" in name else ()) for name in SERVERS]
FAST = {"sqs": {"max_attempts": "1"}, "azure-queue": {"retry_total": "0"}}


@pytest.fixture(params=ALL)
def provider(request: pytest.FixtureRequest, client_of: Callable[[Server], None]) -> QueueProvider:
    client_of(request.getfixturevalue(SERVERS[request.param]))
    return registry.find(request.param)


def client(provider: QueueProvider, name: str) -> QueueService:
    return registry.build(provider, Target(provider.name, name, options=FAST[provider.name]))


@pytest.fixture
def queue(provider: QueueProvider) -> Iterator[QueueService]:
    service = client(provider, f"vmtrace-{os.urandom(6).hex()}")
    service.create_queue(fifo=False, visibility_s=30)
    yield service
    service.remove_queue()
    service.close()


def kind_of(provider: QueueProvider, work: Callable[[], object]) -> ErrorKind:
    """What the exception means that this raises."""
    try:
        work()
    except ServiceError as error:
        return error.kind
    except Exception as error:  # noqa: BLE001 - every SDK has its own
        return provider.error_of(error).kind
    raise AssertionError("nothing was raised")


def outgoing(body: str) -> Outgoing:
    return Outgoing(body, "group", f"id-{body}")


def test_a_message_comes_as_it_was_sent_and_is_gone_after_deletion(queue: QueueService) -> None:
    assert queue.send([outgoing("one")]) == [None]
    assert queue.facts().waiting == 1
    (message,) = queue.receive(1, 0, 30)
    assert (message.body, message.deliveries) == ("one", 1)
    assert queue.receive(1, 0, 30) == []
    assert queue.delete([message.handle]) == [None]
    assert queue.facts().waiting == 0


def test_the_largest_batches_are_taken(queue: QueueService) -> None:
    limits = queue.limits
    for start in range(0, limits.receive_batch, limits.send_batch):
        batch = [outgoing(str(number)) for number in range(start, min(start + limits.send_batch, limits.receive_batch))]
        assert queue.send(batch) == [None] * len(batch)
    found = queue.receive(limits.receive_batch, 0, 30)
    assert {one.body for one in found} == set(map(str, range(limits.receive_batch)))
    for start in range(0, len(found), limits.delete_batch):
        some = [one.handle for one in found[start : start + limits.delete_batch]]
        assert queue.delete(some) == [None] * len(some)


def test_the_largest_message_is_taken_and_comes_whole(queue: QueueService) -> None:
    body = "x" * queue.limits.message_bytes
    queue.send([outgoing(body)])
    (message,) = queue.receive(1, 0, 30)
    assert message.body == body


def test_a_queue_that_is_not_there_is_told_from_other_troubles(provider: QueueProvider) -> None:
    service = client(provider, "vmtrace-nowhere")
    assert kind_of(provider, service.facts) == ErrorKind.NO_SUCH_CONTAINER
    assert kind_of(provider, lambda: service.receive(1, 0, 30)) == ErrorKind.NO_SUCH_CONTAINER
    service.remove_queue()
    service.close()


def test_a_name_that_is_taken_is_a_clash(provider: QueueProvider, queue: QueueService) -> None:
    name = queue._name if provider.name == "sqs" else queue._queue.queue_name  # type: ignore[attr-defined]
    other = client(provider, name)
    kinds = {ErrorKind.NAME_CLASH}
    assert kind_of(provider, lambda: other.create_queue(fifo=False, visibility_s=30)) in kinds
    other.close()


def test_wrong_options_and_names_are_wrong_usage(provider: QueueProvider) -> None:
    with pytest.raises(UsageError, match="not of"):
        registry.build(provider, Target(provider.name, "q", options={"nonsense": "1"}))
    with pytest.raises(UsageError, match="azure-queue, sqs"):
        registry.find("rabbit")


def test_a_server_that_is_gone_is_reported_in_a_line(provider: QueueProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "https://127.0.0.1:1" if provider.name == "sqs" else "https://127.0.0.1:1/devstoreaccount1"
    service = registry.build(provider, Target(provider.name, "q", url, options=FAST[provider.name]))
    assert kind_of(provider, service.facts) == ErrorKind.ENDPOINT_GONE
    service.close()


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", ErrorKind.NO_SUCH_CONTAINER),
        ("AWS.SimpleQueueService.PurgeQueueInProgress", ErrorKind.SERVICE),
        ("RequestThrottled", ErrorKind.THROTTLED),
        ("Throttling", ErrorKind.THROTTLED),
        ("OverLimit", ErrorKind.THROTTLED),
        ("AccessDenied", ErrorKind.ACCESS_DENIED),
        ("InvalidClientTokenId", ErrorKind.CREDENTIALS),
        ("AWS.SimpleQueueService.BatchRequestTooLong", ErrorKind.UNSUPPORTED),
    ],
)
def test_errors_of_sqs_by_their_code(code: str, kind: ErrorKind) -> None:
    from botocore.exceptions import ClientError

    error = ClientError({"Error": {"Code": code, "Message": "m"}}, "SendMessage")
    found = registry.find("sqs").error_of(error)
    assert found.kind == kind
    assert "--bucket" not in (found.remedy or "")


def test_a_purge_in_progress_says_what_to_do() -> None:
    from botocore.exceptions import ClientError

    error = ClientError({"Error": {"Code": "PurgeQueueInProgress", "Message": "m"}}, "PurgeQueue")
    assert "run again" in registry.find("sqs").error_of(error).shown("q")


def test_an_sdk_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "azure.storage.queue", None)
    with pytest.raises(ProvidersError, match=r"pip install '(azure-storage-queue|vmtrace\[azure-queue)"):
        registry.build(registry.find("azure"), Target("azure-queue", "q"))
