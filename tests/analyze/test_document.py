"""The JSON document in pieces, cut anywhere."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from analyze.document import Appending, read

DOCUMENT: dict[str, Any] = {
    "schema": "vmtrace.analysis/1",
    "inputs": [{"path": 'odd","connections":[ name é.pcap'}],
    "connections": [{"id": number, "name": "é{[", "more": {"connections": [1]}} for number in range(1, 6)],
    "interrupted": True,
}
TEXT = json.dumps(DOCUMENT, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def pieces(cuts: list[int]) -> list[bytes]:
    ends = sorted({cut % len(TEXT) for cut in cuts}) + [len(TEXT)]
    return [TEXT[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def writer(cuts: list[int]) -> Callable[[Callable[[bytes], object]], None]:
    def write_json(write: Callable[[bytes], object]) -> None:
        for piece in pieces(cuts):
            write(piece)

    return write_json


CUTS = st.lists(st.integers(0, 10_000), max_size=20)


@given(CUTS, st.sets(st.integers(0, 7)))
def test_the_connections_asked_for_are_found_however_the_pieces_are_cut(cuts: list[int], wanted: set[int]) -> None:
    header, records = read(writer(cuts), wanted)
    assert header["inputs"] == DOCUMENT["inputs"]
    assert records == [record for record in DOCUMENT["connections"] if record["id"] in wanted]


def test_the_writing_is_stopped_when_all_was_found() -> None:
    written = []

    def write_json(write: Callable[[bytes], object]) -> None:
        for piece in pieces(list(range(0, len(TEXT), 10))):
            written.append(piece)
            write(piece)

    read(write_json, [1])
    assert len(written) < len(TEXT) // 10 - 10


@given(CUTS)
def test_keys_are_appended_to_a_document(cuts: list[int]) -> None:
    out: list[bytes] = []
    appending = Appending(out.append)
    writer(cuts)(appending)
    appending.finish({"more": [{"ü": 1}]})
    assert json.loads(b"".join(out)) == DOCUMENT | {"more": [{"ü": 1}]}
