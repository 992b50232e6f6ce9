import socket
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.wire.data_connection import (
    Stream,
    data_key,
    pack_subject,
    read_subject,
    send_done,
    send_go,
    session_name,
    wait_for_done,
    wait_for_go,
)
from vmtrace.sender.wire.endpoint import give_up_after
from vmtrace.sender.wire.errors import ReceiverGone


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    listener = socket.create_server(("127.0.0.1", 0))
    ours = socket.create_connection(listener.getsockname())
    theirs, _ = listener.accept()
    with listener, ours, theirs:
        yield ours, theirs


@given(
    st.binary(min_size=16, max_size=16),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.sampled_from(["upload", "download"]),
)
def test_a_subject_says_which_stream_it_is(session: bytes, transfer: int, stream: int, direction: str) -> None:
    place = Stream(session, transfer, stream, direction)
    assert read_subject(pack_subject(place)) == place


def test_the_bytes_on_the_wire_are_those_of_version_2(pair: tuple[socket.socket, socket.socket]) -> None:
    assert pack_subject(Stream(bytes(range(16)), 1, 2, "upload")) == bytes(range(16)) + b"\0\0\0\1\0\2\0" + bytes(9)
    assert pack_subject(Stream(bytes(range(16)), 1, 2, "download"))[16:] == b"\0\0\0\1\0\2\1" + bytes(9)
    assert (len(session_name(bytes(32))), len(data_key(bytes(32)))) == (16, 32)
    send_done(pair[0], 7)
    assert pair[1].recv(99) == b"DONE" + bytes(11) + b"\7"


@given(st.binary(max_size=64))
def test_any_bytes_are_a_subject_or_a_value_error(raw: bytes) -> None:
    try:
        assert read_subject(raw).direction in {"upload", "download"}
    except ValueError:
        assert len(raw) != 32 or raw[22] > 1


def test_done_and_go(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    send_go(ours)
    wait_for_go(theirs)
    send_done(ours, 2**40)
    wait_for_done(theirs, 2**40)


def test_done_with_another_count_is_an_error(pair: tuple[socket.socket, socket.socket]) -> None:
    send_done(pair[0], 9)
    with pytest.raises(ReceiverGone, match="has 9 of 10 bytes"):
        wait_for_done(pair[1], 10)


@given(st.binary(min_size=16, max_size=16))
def test_any_other_bytes_are_no_done(raw: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(raw)
        with pytest.raises(ReceiverGone):
            wait_for_done(theirs, 10)


def test_garbage_is_no_go(pair: tuple[socket.socket, socket.socket]) -> None:
    pair[0].sendall(b"no")
    with pytest.raises(ReceiverGone, match="does not ask for its download"):
        wait_for_go(pair[1])


def test_an_end_and_silence_are_told_apart(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    give_up_after(theirs, 0.1)
    with pytest.raises(ReceiverGone, match="stalled"):
        wait_for_done(theirs, 1)
    ours.close()
    with pytest.raises(ReceiverGone, match="closed the connection before all had arrived"):
        wait_for_done(theirs, 1)
