"""The campaign's line to the receiver: connected when it is needed, and again, with patience, after it broke."""

from __future__ import annotations

import time
from typing import Callable

from vmtrace.capture.interruption import Interruption
from vmtrace.sender.far_side import FarControl, FarSide
from vmtrace.sender.wire.errors import WireError
from vmtrace.sender.wire.records import RunAccepted, RunRequest

_FIRST_WAIT_S = 1.0
_LONGEST_WAIT_S = 30.0
KEEP_ALIVE_S = 15.0
# Of the time that a session may take: what is left must do for one transfer more.
_SPARE = 0.9


class Patience:
    """How long to wait before trying again, and when to give up: `patience_s` after the first failure in a row."""

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._patience_s = patience_s
        self._clock = clock
        self._since_s: float | None = None
        self._wait_s = _FIRST_WAIT_S

    def next_wait_s(self) -> float | None:
        """After a failure: how long to wait; None when it is over."""
        now_s = self._clock()
        if self._since_s is None:
            self._since_s = now_s
        left_s = self._since_s + self._patience_s - now_s
        if left_s <= 0:
            return None
        wait_s = min(self._wait_s, left_s)
        self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)
        return wait_s

    def succeeded(self) -> None:
        """What had failed works again."""
        self._since_s = None
        self._wait_s = _FIRST_WAIT_S


class Link:
    """The control connection of a run. `control` connects if need be; `drop` after anything that failed."""

    def __init__(self, far_side: FarSide, request: Callable[[], RunRequest], interruption: Interruption) -> None:
        self._far_side = far_side
        self._request = request
        self._interruption = interruption
        self._control: FarControl | None = None
        self._accepted: RunAccepted | None = None
        self._opened_s = 0.0
        self._moved_bytes = 0
        self._number = 0

    @property
    def control(self) -> FarControl:
        """A connection on which the run is open; raises the `WireError` that says why there is none."""
        if self._control is None:
            with self._interruption.allowed():
                control = self._far_side.connect()
                try:
                    accepted = control.open_run(self._request())
                except BaseException:
                    control.close()
                    raise
                self._control, self._accepted = control, accepted
            self._opened_s = time.monotonic()
        return self._control

    @property
    def accepted(self) -> RunAccepted:
        """What the receiver answered to the opening of the run."""
        assert self.control is not None
        assert self._accepted is not None
        return self._accepted

    def next_number(self) -> int:
        """A number for a transfer that no other has."""
        self._number += 1
        return self._number

    def make_room_for(self, moved_bytes: int) -> None:
        """Count a transfer that comes next. Where the limits of this session would end it, a new session begins."""
        if self._control is not None:
            limits = self.accepted.limits
            too_much = self._moved_bytes > 0 and self._moved_bytes + moved_bytes > limits.session_bytes
            too_long = time.monotonic() - self._opened_s > _SPARE * limits.session_s
            if too_much or too_long:
                self.drop()
        self._moved_bytes += moved_bytes

    def drop(self) -> None:
        """Close the connection, if there is one; the receiver takes that as the end of a transfer in flight."""
        control, self._control, self._moved_bytes = self._control, None, 0
        if control is not None:
            control.close()

    def rest(self, seconds: float) -> None:
        """Idle time between pairs; the receiver hears of us meanwhile. A connection that breaks is made anew later."""
        left_s = seconds
        while left_s > 0:
            nap_s = min(left_s, KEEP_ALIVE_S)
            self._interruption.sleep(nap_s)
            asked_s = time.monotonic()
            self._keep_alive()
            left_s -= nap_s + time.monotonic() - asked_s

    def _keep_alive(self) -> None:
        if self._control is None:
            return
        try:
            with self._interruption.allowed():
                self._control.keep_alive()
        except WireError:
            self.drop()
