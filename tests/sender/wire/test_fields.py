import json
import math
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
