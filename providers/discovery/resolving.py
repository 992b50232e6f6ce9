"""A round of questions: every name to every resolver, within the rates; replies are handed on as they come.

The resolver that is free first is asked next, so that one that hangs costs the others nothing; after some questions in
a row without a reply it is given up for the round. Memory holds the questions under way, not the replies.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from vmtrace.providers.discovery.question import REPLIED, Question, Reply, Status, ask
from vmtrace.providers.discovery.resolvers import Resolver

MOST_IN_FLIGHT = 512
GIVEN_UP_AFTER = 5
"""Questions in a row that a resolver left without a reply, each after all attempts."""
_HOPELESS = {Status.SILENT, Status.UNREACHABLE, Status.REFUSED}


@dataclass(frozen=True, slots=True)
class Asking:
    """How questions are asked."""

    rate_per_s: float = 100.0
    resolver_rate_per_s: float = 10.0
    timeout_s: float = 3.0
    attempts: int = 3


@dataclass(slots=True)
class _Line:
    resolver: Resolver
    questions: Iterator[Question]
    in_a_row: int = 0
    last: Status | None = None
    given_up: bool = False


@dataclass(slots=True)
class Round:
    """What became of a round. `not_asked` are questions left out because their resolver was given up."""

    asked: int = 0
    replied: int = 0
    not_asked: int = 0
    given_up: dict[Resolver, Status] = field(default_factory=dict)


def questions_for(
    names: Sequence[str], kinds: Sequence[str], subnets: Sequence[str | None]
) -> Callable[[], Iterator[Question]]:
    """All questions to one resolver, made anew at each call."""

    def each() -> Iterator[Question]:
        return (Question(*one) for one in itertools.product(names, kinds, subnets))

    return each


async def ask_all(
    questions: Callable[[], Iterator[Question]],
    resolvers: Sequence[Resolver],
    asking: Asking,
    on_reply: Callable[[Reply], None],
) -> Round:
    """Ask every resolver every question; `on_reply` gets each reply, in the order in which they come."""
    outcome, pace = Round(), Pace(asking.rate_per_s, asking.resolver_rate_per_s)
    free = asyncio.Semaphore(MOST_IN_FLIGHT)
    every = [_Line(resolver, questions()) for resolver in resolvers]
    lines = [(0.0, number, line) for number, line in enumerate(every)]
    clock = asyncio.get_running_loop().time

    async def one(line: _Line, question: Question) -> None:
        try:
            reply = await ask(question, line.resolver, asking.timeout_s, asking.attempts, pace.slot)
        finally:
            free.release()
        outcome.replied += reply.status in REPLIED
        line.in_a_row = line.in_a_row + 1 if reply.status in _HOPELESS else 0
        line.last = reply.status
        line.given_up = line.given_up or line.in_a_row >= GIVEN_UP_AFTER
        on_reply(reply)

    async with asyncio.TaskGroup() as group:
        while lines:
            due_s, number, line = heapq.heappop(lines)
            await asyncio.sleep(max(0.0, due_s - clock()))
            await free.acquire()
            question = None if line.given_up else next(line.questions, None)
            if question is None:
                free.release()
                continue
            outcome.asked += 1
            group.create_task(one(line, question))
            await asyncio.sleep(0)  # its first attempt takes its instant now
            heapq.heappush(lines, (clock() + pace.free_in_s(line.resolver), number, line))
    for line in every:
        if line.given_up and line.last is not None:
            outcome.given_up[line.resolver] = line.last
            outcome.not_asked += sum(1 for _ in line.questions)
    return outcome


class Pace:
    """Gives out instants, evenly spaced; who waits until its own keeps both rates."""

    def __init__(self, rate_per_s: float, resolver_rate_per_s: float, now_s: Callable[[], float] = time.monotonic):
        self._gap_s, self._resolver_gap_s = 1 / rate_per_s, 1 / resolver_rate_per_s
        self._now_s = now_s
        self._next_s = 0.0
        self._next_of: dict[Resolver, float] = {}

    def free_in_s(self, resolver: Resolver) -> float:
        """How long this resolver's own rate keeps it from being asked; 0: no longer."""
        return max(0.0, self._next_of.get(resolver, 0.0) - self._now_s())

    def reserve_s(self, resolver: Resolver) -> float:
        """Take the next instant for this resolver; returns how long it is until then."""
        now_s = self._now_s()
        at_s = max(now_s, self._next_s, self._next_of.get(resolver, 0.0))
        self._next_s = max(now_s, self._next_s) + self._gap_s
        self._next_of[resolver] = at_s + self._resolver_gap_s
        return at_s - now_s

    async def slot(self, resolver: Resolver) -> None:
        """Wait until this resolver may be asked."""
        await asyncio.sleep(self.reserve_s(resolver))
