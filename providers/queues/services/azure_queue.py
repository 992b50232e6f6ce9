"""Azure Queue storage by azure-storage-queue. It has neither FIFO queues, nor batches of sends, nor long polls.

Credentials are found as for Azure Blob storage. A message has up to 64 KiB, and is deleted by its id with the receipt
that its last delivery gave.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.options import whole_number
from vmtrace.providers.queues.contract import Incoming, Limits, Outgoing, QueueFacts, QueueService, Refusal
from vmtrace.providers.service import Sdk, Target
from vmtrace.providers.services import azure_blob

if TYPE_CHECKING:
    from azure.storage.queue import QueueClient

EXTRA = "azure-queue"
FIFO = False
OPTIONS = {
    "retry_total": "retries of each request (default: the SDK's, 3)",
    "initial_backoff": "seconds before the first retry (default: the SDK's, 15)",
}
# https://learn.microsoft.com/rest/api/storageservices/get-messages and put-message
LIMITS = Limits(1, 32, 1, 64 << 10, 0.0, 7 * 86_400.0)
_LIFETIME_S = 86_400
_JOINT = " "
_KINDS: Mapping[str, ErrorKind] = {
    "QueueNotFound": ErrorKind.NO_SUCH_CONTAINER,
    "QueueAlreadyExists": ErrorKind.NAME_CLASH,
    "QueueBeingDeleted": ErrorKind.NAME_CLASH,
    "QueueDisabled": ErrorKind.ACCESS_DENIED,
    "MessageTooLarge": ErrorKind.UNSUPPORTED,
    "RequestBodyTooLarge": ErrorKind.UNSUPPORTED,
}
_GONE = "MessageNotFound"
_STALE = "PopReceiptMismatch"
_REMEDIES = {
    ErrorKind.NO_SUCH_CONTAINER: "create it, name another with --queue, or leave --queue out",
    ErrorKind.ACCESS_DENIED: "let this account put, get and delete messages of the queue, or name another",
    ErrorKind.NAME_CLASH: "name another queue with --queue",
}


def build(target: Target) -> QueueService:
    """A client of its own pipeline."""
    log = logging.getLogger("azure")
    if not log.handlers:
        log.addHandler(logging.NullHandler())  # else its warnings on retries are printed between our own lines
    return AzureQueue(target)


class AzureQueue:
    """One `QueueClient`."""

    limits = LIMITS

    def __init__(self, target: Target) -> None:
        import azure.storage.queue

        settings: dict[str, Any] = {
            name: whole_number(target.options, name, 0, most)
            for name, most in (("retry_total", 100), ("initial_backoff", 600))
            if name in target.options
        }
        if "initial_backoff" in settings:
            settings["increment_base"] = min(3, settings["initial_backoff"])
        self._queue: QueueClient = _account(target, settings).get_queue_client(target.container)
        self._region = target.region
        self.sdk = Sdk(
            "azure-storage-queue",
            azure.storage.queue.__version__,
            {
                "retry_total": settings.get("retry_total", 3),
                "initial_backoff_s": settings.get("initial_backoff", 15),
                "api_version": self._queue.api_version,
            },
        )

    @property
    def endpoint(self) -> str:
        """URL of the account, without a token that may stand in it."""
        return str(self._queue.url).partition("?")[0].rpartition("/")[0]

    @property
    def region(self) -> str | None:
        """As named: an account has one, but its SDK does not say which."""
        return self._region

    def create_queue(self, *, fifo: bool, visibility_s: float) -> None:  # noqa: ARG002 - each delivery names its own
        """Make the queue. Azure takes one without metadata for the one asked for, so ours has some."""
        if fifo:
            raise ServiceError(ErrorKind.UNSUPPORTED, "Azure Queue storage has no FIFO queues")
        self._queue.create_queue(metadata={"madeby": "vmtrace"})

    def facts(self) -> QueueFacts:
        """Its properties."""
        count = self._queue.get_queue_properties().approximate_message_count
        return QueueFacts(False, None if count is None else int(count))

    def remove_queue(self) -> None:
        """Delete the queue."""
        from azure.core.exceptions import ResourceNotFoundError

        try:
            self._queue.delete_queue()
        except ResourceNotFoundError:
            return

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal | None]:
        """One Put Message for each."""
        for one in messages:
            self._queue.send_message(one.body, time_to_live=_LIFETIME_S)
        return [None] * len(messages)

    def receive(self, most: int, wait_s: float, visibility_s: float) -> list[Incoming]:  # noqa: ARG002 - no long polls
        """One Get Messages."""
        found = self._queue.receive_messages(
            max_messages=most, messages_per_page=most, visibility_timeout=round(visibility_s)
        )
        return [
            Incoming(str(one.content), f"{one.id}{_JOINT}{one.pop_receipt}", one.dequeue_count)
            for one in next(iter(found.by_page()), ())
        ]

    def delete(self, handles: Sequence[str]) -> list[Refusal | None]:
        """One Delete Message for each."""
        from azure.core.exceptions import HttpResponseError

        found: list[Refusal | None] = []
        for handle in handles:
            message_id, _, receipt = handle.partition(_JOINT)
            try:
                self._queue.delete_message(message_id, receipt)
            except HttpResponseError as error:
                code = azure_blob.code_of(error)
                if code not in {_GONE, _STALE}:
                    raise
                found.append(Refusal(code, "the message was deleted, or delivered again, before"))
            else:
                found.append(None)
        return found

    def close(self) -> None:
        """Close the pipeline."""
        self._queue.close()


def error_of(error: Exception) -> ServiceError:
    """By the code of the response, else as for Azure Blob storage."""
    found = azure_blob.error_of(error)
    code = azure_blob.code_of(error)
    kind = _KINDS.get(code, found.kind)
    return ServiceError(kind, str(found), _REMEDIES.get(kind) or found.remedy)


def _account(target: Target, settings: dict[str, Any]) -> Any:
    from azure.storage.queue import QueueServiceClient

    return azure_blob.account_client(QueueServiceClient, "queue", target, settings)
