"""The receiver as a campaign sees it: the few verbs of `vmtrace.sender.wire` that it uses, as an interface.

`OverTheWire` is the real one. Tests put another in its place, to make the network and the receiver fail as they like.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable, Protocol

from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.program import describe
from vmtrace.sender.wire.records import (
    ClockOffset,
    FarEnd,
    Prepared,
    RemoteFile,
    RunAccepted,
    RunRequest,
    Sent,
    TransferRequest,
)
from vmtrace.sender.wire.stream_life import Watch
from vmtrace.sender.wire.transfer import Outcome, run_transfer


class FarControl(Protocol):
    """An authenticated connection to the receiver; see `vmtrace.sender.wire.control.Control` for the contracts."""

    local_address: tuple[str, int]
    peer_address: tuple[str, int]

    def open_run(self, request: RunRequest) -> RunAccepted:
        """Begin a run, or go on with one."""

    def clock_offset(self) -> ClockOffset:
        """Receiver's clock minus ours."""

    def prepare(self, request: TransferRequest) -> Prepared:
        """Have the receiver expect a transfer."""

    def finish(self, number: int, sent: Sent | None) -> FarEnd:
        """End a transfer."""

    def abort(self, number: int) -> None:
        """Give a transfer up."""

    def keep_alive(self) -> None:
        """Say that we are still here."""

    def files(self) -> list[RemoteFile]:
        """The files of the receiver's half."""

    def fetch(self, file: RemoteFile, write: Callable[[bytes], object], coming: Sequence[RemoteFile] = ()) -> None:
        """Get a whole file; `coming` will be fetched next."""

    def close(self) -> None:
        """End the connection."""


class FarSide(Protocol):
    """Where connections to the receiver come from."""

    def connect(self) -> FarControl:
        """A fresh control connection; raises the `WireError` that says why there is none."""

    def transfer(
        self, control: FarControl, request: TransferRequest, prepared: Prepared, watch: Watch, stall_s: float
    ) -> Outcome:
        """Move the bytes of a prepared transfer."""


class OverTheWire:
    """The receiver at an endpoint, for holders of its key."""

    def __init__(self, endpoint: Endpoint, key: bytes) -> None:
        self._endpoint = endpoint
        self._key = key

    def connect(self) -> FarControl:
        """A fresh control connection; raises the `WireError` that says why there is none."""
        try:
            return Control.connect(self._endpoint, self._key)
        except OSError as error:
            # The local address or interface is not there: it may come back, as a network does.
            raise ReceiverGone(describe(error)) from error

    def transfer(
        self, control: FarControl, request: TransferRequest, prepared: Prepared, watch: Watch, stall_s: float
    ) -> Outcome:
        """Move the bytes of a prepared transfer."""
        assert isinstance(control, Control)
        return run_transfer(control, request, prepared, watch, stall_s)
