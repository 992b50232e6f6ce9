"""The proxy finds where each HTTP/1.1 message ends (RFC 9112, section 6)."""

import asyncio

import pytest

from vmtrace.lab.services import http_messages
from vmtrace.lab.services.http_messages import Framing


def body_of(framing: Framing, data: bytes, length_bytes: int = 0) -> tuple[bytes, bytes]:
    """What is read as the body of what a connection carries before it ends, and what is left."""

    async def read() -> tuple[bytes, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        parts = [part async for part in http_messages.read_body(reader, framing, length_bytes)]
        return b"".join(parts), await reader.read()

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("fields", "framing"),
    [
        ("Content-Length: 5", Framing.LENGTH),
        ("Content-Length: 0", Framing.NONE),
        ("Host: a", Framing.NONE),
        ("Transfer-Encoding: chunked", Framing.CHUNKED),
        ("Content-Length: 5\r\nTransfer-Encoding: Chunked", Framing.CHUNKED),
    ],
)
def test_a_request_says_where_its_body_ends(fields: str, framing: Framing) -> None:
    head = http_messages.parse_head(f"PUT /a HTTP/1.1\r\n{fields}\r\n\r\n".encode())
    assert http_messages.request_framing(head) is framing


@pytest.mark.parametrize(
    ("method", "start", "fields", "framing"),
    [
        ("GET", "HTTP/1.1 200 OK", "Content-Length: 5", Framing.LENGTH),
        ("GET", "HTTP/1.1 200 OK", "Server: a", Framing.UNTIL_CLOSE),
        ("GET", "HTTP/1.1 200 OK", "Transfer-Encoding: chunked", Framing.CHUNKED),
        ("HEAD", "HTTP/1.1 200 OK", "Content-Length: 5", Framing.NONE),
        ("PUT", "HTTP/1.1 100 Continue", "Server: a", Framing.NONE),
        ("DELETE", "HTTP/1.1 204 No Content", "Server: a", Framing.NONE),
        ("GET", "HTTP/1.1 304", "Content-Length: 5", Framing.NONE),
    ],
)
def test_where_an_answer_ends_depends_on_what_was_asked(method: str, start: str, fields: str, framing: Framing) -> None:
    head = http_messages.parse_head(f"{start}\r\n{fields}\r\n\r\n".encode())
    assert http_messages.answer_framing(head, method) is framing


def test_a_body_is_carried_with_its_chunk_sizes_and_trailers_and_not_a_byte_more() -> None:
    chunked = b"4;name=x\r\nabcd\r\n1\r\nZ\r\n0\r\nx-amz-checksum-crc32: 1\r\n\r\n"
    assert body_of(Framing.CHUNKED, chunked + b"GET / HTTP/1.1") == (chunked, b"GET / HTTP/1.1")
    assert body_of(Framing.LENGTH, b"abcdeGET", 5) == (b"abcde", b"GET")
    assert body_of(Framing.NONE, b"GET") == (b"", b"GET")
    assert body_of(Framing.UNTIL_CLOSE, b"abc") == (b"abc", b"")


def test_a_body_that_ends_early_is_a_reset_connection() -> None:
    with pytest.raises(ConnectionResetError):
        body_of(Framing.LENGTH, b"abc", 5)


def test_what_is_no_message_is_refused() -> None:
    with pytest.raises(ValueError, match="no HTTP message"):
        http_messages.parse_head(b"nonsense\r\n\r\n")
