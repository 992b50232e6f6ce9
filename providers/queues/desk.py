"""What every process of a stage works with: its client, its log, the board, and calls that are measured alike."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from vmtrace.providers.errors import HOPELESS, ErrorKind, ServiceError
from vmtrace.providers.exchanges import Exchange, HttpObserver
from vmtrace.providers.queues.board import Board, Counter
from vmtrace.providers.queues.call_log import CallLog
from vmtrace.providers.queues.contract import QueueService
from vmtrace.providers.queues.message import Seal
from vmtrace.providers.queues.meter import SharedMeter
from vmtrace.providers.queues.post import Post
from vmtrace.providers.queues.task import StageTask

T = TypeVar("T")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_LOOK_EVERY_S = 5.0
_MOST_FAILED_IN_A_ROW = 20
_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0


@dataclass
class Desk:
    """Of one process."""

    task: StageTask
    place: int
    slot: int
    service: QueueService
    error_of: Callable[[Exception], ServiceError]
    observer: HttpObserver
    meter: SharedMeter
    board: Board
    log: CallLog
    post: Post
    seal: Seal
    waited_s: float = 0.0
    """For the backlog to shrink."""
    _looked_s: float = 0.0
    _failed_in_a_row: int = 0
    _began_cpu_s: float = field(default_factory=time.process_time)
    _began_s: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """The stage begins: what was used before is not its business."""
        self._began_cpu_s, self._began_s = time.process_time(), time.monotonic()
        self.note_memory()

    def call(self, work: Callable[[], T]) -> tuple[T | None, Exchange, ServiceError | None]:
        """Call the SDK: its result, how it went on the wire, and what went wrong. Raises what ends the process."""
        self.observer.begin(metered=True)
        result, error = None, None
        try:
            result = work()
        except Exception as raised:  # noqa: BLE001 - every SDK has its own; `error_of` tells what it means
            known = raised if isinstance(raised, ServiceError) else self.observer.late
            error = known or self.error_of(raised)
        exchange = self.observer.end()
        if error is None:
            self._failed_in_a_row = 0
        else:
            self.count(Counter.ERRORS)
        self.note_memory_now_and_then()
        return result, exchange, error

    def after(self, error: ServiceError | None) -> None:
        """Behind the line of a call: raise what further calls cannot mend, else pause as trouble goes on."""
        if error is None:
            return
        self._failed_in_a_row += 1
        if error.kind in HOPELESS - {ErrorKind.UNSUPPORTED} or self._failed_in_a_row >= _MOST_FAILED_IN_A_ROW:
            raise error
        pause_s = min(_PAUSE_S * 2 ** (self._failed_in_a_row - 1), _LONGEST_PAUSE_S)
        self.post.sleep_until(time.time_ns() + int(pause_s * 1e9))

    def count(self, counter: Counter, more: int = 1) -> None:
        """On the board."""
        self.board.add(self.slot, counter, more)

    def mark(self, message: int) -> int | None:
        """Where the board has a message; None for one that does not belong to the stage."""
        place = message - self.task.first_message
        return place if 0 <= place < self.task.messages else None

    def note_memory_now_and_then(self) -> None:
        """A line about memory, every few seconds."""
        if time.monotonic() - self._looked_s >= _LOOK_EVERY_S:
            self.note_memory()

    def note_memory(self) -> None:
        """A line about memory and processor time so far."""
        self._looked_s = time.monotonic()
        resident = resident_bytes()
        self.board.put(self.slot, Counter.RESIDENT_BYTES, resident)
        self.log.note(
            "process",
            time_ns=time.time_ns(),
            resident_bytes=resident,
            cpu_s=round(time.process_time() - self._began_cpu_s, 6),
            wall_s=round(time.monotonic() - self._began_s, 6),
            waited_s=round(self.waited_s, 6),
        )


def resident_bytes() -> int:
    """Memory that this process has of its own: mapped files are the kernel's to keep or drop."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read by every process every few seconds
        _, resident, shared, *_ = map(int, file.read().split())
    return (resident - shared) * _PAGE_BYTES
