"""Amazon SQS, and whatever speaks its API, by boto3. A queue whose name ends in `.fifo` is a FIFO queue.

Requests go through the SDK with its own retries. On a FIFO queue these are harmless, as each message has a
deduplication id; on a standard queue a retried request may put a message twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.providers.errors import ErrorKind, ServiceError, chain
from vmtrace.providers.queues.contract import Incoming, Limits, Outgoing, QueueFacts, QueueService, Refusal
from vmtrace.providers.service import Sdk, Target
from vmtrace.providers.services import s3

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

EXTRA = "sqs"
FIFO = True
OPTIONS = {
    "max_attempts": "of each request (default: boto3's)",
    "retry_mode": "legacy, standard or adaptive (default: boto3's)",
}
FIFO_SUFFIX = ".fifo"
# https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
LIMITS = Limits(10, 10, 10, 1 << 20, 20.0, 12 * 3600.0)
_RETENTION_S = 86_400  # what nobody removes is gone after a day
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")

KINDS: Mapping[str, ErrorKind] = {
    "NonExistentQueue": ErrorKind.NO_SUCH_CONTAINER,
    "QueueDoesNotExist": ErrorKind.NO_SUCH_CONTAINER,
    "QueueNameExists": ErrorKind.NAME_CLASH,
    "QueueAlreadyExists": ErrorKind.NAME_CLASH,
    "QueueDeletedRecently": ErrorKind.NAME_CLASH,
    "PurgeQueueInProgress": ErrorKind.SERVICE,
    "InvalidAddress": ErrorKind.NO_SUCH_CONTAINER,
    "InvalidMessageContents": ErrorKind.UNSUPPORTED,
    "BatchRequestTooLong": ErrorKind.UNSUPPORTED,
    "UnsupportedOperation": ErrorKind.UNSUPPORTED,
    "InvalidSecurity": ErrorKind.CREDENTIALS,
    "RequestThrottled": ErrorKind.THROTTLED,
    "OverLimit": ErrorKind.THROTTLED,
    "KmsThrottled": ErrorKind.THROTTLED,
    "KmsAccessDenied": ErrorKind.ACCESS_DENIED,
}
_REMEDIES = {
    ErrorKind.NO_SUCH_CONTAINER: "create it, name another with --queue, or leave --queue out",
    ErrorKind.ACCESS_DENIED: "let this account send, receive and delete messages of the queue, or name another",
    ErrorKind.NAME_CLASH: "name another queue with --queue",
}
_BY_CODE = {"PurgeQueueInProgress": "a purge goes on for up to a minute: run again after it"}


def build(target: Target) -> QueueService:
    """A client of its own session."""
    return Sqs(target)


class Sqs:
    """One boto3 client for one queue. Its URL is asked for once."""

    limits = LIMITS

    def __init__(self, target: Target) -> None:
        import boto3

        session = boto3.Session(region_name=target.region)
        verify = None if target.ca_bundle is None else str(target.ca_bundle)
        config = s3.boto_config(target.options)
        self._client: SQSClient = session.client("sqs", endpoint_url=target.endpoint_url, verify=verify, config=config)
        self._name = target.container
        self._is_fifo = target.container.endswith(FIFO_SUFFIX)
        self._known_url: str | None = None
        settings: Any = self._client.meta.config
        self.sdk = Sdk("boto3", boto3.__version__, {"retries": settings.retries})

    @property
    def endpoint(self) -> str:
        """URL of the service in the region."""
        return str(self._client.meta.endpoint_url)

    @property
    def region(self) -> str | None:
        """As named, or as boto3 found it."""
        return str(self._client.meta.region_name) or None

    def create_queue(self, *, fifo: bool, visibility_s: float) -> None:
        """Make the queue; SQS would take one with the same attributes for the one asked for."""
        try:
            self._client.get_queue_url(QueueName=self._name)
        except self._client.exceptions.QueueDoesNotExist:
            pass
        else:
            raise ServiceError(ErrorKind.NAME_CLASH, f"queue {self._name} exists", _REMEDIES[ErrorKind.NAME_CLASH])
        attributes = {"VisibilityTimeout": str(round(visibility_s)), "MessageRetentionPeriod": str(_RETENTION_S)}
        if fifo:
            attributes["FifoQueue"] = "true"
        self._known_url = self._client.create_queue(QueueName=self._name, Attributes=attributes)["QueueUrl"]  # type: ignore[arg-type]

    def facts(self) -> QueueFacts:
        """Its attributes."""
        answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=["All"])
        found: Mapping[str, str] = answer.get("Attributes", {})  # type: ignore[assignment]
        counts = [int(found[name]) for name in _COUNTS if found.get(name, "").isdigit()]
        return QueueFacts(found.get("FifoQueue") == "true" or self._is_fifo, sum(counts) if counts else None)

    def remove_queue(self) -> None:
        """Delete the queue."""
        try:
            self._client.delete_queue(QueueUrl=self._url)
        except self._client.exceptions.QueueDoesNotExist:
            return

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal | None]:
        """SendMessage for one, SendMessageBatch for several."""
        if len(messages) == 1:
            (one,) = messages
            self._client.send_message(QueueUrl=self._url, MessageBody=one.body, **self._fifo_fields(one))
            return [None]
        entries: Any = [
            {"Id": str(place), "MessageBody": one.body, **self._fifo_fields(one)} for place, one in enumerate(messages)
        ]
        answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        return _refusals(answer, len(messages))

    def receive(self, most: int, wait_s: float, visibility_s: float) -> list[Incoming]:
        """ReceiveMessage: a long poll where there is a time to wait."""
        answer = self._client.receive_message(
            QueueUrl=self._url,
            MaxNumberOfMessages=most,
            WaitTimeSeconds=round(wait_s),
            VisibilityTimeout=round(visibility_s),
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        return [_incoming(one) for one in answer.get("Messages", [])]

    def delete(self, handles: Sequence[str]) -> list[Refusal | None]:
        """DeleteMessage for one, DeleteMessageBatch for several."""
        if len(handles) == 1:
            self._client.delete_message(QueueUrl=self._url, ReceiptHandle=handles[0])
            return [None]
        entries: Any = [{"Id": str(place), "ReceiptHandle": one} for place, one in enumerate(handles)]
        return _refusals(self._client.delete_message_batch(QueueUrl=self._url, Entries=entries), len(handles))

    def close(self) -> None:
        """Close the pool of connections."""
        self._client.close()

    @property
    def _url(self) -> str:
        if self._known_url is None:
            self._known_url = self._client.get_queue_url(QueueName=self._name)["QueueUrl"]
        return self._known_url

    def _fifo_fields(self, message: Outgoing) -> dict[str, Any]:
        if not self._is_fifo:
            return {}
        return {"MessageGroupId": message.group, "MessageDeduplicationId": message.deduplication}


def error_of(error: Exception) -> ServiceError:
    """What an exception of boto3 or botocore means."""
    from botocore.exceptions import ClientError

    for one in chain(error):
        if isinstance(one, ServiceError):
            return one
        if isinstance(one, ClientError):
            details = one.response.get("Error", {})
            code = str(details.get("Code", "")).rpartition(".")[2]
            kind = KINDS.get(code)
            if kind is not None:
                text = f"{details.get('Message') or code} ({code})"
                return ServiceError(kind, text, _BY_CODE.get(code) or _REMEDIES.get(kind))
    found = s3.error_of(error)
    return ServiceError(found.kind, str(found), _REMEDIES.get(found.kind) or found.remedy)


def _incoming(one: Mapping[str, Any]) -> Incoming:
    count = str(one.get("Attributes", {}).get("ApproximateReceiveCount", ""))
    return Incoming(str(one.get("Body", "")), str(one["ReceiptHandle"]), int(count) if count.isdigit() else None)


def _refusals(answer: Mapping[str, Any], count: int) -> list[Refusal | None]:
    found: list[Refusal | None] = [None] * count
    for one in answer.get("Failed", []):
        place = str(one.get("Id", ""))
        if place.isdigit() and int(place) < count:
            found[int(place)] = Refusal(str(one.get("Code", "")), str(one.get("Message", "")))
    return found
