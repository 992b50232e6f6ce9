"""Server processes: started in a process group of their own, waited for until they answer, always ended.

The kernel ends a server with the process that started it (PR_SET_PDEATHSIG), so that not even a killed test run
leaves any behind. A server that does not come up is an error that shows the end of its log.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services.service import Place

_READY_WITHIN_S = 60.0  # a loaded machine with cold caches; Swift takes 1.3 s where there is room
_PROBE_S = 20.0  # long: a probe that gave up would be counted late as an accepted connection
_ENDS_WITHIN_S = 5.0
_LOG_TAIL_LINES = 15


class ServiceError(RuntimeError):
    """A stand-in that cannot be started; the message says what is missing, or ends with the server's last words."""


@dataclass(frozen=True, slots=True)
class Command:
    """A server's command line, what it needs in its environment, and how to ask whether it is ready."""

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    log_path: Path
    ready: Callable[[], bool]


@contextmanager
def serving(command: Command, namespace: str | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server while the block lasts; it answers when the block begins.

    Raises `ServiceError` when it ends early or does not answer within a minute.
    """
    prefix = namespaces.exec_prefix(namespace) if namespace else ["setpriv", "--pdeathsig", "KILL"]
    with command.log_path.open("wb") as log:
        process = subprocess.Popen(
            [*prefix, *command.words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**module_environment(), **command.environment},
            start_new_session=True,
        )
    try:
        _wait_until_ready(process, command)
        yield process
    finally:
        _end_group(process)


def free_ports(address: str, count: int, namespace: str | None = None) -> list[int]:
    """Port numbers that nobody listens on at the address, all different."""
    with inside(namespace), contextlib.ExitStack() as stack:
        ports = []
        for _ in range(count):
            probe = stack.enter_context(socket.socket())
            probe.bind((address, 0))
            ports.append(int(probe.getsockname()[1]))
        return ports


@contextmanager
def inside(namespace: str | None) -> Iterator[None]:
    """Run the calling thread in a namespace; with None it stays where it is."""
    if namespace is None:
        yield
        return
    with namespaces.inside(namespace):
        yield


def answers_http(place: Place, port: int, ca_path: Path, path: str) -> Callable[[], bool]:
    """Whether a server answers a request for `path` with no error of its own: what tells that it is ready."""

    def asked() -> bool:
        return _answers(place, port, ca_path, path)

    return asked


def _wait_until_ready(process: subprocess.Popen[bytes], command: Command) -> None:
    deadline_s = time.monotonic() + _READY_WITHIN_S
    while True:
        if process.poll() is not None:
            raise ServiceError(f"{command.name} ended with status {process.returncode}: {_tail(command.log_path)}")
        if command.ready():
            return
        if time.monotonic() > deadline_s:
            raise ServiceError(
                f"{command.name} does not answer after {_READY_WITHIN_S:.0f} s: {_tail(command.log_path)}"
            )
        time.sleep(0.05)


def _answers(place: Place, port: int, ca_path: Path, path: str) -> bool:
    connection = _connection(place, port, ca_path)
    try:
        with inside(place.namespace):
            connection.connect()
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _connection(place: Place, port: int, ca_path: Path) -> http.client.HTTPConnection:
    if place.scheme == "http":
        return http.client.HTTPConnection(place.address, port, timeout=_PROBE_S)
    trust = ssl.create_default_context(cafile=str(ca_path))
    trust.check_hostname = False  # a name need not resolve where the probe runs
    return http.client.HTTPSConnection(place.address, port, timeout=_PROBE_S, context=trust)


def _tail(log_path: Path) -> str:
    lines = log_path.read_text(errors="replace").strip().splitlines()
    return "\n".join(lines[-_LOG_TAIL_LINES:]) or "it said nothing"


def _end_group(process: subprocess.Popen[bytes]) -> None:
    for number, seconds in ((signal.SIGTERM, _ENDS_WITHIN_S), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            continue
    with contextlib.suppress(ProcessLookupError):  # what outlived its leader
        os.killpg(process.pid, signal.SIGKILL)
