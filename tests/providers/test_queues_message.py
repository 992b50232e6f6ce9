"""Messages of a run: read back as they were made, and nobody else's taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.providers.queues.message import LEAST_BYTES, Seal, Stamp

RUN, KEY = "0123456789abcdef", b"k" * 32
NUMBERS = st.integers(0, 10**8)
TIMES = st.integers(0, 2**62)


@given(NUMBERS, TIMES, TIMES, st.integers(160, 5000))
def test_a_message_reads_back_at_any_size(number: int, due_ns: int, sent_ns: int, size: int) -> None:
    seal, stamp = Seal(RUN, KEY), Stamp(number, due_ns, sent_ns)
    body = seal.body(stamp, size)
    assert len(body.encode()) == size
    assert seal.read(body) == stamp


@given(st.integers(0, 300), st.characters(min_codepoint=32, max_codepoint=300))
def test_an_altered_message_is_foreign_unless_only_its_padding_is(place: int, new: str) -> None:
    seal, stamp = Seal(RUN, KEY), Stamp(7, 10**18, 10**18 + 5)
    body = seal.body(stamp, 301)
    altered = body[:place] + new + body[place + 1 :]
    header = body.rindex(".") + 1
    if altered != body and place < header:
        assert seal.read(altered) is None


def test_a_cut_message_is_foreign() -> None:
    body = Seal(RUN, KEY).body(Stamp(7, 0, 1), 200)
    assert Seal(RUN, KEY).read(body[:-1]) is None


def test_messages_of_other_runs_and_keys_are_foreign() -> None:
    body = Seal(RUN, KEY).body(Stamp(7, 0, 1), 200)
    assert Seal("f" * 16, KEY).read(body) is None
    assert Seal(RUN, b"other").read(body) is None


@given(st.text(max_size=300))
def test_any_text_is_foreign_and_raises_nothing(text: str) -> None:
    assert Seal(RUN, KEY).read(text) is None


def test_a_message_has_room_for_its_header_from_the_least_size_on() -> None:
    with pytest.raises(ValueError, match="no room"):
        Seal(RUN, KEY).body(Stamp(10**8, 2**62, 2**62), LEAST_BYTES - 40)
    assert len(Seal(RUN, KEY).body(Stamp(1, 0, 2**62), LEAST_BYTES)) == LEAST_BYTES
