"""What became of each message: the parts sum to the messages of the plan."""

from collections.abc import Iterator
from dataclasses import dataclass

from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.records import QueueRun
from vmtrace.formats.quantities import plural


@dataclass(frozen=True, slots=True)
class Fates:
    """Each message is in exactly one part."""

    planned: int
    delivered: int
    """To a receiver, at least once."""
    pending: int
    """In the queue when the run ended: found there by the collector or, if nobody collected, taken by the service or of
    unknown fate, and not delivered."""
    lost: int | None
    """The service acknowledged it, and it never came; None unless the queue was emptied."""
    lost_in_flight: int | None
    """Nobody knows whether the service took it, and it never came; None unless the queue was emptied."""
    refused: int
    """By the service, by its own word."""
    unsent: int


def accounts(run: QueueRun) -> Fates:
    """Account for every message of a run."""
    return fates_of(Messages(run))


def fates_of(messages: Messages) -> Fates:
    """Account for every message."""
    delivered = messages.delivered
    found = messages.collected & ~delivered
    gone = messages.attempted & ~delivered & ~found
    taken = gone & messages.taken
    refused = gone & messages.refused & ~messages.taken
    unknown = int((gone & ~taken & ~refused).sum())
    sure = messages.run.collected
    return Fates(
        planned=int(messages.wanted.sum()),
        delivered=int(delivered.sum()),
        pending=int(found.sum()) + (0 if sure else int(taken.sum()) + unknown),
        lost=int(taken.sum()) if sure else None,
        lost_in_flight=unknown if sure else None,
        refused=int(refused.sum()),
        unsent=int((messages.wanted & ~messages.attempted & ~delivered & ~found).sum()),
    )


def fates_text(found: Fates) -> str:
    """`300 messages: 298 delivered, 2 lost`."""
    return f"{plural(found.planned, 'message')}: {', '.join(_parts(found))}"


def _parts(found: Fates) -> Iterator[str]:
    yield f"{found.delivered:,} delivered"
    words = (
        ("pending", found.pending), ("lost", found.lost), ("lost in flight", found.lost_in_flight),
        ("refused", found.refused), ("not sent", found.unsent),
    )  # fmt: skip
    yield from (f"{number:,} {word}" for word, number in words if number)
