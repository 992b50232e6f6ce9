"""What a queue run does: stages one after the other, each with processes that send, receive and delete.

`put` only sends, `take` receives and deletes what is there, `flow` does all three at once, each in processes of its
own. Messages are numbered through the whole plan, and due at times that the rate fixes before the stage begins.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. Batches, processes and times of what it does not do are unused."""

    name: str
    kind: Kind
    messages: int = 0
    """To be sent; `take` has none of its own."""
    rate_per_s: float | None = None
    """None: as fast as possible."""
    size_bytes: int = 1000
    send_batch: int = 1
    receive_batch: int = 1
    delete_batch: int = 1
    senders: int = 1
    receivers: int = 1
    deleters: int = 1
    visibility_s: float = 30.0
    wait_s: float = 0.0
    """Of a long poll; 0 is short polling."""
    pause_s: float = 0.01
    """After a receive that found nothing."""
    backlog: int = 1000
    """Without a rate: at most so many messages are sent and not yet deleted."""

    @property
    def sends(self) -> bool:
        """Whether messages are sent."""
        return self.kind != Kind.TAKE

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
