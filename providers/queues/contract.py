"""What every queue service can do for a run. One file of `services/` each; see `registry`.

Methods raise what their SDK raises; the module's `error_of` says what that means. A refusal of single messages of a
batch is a value, not an exception: the others went through.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vmtrace.providers.service import Sdk


@dataclass(frozen=True, slots=True)
class Limits:
    """The service's own limits. A batch of 1 means that it has no batches."""

    send_batch: int
    receive_batch: int
    delete_batch: int
    message_bytes: int
    """Of one message, and of all messages of a batch together."""
    longest_wait_s: float
    """Of a long poll; 0 where there is only short polling."""
    longest_visibility_s: float


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What the service says of a queue."""

    fifo: bool
    waiting: int | None
    """About how many messages are in it, visible or not."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to be sent. `group` and `deduplication` are for FIFO queues alone."""

    body: str
    group: str
    deduplication: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """The service refused one message of a batch."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Incoming:
    """A message as it was delivered; `handle` is what deleting it takes."""

    body: str
    handle: str
    deliveries: int | None
    """How often the service says that it delivered this message, this time included."""


class QueueService(Protocol):
    """One client of one queue: connections of its own, from its making to `close`."""

    sdk: Sdk
    limits: Limits

    @property
    def endpoint(self) -> str:
        """URL that requests go to."""

    @property
    def region(self) -> str | None:
        """As named, or as the SDK found it."""

    def create_queue(self, *, fifo: bool, visibility_s: float) -> None:
        """Make the queue; one that exists already is a name clash."""

    def facts(self) -> QueueFacts:
        """Find the queue; also the first authenticated request of a client."""

    def remove_queue(self) -> None:
        """Remove the queue with all that is in it; one that is gone already is fine."""

    def send(self, messages: Sequence[Outgoing]) -> list[Refusal | None]:
        """Put messages with one request; for each None, or why it was refused."""

    def receive(self, most: int, wait_s: float, visibility_s: float) -> list[Incoming]:
        """Take up to `most` messages with one request; none after `wait_s` without any."""

    def delete(self, handles: Sequence[str]) -> list[Refusal | None]:
        """Delete messages with one request; a stale handle is a refusal. One that is gone already is fine."""

    def close(self) -> None:
        """Close the connections."""
