"""What a queue run does: stages one after the other, each with processes that send, receive and delete.

`put` only sends, `take` receives and deletes what is there, `flow` does all three at once, each in processes of its
own. Messages are numbered through the whole plan, and due at times that the rate fixes before the stage begins.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from vmtrace.formats.quantities import size_bytes
from vmtrace.providers.plan_options import measured, option, seconds, whole
from vmtrace.providers.queues.message import LEAST_BYTES


class Kind(StrEnum):
    """What a stage does."""

    PUT = "put"
    TAKE = "take"
    FLOW = "flow"


class Role(StrEnum):
    """What a process of a stage does. A taker deletes each batch before it receives the next."""

    SENDER = "sender"
    RECEIVER = "receiver"
    DELETER = "deleter"
    TAKER = "taker"


LARGEST = 0
"""A batch of this size is the service's largest."""
MOST_MESSAGES = 100_000_000
_MOST_PROCESSES = 64
_LARGEST_MESSAGE_BYTES = 1 << 20
_LONGEST_S = 12 * 3600.0


def _lasting(least_s: float) -> Callable[[Any], float]:
    return seconds(least_s, _LONGEST_S, f"from {least_s:g} s to {_LONGEST_S / 3600:.0f} h")


def _batch(value: Any) -> int:
    return LARGEST if value == "largest" else whole(1000)(value)


def _size(value: Any) -> int:
    found = measured(size_bytes)(value)
    if not LEAST_BYTES <= found <= _LARGEST_MESSAGE_BYTES or found != int(found):
        raise ValueError(f"whole bytes from {LEAST_BYTES} to {_LARGEST_MESSAGE_BYTES >> 20} MiB are possible")
    return int(found)


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. Batches, processes and times of what it does not do are unused."""

    name: str
    kind: Kind
    messages: int = 0
    """To be sent; `take` has none of its own."""
    rate_per_s: float | None = None
    """None: as fast as possible."""
    size_bytes: int = option("size", _size, 1000, what="size of a message, up to the service's limit", metavar="SIZE")
    send_batch: int = option("send_batch", _batch, 1, what="messages per send request", metavar="N|largest")
    receive_batch: int = option(
        "receive_batch", _batch, 1, what="most messages per receive request", metavar="N|largest"
    )
    delete_batch: int = option("delete_batch", _batch, 1, what="most messages per delete request", metavar="N|largest")
    senders: int = option("senders", whole(_MOST_PROCESSES), 1, what="processes that send")
    receivers: int = option("receivers", whole(_MOST_PROCESSES), 1, what="processes that receive")
    deleters: int = option("deleters", whole(_MOST_PROCESSES), 1, what="processes that delete")
    visibility_s: float = option(
        "visibility", _lasting(1.0), 30.0, what="how long a received message stays hidden", metavar="TIME"
    )
    wait_s: float = option("wait", _lasting(0.0), 0.0, what="time of a long poll; 0: short polling", metavar="TIME")
    pause_s: float = option("pause", _lasting(0.0), 0.01)
    """After a receive that found nothing."""
    backlog: int = option(
        "backlog", whole(MOST_MESSAGES), 1000, what="without a rate: most messages sent and not yet deleted"
    )

    @property
    def sends(self) -> bool:
        """Whether messages are sent."""
        return self.kind != Kind.TAKE

    @property
    def receives(self) -> bool:
        """Whether they are received here: not while they are put, nor on a host that only sends."""
        return self.kind != Kind.PUT and self.receivers > 0

    @property
    def duration_s(self) -> float | None:
        """How long sending takes at the rate."""
        return None if self.rate_per_s is None else self.messages / self.rate_per_s

    def crew(self) -> Iterator[tuple[Role, int]]:
        """The processes: role, and its place among those of the role."""
        counts = {
            Kind.PUT: ((Role.SENDER, self.senders),),
            Kind.TAKE: ((Role.TAKER, self.receivers),),
            Kind.FLOW: ((Role.DELETER, self.deleters), (Role.RECEIVER, self.receivers), (Role.SENDER, self.senders)),
        }
        for role, count in counts[self.kind]:
            yield from ((role, place) for place in range(count))


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """Stages in order, `repeat` times."""

    name: str
    stages: tuple[Stage, ...]
    repeat: int = 1

    def rounds(self) -> tuple[Stage, ...]:
        """All stages that are done, one after the other."""
        return self.stages * self.repeat

    @property
    def messages(self) -> int:
        """Of the whole."""
        return sum(stage.messages for stage in self.rounds())

    def first_numbers(self) -> list[int]:
        """The number of the first message of each round's stage."""
        found, number = [], 0
        for stage in self.rounds():
            found.append(number)
            number += stage.messages
        return found

    def scaled(self, factor: float) -> "QueuePlan":
        """Numbers of messages multiplied; a stage that sends has at least one."""
        stages = tuple(
            replace(one, messages=max(1, math.floor(one.messages * factor + 0.5))) if one.sends else one
            for one in self.stages
        )
        return replace(self, stages=stages)

    def changed(self, **values: Any) -> "QueuePlan":
        """The same change of every stage."""
        return replace(self, stages=tuple(replace(one, **values) for one in self.stages))

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return {"name": self.name, "repeat": self.repeat, "stages": [asdict(one) for one in self.stages]}


def plan_of_record(record: dict[str, Any]) -> QueuePlan:
    """The plan that `as_record` wrote; raises `ValueError`, `KeyError` or `TypeError` for anything else."""
    stages = tuple(Stage(**{**one, "kind": Kind(one["kind"])}) for one in record["stages"])
    return QueuePlan(str(record["name"]), stages, int(record["repeat"]))
