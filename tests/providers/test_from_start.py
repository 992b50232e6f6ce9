"""An object that an SDK begins again is passed on once."""

from vmtrace.providers.digest_sink import DigestSink
from vmtrace.providers.services.s3 import FromStart


def test_what_is_written_again_is_dropped_and_the_rest_goes_on() -> None:
    heard: list[int] = []
    sink = DigestSink(heard.append)
    once = FromStart(sink)
    assert once.write(b"abc") == 3
    once.begin()
    assert [once.write(b"ab"), once.write(b"cd"), once.write(b"e")] == [2, 2, 1]
    assert heard == [3, 1, 1]
    whole = DigestSink()
    whole.write(b"abcde")
    assert sink.sha256() == whole.sha256()
