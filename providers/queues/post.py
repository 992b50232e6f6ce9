"""How a process of a stage hears of its coordinator: lines on standard input.

`go NS` fixes when the stage begins. The end of the input, and SIGTERM, end it: the coordinator is through, or dead.
"""

import json
import os
import select
import signal
import sys
import time
from types import FrameType
from typing import Any

_LOOK_EVERY_S = 0.2


class Post:
    """Standard input and output of a process of a stage."""

    def __init__(self) -> None:
        self._ended = False
        self._received = b""

    def report(self, what: str, **values: Any) -> None:
        """A line to the coordinator; where nobody reads it any more, there is nobody to report to."""
        try:
            print(json.dumps({"what": what, **values}), flush=True)
        except OSError:
            self._ended = True

    def wait_for_start(self) -> int | None:
        """When the stage begins, Unix ns; None if it does not."""
        while not self._ended:
            line, newline, rest = self._received.partition(b"\n")
            if newline:
                self._received = rest
                return int(line.split()[1])
            self._look(_LOOK_EVERY_S)
        return None

    @property
    def stopped(self) -> bool:
        """Whether this process should end."""
        self._look(0.0)
        return self._ended

    def sleep_until(self, unix_ns: int) -> bool:
        """Sleep until then; False if this process should end before."""
        while (left_s := (unix_ns - time.time_ns()) / 1e9) > 0:
            if left_s > _LOOK_EVERY_S:
                self._look(_LOOK_EVERY_S / 2)
                if self._ended:
                    return False
            else:
                time.sleep(left_s)
        return not self.stopped

    def _look(self, wait_s: float) -> None:
        if self._ended:
            time.sleep(wait_s)
            return
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], wait_s)
        if ready:
            data = os.read(sys.stdin.fileno(), 4096)
            self._received += data
            self._ended = not data


class StoppedError(BaseException):
    """SIGTERM came: the call under way is given up. No `Exception`, so that no SDK takes it for trouble of its own."""


def end_by_signal() -> None:
    """Have SIGTERM raise `StoppedError`, and Ctrl-C do nothing: that is the coordinator's."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise StoppedError

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
