"""Keys are added to a document that comes in pieces, cut anywhere."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.words.document import Appending, as_bytes

DOCUMENT: dict[str, Any] = {
    "schema": "vmtrace.analysis/1",
    "inputs": [{"path": 'odd","connections":[ name é.pcap'}],
    "connections": [{"id": number, "name": "é{[", "more": {"connections": [1]}} for number in range(1, 6)],
    "interrupted": True,
}
TEXT = json.dumps(DOCUMENT, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def pieces(cuts: list[int]) -> list[bytes]:
    ends = [*sorted({cut % len(TEXT) for cut in cuts}), len(TEXT)]
    return [TEXT[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def writer(cuts: list[int]) -> Callable[[Callable[[bytes], object]], None]:
    def write_json(write: Callable[[bytes], object]) -> None:
        for piece in pieces(cuts):
            write(piece)

    return write_json


def test_a_name_that_is_no_text_is_written_as_in_whole_documents() -> None:
    """A file's name may hold any bytes (PEP 383); no number that JSON lacks is written."""
    out: list[bytes] = []
    appending = Appending(out.append)
    appending(TEXT)
    appending.finish({"path": "run\udcff"})
    assert json.loads(b"".join(out)) == DOCUMENT | {"path": "run?"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        Appending(out.append).finish({"rate": float("nan")})


@pytest.mark.parametrize("letter", [*map(chr, range(256)), *"\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"])
def test_what_would_steer_a_terminal_is_escaped(letter: str) -> None:
    """Control characters, C1 among them, and those that turn the direction of writing."""
    text = as_bytes({f"a{letter}b": letter}).decode()
    assert text.removesuffix("\n").isprintable() or letter in "\xa0\xad"
    assert json.loads(text) == {f"a{letter}b": letter}


CUTS = st.lists(st.integers(0, 10_000), max_size=20)


@given(CUTS)
def test_keys_are_appended_to_a_document(cuts: list[int]) -> None:
    out: list[bytes] = []
    appending = Appending(out.append)
    writer(cuts)(appending)
    appending.finish({"more": [{"ü": 1}]})
    assert json.loads(b"".join(out)) == DOCUMENT | {"more": [{"ü": 1}]}
