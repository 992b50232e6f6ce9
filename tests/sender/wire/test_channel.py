import json
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vmtrace.sender.wire.channel import LONGEST_BYTES, Channel, ChannelError, receive_exactly, send_all
from vmtrace.sender.wire.errors import ConnectionClosed, ReceiverGone, WireError


@pytest.fixture
def pair() -> Iterator[tuple[Channel, Channel]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, "it"), Channel(theirs, "it")


def frame(body: bytes) -> bytes:
    """A frame by the words of docs/security.md."""
    return struct.pack(">I", len(body)) + body


def test_messages_and_bytes_arrive_in_order(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    ours.send({"a": [1, None, "ä"]})
    ours.send_bytes(b"\0" * 1000)
    assert theirs.receive(1) == {"a": [1, None, "ä"]}
    assert theirs.receive_bytes(1) == b"\0" * 1000
    theirs.send({})
    assert ours.receive(1) == {}


def test_a_frame_is_what_the_specification_says(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    ours.send({})
    assert theirs.socket.recv(1000) == frame(b"J{}")
    ours.send_bytes(b"x")
    assert theirs.socket.recv(1000) == frame(b"Bx")


def raw(pair: tuple[Channel, Channel], *content: bytes) -> Channel:
    for piece in content:
        pair[0].socket.sendall(piece)
    return pair[1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_a_wire_error(content: bytes, framed: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(frame(b"J" + content) if framed else content)
        ours.shutdown(socket.SHUT_WR)
        try:
            assert isinstance(Channel(theirs, "it").receive(1), dict)
        except WireError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize("cut", range(len(frame(b"J{}"))))
def test_a_frame_cut_anywhere_is_a_lost_connection(cut: int, pair: tuple[Channel, Channel]) -> None:
    theirs = raw(pair, frame(b"J{}")[:cut])
    pair[0].close()
    with pytest.raises(ConnectionClosed, match="closed the connection"):
        theirs.receive(1)


@pytest.mark.parametrize("size", [0, LONGEST_BYTES + 1, 2**32 - 1])
def test_a_size_beyond_the_limit_ends_the_connection_before_anything_is_read(
    size: int, pair: tuple[Channel, Channel]
) -> None:
    with pytest.raises(ChannelError, match=f"announced a message of {size} bytes"):
        raw(pair, struct.pack(">I", size)).receive(1)


@pytest.mark.parametrize(
    "content",
    [
        "[]",
        "1",
        '"x"',
        "nul",
        "{",
        "NaN",
        '{"a":NaN}',
        '{"a":-Infinity}',
        "[" * 100_000,
        '{"a":' * 10_000,
        '{"a":' + "9" * 5000 + "}",
        '{"a":1,"a":1}',
        '{"b":{"a":1,"c":2,"a":3}}',
    ],
    ids=lambda content: content[:12],
)
def test_what_is_no_json_object_is_a_channel_error(content: str, pair: tuple[Channel, Channel]) -> None:
    with pytest.raises(ChannelError):
        raw(pair, frame(b"J" + content.encode())).receive(1)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32-be", "latin-1"])
def test_a_message_is_utf_8(encoding: str, pair: tuple[Channel, Channel]) -> None:
    with pytest.raises(ChannelError, match="not JSON"):
        raw(pair, frame(b"J" + '{"a":"ä"}'.encode(encoding))).receive(1)


def test_a_long_integer_takes_no_long_time(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    theirs.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    ours.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    content = frame(b'J{"a":' + b"9" * 900_000 + b"}")
    ours.socket.settimeout(10)
    writer = threading.Thread(target=ours.socket.sendall, args=(content,))
    writer.start()
    began_s = time.process_time()
    with pytest.raises(ChannelError, match="not JSON"):
        theirs.receive(5)
    writer.join()
    assert time.process_time() - began_s < 0.5


def test_the_kind_of_a_message_counts(pair: tuple[Channel, Channel]) -> None:
    with pytest.raises(ChannelError, match="sent bytes where a message was due"):
        raw(pair, frame(b"B{}")).receive(1)
    with pytest.raises(ChannelError, match="where bytes of a file were due"):
        raw(pair, frame(b"J{}")).receive_bytes(1)


def test_silence_and_drips_both_end_at_the_deadline(pair: tuple[Channel, Channel]) -> None:
    began_s = time.monotonic()
    with pytest.raises(ReceiverGone, match="no reply from"):
        raw(pair, b"\0").receive(0.1)
    assert time.monotonic() - began_s < 10


def test_what_is_sent_has_its_own_time_whatever_remained_to_receive(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    theirs.send({})
    ours.receive(0.05)
    theirs.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    slow = threading.Timer(0.3, lambda: receive_exactly(theirs.socket, 900_000, None, "it"))
    slow.start()
    ours.send_bytes(b"x" * 900_000)  # would time out after the 0.05 s of `receive`
    slow.join()


def test_who_takes_a_byte_at_a_time_does_not_hold_a_message_up_for_ever(
    pair: tuple[Channel, Channel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vmtrace.sender.wire.channel._SENDING_S", 0.3)
    ours, theirs = pair
    theirs.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    over = threading.Event()

    def drip() -> None:
        while not over.wait(0.02):
            theirs.socket.recv(500)

    reader = threading.Thread(target=drip)
    reader.start()
    began_s = time.monotonic()
    with pytest.raises(ReceiverGone, match="did not take a message in time"):
        ours.send_bytes(b"x" * 1_000_000)
    assert time.monotonic() - began_s < 10
    over.set()
    reader.join()


def test_a_message_too_long_to_be_taken_is_not_sent(pair: tuple[Channel, Channel]) -> None:
    with pytest.raises(ValueError, match="too long"):
        pair[0].send_bytes(bytes(LONGEST_BYTES))


def test_the_longest_and_the_shortest_message_arrive(pair: tuple[Channel, Channel]) -> None:
    ours, theirs = pair
    sending = threading.Thread(target=ours.send_bytes, args=(bytes(LONGEST_BYTES - 1),))
    sending.start()
    assert len(theirs.receive_bytes(60)) == LONGEST_BYTES - 1
    sending.join()
    ours.send_bytes(b"")
    assert theirs.receive_bytes(60) == b""


def test_less_than_a_second_is_time_to_send(pair: tuple[Channel, Channel]) -> None:
    send_all(pair[0].socket, b"x", 0.9, "it")
    assert pair[1].socket.recv(9) == b"x"


def test_an_integer_of_twenty_digits_is_one(pair: tuple[Channel, Channel]) -> None:
    assert raw(pair, frame(b'J{"a":12345678901234567890}')).receive(60) == {"a": 12345678901234567890}


def test_sending_on_a_lost_connection_says_so(pair: tuple[Channel, Channel]) -> None:
    pair[1].close()
    with pytest.raises(ReceiverGone, match=r"^it: connection lost \([A-Z][a-z ]+\)$"):  # noqa: PT012
        for _ in range(3):
            pair[0].send({})


def test_not_a_number_is_never_sent(pair: tuple[Channel, Channel]) -> None:
    with pytest.raises(ValueError, match="JSON"):
        pair[0].send({"a": float("nan")})
    assert json.dumps({}) == "{}"
