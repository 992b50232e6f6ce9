"""Where downloads go."""

import hashlib
import os

import pytest

from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.errors import ErrorKind, ServiceError


def test_bytes_are_counted_and_digested_and_reported() -> None:
    heard: list[int] = []
    sink = DigestSink(heard.append)
    assert [sink.write(b"ab"), sink.write(b"c")] == [2, 1]
    assert (sink.size_bytes, heard) == (3, [2, 1])
    assert sink.sha256() == hashlib.sha256(b"abc").hexdigest()


def test_it_cannot_seek_so_that_sdks_give_their_parts_in_order() -> None:
    assert not hasattr(DigestSink(), "seek")


def test_a_large_object_in_pieces_has_the_digest_of_the_whole() -> None:
    content = os.urandom(25_000_003)
    sink = DigestSink()
    for start in range(0, len(content), 65_521):
        sink.write(content[start : start + 65_521])
    assert (sink.size_bytes, sink.sha256()) == (len(content), hashlib.sha256(content).hexdigest())
    assert sink.sha256() == hashlib.sha256(content).hexdigest()
    sink.write(b"more")
    assert sink.sha256() == hashlib.sha256(content + b"more").hexdigest()


def test_a_buffer_that_is_filled_anew_was_taken_as_it_was() -> None:
    buffer = bytearray(b"a" * 2_000_000)
    sink = DigestSink()
    sink.write(memoryview(buffer))
    buffer[:] = b"b" * 2_000_000
    sink.write(memoryview(buffer)[:10])
    assert sink.sha256() == hashlib.sha256(b"a" * 2_000_000 + b"b" * 10).hexdigest()


def test_more_than_the_object_is_refused_so_that_a_body_without_end_has_one() -> None:
    heard: list[int] = []
    sink = DigestSink(heard.append, most_bytes=5)
    sink.write(b"abcde")
    with pytest.raises(ServiceError, match="more than its 5 bytes") as shown:
        sink.write(b"f")
    assert shown.value.kind == ErrorKind.DIGEST
    assert (sink.size_bytes, heard) == (5, [5])
