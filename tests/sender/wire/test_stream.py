import hashlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.sender.wire.endpoint import give_up_after
from vmtrace.sender.wire.errors import ReceiverGone
from vmtrace.sender.wire.stream import Progress, Received, fresh_bytes, new_block, receive_stream, send_stream, shares

BLOCK = 1000


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def received_of(content: bytes, block_bytes: int, size: int | None = None) -> Received:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        writer = threading.Thread(target=ours.sendall, args=(content,))
        writer.start()
        got = receive_stream(theirs, size or len(content), block_bytes, Progress(), lambda: None)
        writer.join()
        return got


@pytest.mark.parametrize("size", [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5])
def test_a_stream_arrives_and_is_verified(size: int, pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    block = new_block(min(size, BLOCK))
    sent, got = Progress(), Progress()
    writer = threading.Thread(target=send_stream, args=(ours, block, size, sent))
    writer.start()
    before_ns = time.time_ns()
    received = receive_stream(theirs, size, len(block), got, lambda: None)
    writer.join()
    assert (received.bytes, received.repeats) == (size, True)
    assert received.sha256 == hashlib.sha256(block).hexdigest()
    assert before_ns <= received.first_byte_ns <= received.last_byte_ns <= time.time_ns()
    assert sent.moved_bytes == got.moved_bytes == size


@settings(max_examples=50)
@given(st.integers(1, 5000), st.integers(1, 1500), st.data())
def test_every_changed_byte_is_noticed(size: int, block_bytes: int, data: st.DataObject) -> None:
    block_bytes = min(size, block_bytes)
    block = bytes(new_block(block_bytes))
    content = bytearray((block * (size // block_bytes + 1))[:size])
    place = data.draw(st.integers(0, size - 1))
    content[place] ^= 1 << data.draw(st.integers(0, 7))
    received = received_of(bytes(content), block_bytes)
    if size >= 2 * block_bytes or place >= block_bytes:
        assert not received.repeats or received.sha256 != hashlib.sha256(block).hexdigest()
    if place < block_bytes:
        assert received.sha256 != hashlib.sha256(block).hexdigest()
    else:
        assert not received.repeats


def test_the_end_is_reported_before_the_digest_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    def digest(_block: memoryview) -> str:
        happened.append("digest")
        return ""

    monkeypatch.setattr("vmtrace.sender.wire.stream.digest", digest)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"x" * 10)
        receive_stream(theirs, 10, 10, Progress(), lambda: happened.append("end"))
    assert happened == ["end", "digest"]


@given(st.integers(0, 2**40), st.integers(1, 64))
def test_shares_are_even_and_sum_to_all(total: int, streams: int) -> None:
    parts = shares(total, streams)
    assert sum(parts) == total
    assert max(parts) - min(parts) <= 1
    assert len(parts) == streams


@given(st.integers(1, 2**40), st.integers(1, 2**28), st.integers(1, 64))
def test_a_block_is_never_empty_nor_longer_than_its_stream(size: int, random_bytes: int, streams: int) -> None:
    assert 1 <= fresh_bytes(size, random_bytes, streams) <= size


@pytest.mark.parametrize("here", [0, 7, 10, 13], ids=["at once", "first copy", "between", "repeat"])
def test_a_stream_that_ends_early_says_after_how_many_bytes(
    here: int, pair: tuple[socket.socket, socket.socket]
) -> None:
    pair[0].sendall(b"x" * here)
    pair[0].close()
    with pytest.raises(ReceiverGone, match=f"the stream ended after {here} of 20 bytes"):
        receive_stream(pair[1], 20, 10, Progress(), lambda: None)


def test_writes_grow_on_a_fast_path_and_shrink_on_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, written = 0.0, list[int]()
    took_s = iter([0.001] * 6 + [0.05, 0.2] + [0.2] * 6)

    class Path:
        def sendall(self, piece: memoryview) -> None:
            nonlocal now_s
            now_s += next(took_s, 0.0)
            written.append(len(piece))

    monkeypatch.setattr("vmtrace.sender.wire.stream.time.monotonic", lambda: now_s)
    total = sum(sizes := [64, 128, 256, 512, 1024, 1024, 1024, 1024, 512, 256, 128, 64, 64, 64])
    send_stream(cast(socket.socket, Path()), new_block(8 << 20), total << 10, Progress())
    assert [size >> 10 for size in written] == sizes


def test_a_standstill_ends_both_ways() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as ours:
        theirs, _ = listener.accept()
        with theirs:
            give_up_after(ours, 0.2)
            give_up_after(theirs, 0.2)
            with pytest.raises(ReceiverGone, match="no data arrives"):
                receive_stream(theirs, 10, 10, Progress(), lambda: None)
            with pytest.raises(ReceiverGone, match="no data could be sent"):
                send_stream(ours, new_block(1 << 20), 1 << 30, Progress())
