"""JSON of the engine keeps its digits and escapes on the way through a merge."""

import json

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze import _engine
from vmtrace.corpus.engine import Digits, document, header_of, parsed, rows, written

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES)
def test_what_is_written_is_what_was_parsed(value: object) -> None:
    text = json.dumps(value)
    assert json.loads(written(parsed(text))) == json.loads(text)


def test_digits_stay_as_they_were_written() -> None:
    text = '{"a":0.000001,"b":[1.50,-0.0,12345678901234567890],"c":"\\u003c\\"\\\\\\u0007\\u2028\\u202e\\u0085é"}'
    assert written(parsed(text)) == text
    assert isinstance(parsed("0.25"), Digits)
    assert parsed("0.25") == 0.25


def test_the_document_of_no_capture_has_neither_inputs_nor_rows() -> None:
    nothing = _engine.analyze([])
    assert parsed(document(nothing, []))["schema"] == "vmtrace.analysis/1"
    assert header_of(nothing, []) == []
    assert rows(nothing.syns()) == []
