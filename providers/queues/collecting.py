"""Collecting what is left of a run's messages in its queue: at the end of a run that did not come to its end by itself,
and by `vmtrace queue clean`.

What is found is written down as the collector's, then deleted: it was pending. Messages may be invisible, in the hands
of a process that is gone: collecting is over when all are found, or nothing came for longer than that can last.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from vmtrace.providers.errors import ServiceError
from vmtrace.providers.exchanges import Exchange, HttpObserver
from vmtrace.providers.queues.call_log import CallLog
from vmtrace.providers.queues.contract import QueueService
from vmtrace.providers.queues.message import Seal

T = TypeVar("T")
MARGIN_S = 3.0
"""Without a message, it is over after so long."""
_VISIBILITY_S = 60.0
_PAUSE_S = 0.2
_MOST_FAILED = 5


@dataclass(frozen=True, slots=True)
class Collector:
    """One client that finds and deletes what is left of a run."""

    service: QueueService
    seal: Seal
    log: CallLog
    error_of: Callable[[Exception], ServiceError]
    observer: HttpObserver
    long_poll_s: float = 2.0

    def collect(self, wanted: int, invisible_s: float, margin_s: float = MARGIN_S) -> int:
        """Find up to `wanted` messages; returns how many there were. Raises `ServiceError`."""
        found: set[int] = set()
        ends_s = time.monotonic() + invisible_s + margin_s
        failed = 0
        while len(found) < wanted and time.monotonic() < ends_s:
            try:
                some = self._once()
                failed = 0
            except ServiceError:
                failed += 1
                if failed >= _MOST_FAILED:
                    raise
                some = []
            if some:
                found.update(some)
                ends_s = max(ends_s, time.monotonic() + margin_s)
            else:
                time.sleep(_PAUSE_S)
        return len(found)

    def _once(self) -> list[int]:
        """Receive and delete a batch; the numbers of the run's own messages in it."""
        limits = self.service.limits
        wait_s = min(self.long_poll_s, limits.longest_wait_s)
        receive = partial(self.service.receive, limits.receive_batch, wait_s, _VISIBILITY_S)
        messages, exchange = self._called("receive", receive, messages=[])
        stamped = [(self.seal.read(message.body), message) for message in messages]
        own = [(stamp, message) for stamp, message in stamped if stamp is not None]
        lines = [[stamp.number, stamp.due_ns, stamp.sent_ns, message.deliveries] for stamp, message in own]
        foreign = len(messages) - len(own)
        self.log.call("receive", exchange, None, messages=lines, **({"foreign": foreign} if foreign else {}))
        for start in range(0, len(own), limits.delete_batch):
            some = own[start : start + limits.delete_batch]
            numbers = [stamp.number for stamp, _ in some]
            delete = partial(self.service.delete, [message.handle for _, message in some])
            answers, exchange = self._called("delete", delete, numbers=numbers)
            refused = {number: one.code for number, one in zip(numbers, answers, strict=True) if one is not None}
            self.log.call("delete", exchange, None, numbers=numbers, **({"refused": refused} if refused else {}))
        return [stamp.number for stamp, _ in own]

    def _called(self, operation: str, work: Callable[[], T], **values: object) -> tuple[T, Exchange]:
        self.observer.begin()
        try:
            result = work()
        except Exception as raised:
            known = raised if isinstance(raised, ServiceError) else self.observer.late
            error = known or self.error_of(raised)
            self.log.call(operation, self.observer.end(), error, **values)
            raise error from raised
        return result, self.observer.end()


def collector_log(folder: Path) -> Path:
    """A log of its own for each time."""
    count = len(list((folder / "logs").glob("999-*.jsonl"))) if (folder / "logs").is_dir() else 0
    return folder / "logs" / f"999-{count + 1}-collector-0.jsonl"
