"""A progress bar on standard error, for a person at a terminal who has waited half a second."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 0.5


class Bar:
    """Call it with the bytes consumed so far. Nothing is imported or drawn until the patience is over."""

    def __init__(self, paths: Sequence[str], *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._total = total_bytes(paths)
        self._started = time.monotonic()
        self._last = 0
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __call__(self, consumed_bytes: int) -> None:
        """Show how far the reading is."""
        if not self._wanted:
            return
        if consumed_bytes < self._last:  # a further pass begins
            self._close()
            self._started = time.monotonic()
        self._last = consumed_bytes
        if self._bar is None and time.monotonic() - self._started > _PATIENCE_S:
            self._open()
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=consumed_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        columns = (
            TextColumn("reading"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
        )
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("reading", total=self._total)
        self._bar.start()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None


def total_bytes(paths: Sequence[str]) -> int | None:
    """The size of all files together; None if one has no size (standard input, a pipe)."""
    total = 0
    for path in paths:
        if not Path(path).is_file():
            return None
        total += Path(path).stat().st_size
    return total
