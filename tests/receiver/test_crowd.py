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

from tests.receiver.harness import KEY, keyed, receiver, resident_bytes, stranger
from vmtrace.receiver.settings import AdmissionLimits
from vmtrace.sender.wire import handshake as hs
from vmtrace.sender.wire.channel import receive_exactly
from vmtrace.sender.wire.fields import to_json
from vmtrace.sender.wire.records import TransferRequest

pytestmark = [pytest.mark.slow, pytest.mark.alone]

AWAY_S = 0.3
RATE = 5000
SECONDS = 12

CROWD = textwrap.dedent(
    """
    import socket, sys, time
    port, rate, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    held, count, began_s = [], 0, time.monotonic()
    while (passed_s := time.monotonic() - began_s) < seconds:
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
        time.sleep(0.001)
    print(count / (time.monotonic() - began_s))
    """
)


@contextmanager
def crowd(port: int) -> Iterator[list[float]]:
    """Connections from 300 addresses; how many a second there were is known afterwards."""
    words = [sys.executable, "-c", CROWD, str(port), str(RATE), str(SECONDS)]
    rates: list[float] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            time.sleep(1.5)
            yield rates
            assert process.poll() is None, "the crowd was over too soon"
        finally:
            said, _ = process.communicate(timeout=30)
            rates.append(float(said))


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
    with receiver(tmp_path, LIMITS, sessions=20) as there:
        with crowd(there.port) as rates:
            assert [opens(there.port, f"127.0.9.{number}") for number in range(1, 13)] == [True] * 12
        assert rates[0] > 0.9 * RATE
        there.serves()


def test_a_session_that_runs_loses_no_stream_to_a_crowd(tmp_path: Path) -> None:
    with receiver(tmp_path, LIMITS) as there, keyed(there.port, "127.0.9.1") as client:
        assert client.ask(ask="open", capture=False)["ok"] is True
        before = resident_bytes()
        accepted = 0
        with crowd(there.port) as rates:
            for number in range(1, 11):
                client.ask(**to_json(TransferRequest(number, number, "data", 1000)), ask="prepare")
                with stranger(there.port, "127.0.9.1") as sock:
                    hello = receive_exactly(sock, hs.HELLO_BYTES, time.monotonic() + 5, "it")
                    time.sleep(AWAY_S)
                    sock.sendall(client.data_auth(hello, number, 0, "upload"))
                    accepted += receive_exactly(sock, hs.ACCEPT_BYTES, time.monotonic() + 5, "it")[4] == hs.ACCEPTED
        assert accepted == 10
        assert rates[0] > 0.9 * RATE
        assert resident_bytes() - before < 64 << 20
