"""A crowd of thousands a second that never proves the key, and senders a third of a second away."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.busy_machine import too_busy, where_it_ran
from tests.receiver.harness import KEY, Keyed, keyed, receiver, resident_bytes, stranger
from vmtrace.receiver.settings import AdmissionLimits
from vmtrace.sender.wire import handshake as hs
from vmtrace.sender.wire.channel import receive_exactly
from vmtrace.sender.wire.fields import to_json
from vmtrace.sender.wire.records import TransferRequest

pytestmark = [pytest.mark.slow, pytest.mark.alone]

AWAY_S = 0.3
RATE = 5000

CROWD = textwrap.dedent(
    """
    import select, socket, sys, time
    port, rate = int(sys.argv[1]), float(sys.argv[2])
    held, count, began_s = [], 0, time.monotonic()
    while not select.select([0], [], [], 0.001)[0]:
        passed_s = time.monotonic() - began_s
        while count < passed_s * rate:
            sock = socket.socket()
            sock.setblocking(False)
            try:
                sock.bind((f"127.0.{1 + count % 300 // 150}.{1 + count % 150}", 0))
                sock.connect_ex(("127.0.0.1", port))
            except OSError:
                pass
            held.append(sock)
            count += 1
            if len(held) > 9000:
                held.pop(0).close()
    print(count / (time.monotonic() - began_s))
    """
)


@contextmanager
def crowd(port: int) -> Iterator[None]:
    """Connections from 300 addresses, as many a second as were wanted."""
    words = [sys.executable, "-c", CROWD, str(port), str(RATE)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(1.5)
            yield
        finally:
            said, _ = process.communicate(timeout=30)
            # What failed meanwhile says nothing of the receiver then.
            if float(said) < 0.9 * RATE:
                too_busy(f"the crowd was of {float(said):.0f} connections a second")


def opens(port: int, host: str) -> bool:
    """A sender a third of a second away has its ACCEPT."""
    try:
        with stranger(port, host) as sock:
            hello = receive_exactly(sock, hs.HELLO_BYTES, time.monotonic() + 5, "it")
            time.sleep(AWAY_S)
            sock.sendall(hs.new_auth(KEY, hello, hs.CONTROL))
            return receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.ACCEPTED
    except OSError:
        return False


LIMITS = AdmissionLimits(connections_per_s=1000, connection_burst=2000)


def test_twelve_senders_open_sessions_through_a_crowd_of_five_thousand_a_second(tmp_path: Path) -> None:
    def check() -> None:
        with receiver(tmp_path, LIMITS, sessions=20) as there:
            with crowd(there.port):
                assert [opens(there.port, f"127.0.9.{number}") for number in range(1, 13)] == [True] * 12
            there.serves()

    where_it_ran(check)


def test_a_session_that_runs_loses_no_stream_to_a_crowd(tmp_path: Path) -> None:
    def check() -> None:
        with receiver(tmp_path, LIMITS) as there, keyed(there.port, "127.0.9.1") as client:
            assert client.ask(ask="open", capture=False)["ok"] is True
            before = resident_bytes()
            with crowd(there.port):
                assert [streams(client, there.port, number) for number in range(1, 11)] == [True] * 10
            assert resident_bytes() - before < 64 << 20

    where_it_ran(check)


def streams(client: Keyed, port: int, number: int) -> bool:
    """A transfer's stream has its ACCEPT."""
    client.ask(**to_json(TransferRequest(number, number, "data", 1000)), ask="prepare")
    try:
        with stranger(port, "127.0.9.1") as sock:
            hello = receive_exactly(sock, hs.HELLO_BYTES, time.monotonic() + 5, "it")
            time.sleep(AWAY_S)
            sock.sendall(client.data_auth(hello, number, 0, "upload"))
            return receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.ACCEPTED
    except OSError:
        return False
