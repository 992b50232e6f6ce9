"""A run over two hosts: one receives and owns the queue, the other sends, by the receiving run's `run.json` and key.

While it lasts the sending host opens connections to the receiving one and exchanges small packets over them. Both
hosts record these, and the report sets the two clocks by them (`analyze.reports.queues.two_hosts`).
"""

import hashlib
import hmac
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from vmtrace.providers.endpoints import host_and_port, shown_endpoint
from vmtrace.providers.errors import UsageError
from vmtrace.providers.queues.plan import Kind, QueuePlan, plan_of_record
from vmtrace.providers.queues.run_folder import read_queue_run
from vmtrace.providers.queues.task import KEY_FILE

_EXCHANGE_EVERY_S = 0.25
_EXCHANGES = 40
"""Of a connection: its handshake is in both captures, whenever these began."""
_PATIENCE_S = 5.0
_MARK_BYTES = 32


class Half(StrEnum):
    """What a host of two does."""

    SEND = "send"
    RECEIVE = "receive"


@dataclass(frozen=True, slots=True)
class Other:
    """The receiving run, as the sending host knows it by two files of its folder."""

    state: dict[str, Any]
    key: str


def read_other(folder: Path) -> Other:
    """`run.json` and the key of the receiving run; raises `ProvidersError`."""
    state = read_queue_run(folder)
    if state.get("half") != Half.RECEIVE:
        raise UsageError(f"--other {folder}: no run of --only receive")
    try:
        return Other(state, (folder / KEY_FILE).read_text().strip())
    except OSError as error:
        raise UsageError(f"--other {folder}: {KEY_FILE}: {error.strerror}") from error


def half_of(plan: QueuePlan, half: Half) -> QueuePlan:
    """The plan with the processes of one host alone; raises `UsageError` for stages that cannot be divided."""
    for stage in plan.stages:
        if stage.kind != Kind.FLOW or stage.rate_per_s is None:
            raise UsageError(f"--only {half}: stage {stage.name} is no flow at a rate")
    if half == Half.SEND:
        return plan.changed(receivers=0, deleters=0)
    return plan.changed(senders=0)


def whole_plan(other: Other, sends: QueuePlan) -> QueuePlan:
    """The plan of the receiving run, with as many senders as this host was asked for."""
    try:
        plan = plan_of_record(other.state["plan"])
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"--other: {error!r}: its plan cannot be read") from error
    return plan.changed(senders=max(stage.senders for stage in sends.stages))


def address_of(text: str) -> tuple[str, int]:
    """`HOST:PORT`; raises `UsageError`."""
    found = host_and_port(text)
    if found is None:
        raise UsageError(f"--clock {text}: expected HOST:PORT")
    return found


class ClockLink:
    """Exchanges packets with the other host while the block lasts, from a thread; what fails is tried again."""

    def __init__(self, half: Half, address: tuple[str, int], key: bytes) -> None:
        self._half, self._address = half, address
        self._mark = hmac.new(key, b"clock", hashlib.sha256).hexdigest()[:_MARK_BYTES].encode()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="clock", daemon=True)
        self._listener: socket.socket | None = None

    def __enter__(self) -> Self:
        if self._half == Half.RECEIVE:
            try:
                family = socket.AF_INET6 if ":" in self._address[0] else socket.AF_INET
                self._listener = socket.create_server(self._address, family=family)
            except OSError as error:
                raise UsageError(f"--clock {shown_endpoint(self._address)}: {error.strerror}") from error
            self._listener.settimeout(_EXCHANGE_EVERY_S)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(2 * _PATIENCE_S)
        if self._listener is not None:
            self._listener.close()

    def _work(self) -> None:
        while not self._over.is_set():
            with suppress(OSError):
                if self._listener is None:
                    self._ask()
                else:
                    self._reply(self._listener)

    def _ask(self) -> None:
        try:
            connection = socket.create_connection(self._address, _PATIENCE_S)
        except OSError:
            self._over.wait(_EXCHANGE_EVERY_S)
            raise
        with connection:
            for _ in range(_EXCHANGES):
                connection.sendall(self._mark)
                if not _received(connection) or self._over.wait(_EXCHANGE_EVERY_S):
                    return

    def _reply(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(_PATIENCE_S)
            while hmac.compare_digest(_received(connection), self._mark) and not self._over.is_set():
                connection.sendall(self._mark)


def _received(connection: socket.socket) -> bytes:
    """A mark, or less at the connection's end."""
    found = b""
    while len(found) < _MARK_BYTES and (some := connection.recv(_MARK_BYTES - len(found))):
        found += some
    return found
