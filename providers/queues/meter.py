"""The budget of a run that several processes use: asked before every request, so that no limit is exceeded.

Each process counts in its slot of the board; sums are made, and compared with the limits, under the board's lock.
Deleting and collecting at the end is never refused: what stays costs more.
"""

from pathlib import Path

from vmtrace.providers.budget import Limits
from vmtrace.providers.errors import BudgetError
from vmtrace.providers.prices import shown_charge
from vmtrace.providers.queues.board import Board, Counter
from vmtrace.providers.queues.prices import QueuePrices, Usage


def usage_on(board: Board) -> Usage:
    """What all processes of a stage used so far."""
    return Usage(
        board.total(Counter.SENT),
        board.total(Counter.REQUESTS),
        board.total(Counter.UPLOADED_BYTES),
        board.total(Counter.DOWNLOADED_BYTES),
    )


def usage_of_killed(folder: Path) -> Usage:
    """What stages used whose coordinator was killed: their boards are still there. They are removed, being counted."""
    used = Usage()
    for path in sorted((folder / "boards").glob("*.bin")):
        with Board(path, 0) as board:
            used = used + usage_on(board)
        path.unlink()
    return used


class SharedMeter:
    """An `exchanges.Meter` of one process. `before`: what earlier stages used."""

    def __init__(self, board: Board, slot: int, limits: Limits, prices: QueuePrices | None, before: Usage) -> None:
        self._board, self._slot = board, slot
        self._limits, self._prices, self._before = limits, prices, before
        self.removing = False
        """While messages are deleted or collected, nothing is refused."""

    def request(self, method: str, target: str = "") -> None:  # noqa: ARG002 - all kinds of requests cost the same
        """A request is about to be sent."""
        self._use({Counter.REQUESTS: 1})

    def upload(self, size_bytes: int) -> None:
        """Its body is about to be sent; a large one counts as further requests."""
        more = 0 if self._prices is None else self._prices.chunks(size_bytes) - 1
        self._use({Counter.UPLOADED_BYTES: size_bytes, Counter.REQUESTS: more})

    def download(self, size_bytes: int) -> None:
        """The body of a response is about to be read."""
        more = 0 if self._prices is None else self._prices.chunks(size_bytes) - 1
        self._use({Counter.DOWNLOADED_BYTES: size_bytes, Counter.REQUESTS: more})

    def check_messages(self, count: int) -> None:
        """So many messages are about to be put; raises `BudgetError` where they may not be paid for."""
        if self._limits.max_cost is not None:
            refuse_beyond(self._limits, self._prices, self._before + usage_on(self._board) + Usage(count))

    def _use(self, more: dict[Counter, int]) -> None:
        limited = self._limits.max_bytes is not None or self._limits.max_cost is not None
        if not limited or self.removing:
            self._count(more)
            return
        with self._board.locked():
            added = Usage(
                0,
                more.get(Counter.REQUESTS, 0),
                more.get(Counter.UPLOADED_BYTES, 0),
                more.get(Counter.DOWNLOADED_BYTES, 0),
            )
            refuse_beyond(self._limits, self._prices, self._before + usage_on(self._board) + added)
            self._count(more)

    def _count(self, more: dict[Counter, int]) -> None:
        for counter, number in more.items():
            self._board.add(self._slot, counter, number)


def refuse_beyond(limits: Limits, prices: QueuePrices | None, wanted: Usage) -> None:
    """Raise `BudgetError` where this is more than is allowed."""
    wanted_bytes = wanted.uploaded_bytes + wanted.downloaded_bytes
    if limits.max_bytes is not None and wanted_bytes > limits.max_bytes:
        raise BudgetError(f"--max-bytes {limits.max_bytes:,} bytes are used up")
    if limits.max_cost is not None and prices is not None and prices.charge(wanted) > limits.max_cost:
        raise BudgetError(f"--max-cost {shown_charge(limits.max_cost)} is used up")
