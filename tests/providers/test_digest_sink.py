"""Where downloads go."""

import hashlib

from providers.digest_sink import DigestSink


def test_bytes_are_counted_and_digested_and_told_of() -> None:
    heard: list[int] = []
    sink = DigestSink(heard.append)
    assert [sink.write(b"ab"), sink.write(b"c")] == [2, 1]
    assert (sink.size_bytes, heard) == (3, [2, 1])
    assert sink.sha256() == hashlib.sha256(b"abc").hexdigest()


def test_it_cannot_seek_so_that_sdks_give_their_parts_in_order() -> None:
    assert not hasattr(DigestSink(), "seek")
