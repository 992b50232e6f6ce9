"""Clients read and ask in the rhythm that they are told."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from vmtrace.lab.accuracy.program_readers import Rhythm, talk
from vmtrace.lab.accuracy.program_servers import Manner, serve


@pytest.fixture
def port() -> Iterator[int]:
    server = serve(Manner(answer_bytes=100_000), "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def test_every_exchange_brings_the_whole_reply(port: int) -> None:
    assert talk(Rhythm(exchanges=3), "127.0.0.1", port, "x") == 300_000


def test_a_reader_on_a_timer_takes_as_many_intervals_as_it_has_pieces(port: int) -> None:
    began_s = time.monotonic()
    assert talk(Rhythm(every_s=0.05, read_bytes=20_000), "127.0.0.1", port, "x") == 100_000
    assert time.monotonic() - began_s >= 0.25


def test_it_waits_between_exchanges_and_not_before_the_first(port: int) -> None:
    began_s = time.monotonic()
    talk(Rhythm(exchanges=3, wait_s=0.1), "127.0.0.1", port, "x")
    assert time.monotonic() - began_s >= 0.2


def test_what_has_come_is_read_in_whatever_pieces(port: int) -> None:
    assert talk(Rhythm(has_come=True, buffer_bytes=8192), "127.0.0.1", port, "x") == 100_000


def test_pieces_are_sent_and_answered(port: int) -> None:
    assert talk(Rhythm(exchanges=2, piece_bytes=50_000), "127.0.0.1", port, "x") == 0
