import json
import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.sender.wire import records
from vmtrace.sender.wire.fields import FieldError, from_json, to_json

KINDS = [
    records.TransferRequest, records.RunRequest, records.RunAccepted, records.Prepared, records.FarEnd, records.Sent,
    records.FileListing, records.FileDescriptions, records.ClockOffset,
]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40)
@given(value=JSON)
def test_any_json_is_a_record_or_a_field_error(kind: type[Any], value: object) -> None:
    try:
        from_json(kind, value)
    except FieldError as error:
        assert "\n" not in str(error)  # noqa: PT017


@given(st.data())
def test_one_wrong_field_anywhere_is_a_field_error_or_still_a_record(data: st.DataObject) -> None:
    request = to_json(records.TransferRequest(1, 1, "data", 10))
    name = data.draw(st.sampled_from(sorted(request)))
    value = data.draw(JSON)
    try:
        made = from_json(records.TransferRequest, {**request, name: value})
    except FieldError as error:
        assert str(error).startswith(name)  # noqa: PT017
    else:
        assert json.dumps(to_json(made), allow_nan=False)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("number", True), ("number", 2**70), ("number", -(2**70)), ("number", 1.0), ("number", None), ("number", "1"),
        ("tcp_info_interval_s", math.nan), ("tcp_info_interval_s", math.inf), ("tcp_info_interval_s", 10**400),
        ("tcp_info_interval_s", False), ("tls", 1), ("part", "a\nb"), ("part", "\x1b[2J"), ("part", "\ud800"),
        ("part", "x" * 1025), ("part", None), ("options", []), ("options", {"dscp": "x"}),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_by_name(name: str, value: object) -> None:
    request = {**to_json(records.TransferRequest(1, 1, "data", 10)), name: value}
    with pytest.raises(FieldError, match=name):
        from_json(records.TransferRequest, request)


def test_a_list_has_a_limit() -> None:
    with pytest.raises(FieldError, match="bytes: expected a list of at most 4096"):
        from_json(records.Sent, {"bytes": [1] * 4097, "sha256": []})


def test_what_is_missing_is_named_and_what_is_new_is_ignored() -> None:
    with pytest.raises(FieldError, match="sequence: missing"):
        from_json(records.TransferRequest, {"number": 1})
    assert from_json(records.FileListing, {"count": 1, "new": {}}) == records.FileListing(1)


@dataclass(frozen=True)
class OneOfEach:
    text: str
    whole: int
    number: float
    several: tuple[int, ...]


LARGEST = {"text": "a" * 1024, "whole": -(2**63 - 1), "number": -1e300, "several": [1] * 4096}


def test_the_largest_of_each_is_taken() -> None:
    made = from_json(OneOfEach, LARGEST)
    assert (made.text, made.whole, made.number, len(made.several)) == ("a" * 1024, -(2**63 - 1), -1e300, 4096)


@pytest.mark.parametrize(
    "beyond", [{"text": "a" * 1025}, {"whole": 2**63}, {"number": 1.1e300}, {"several": [1] * 4097}]
)
def test_what_is_larger_is_refused(beyond: dict[str, Any]) -> None:
    with pytest.raises(FieldError, match=f"^{next(iter(beyond))}: expected"):
        from_json(OneOfEach, {**LARGEST, **beyond})
