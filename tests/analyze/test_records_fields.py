"""A record of JSON is read as the types of its dataclass say, and refused where it is not so."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from vmtrace.analyze.read.records.fields import Count, Endpoint, FieldError, Fields, Positive, Whole


@dataclass(frozen=True)
class Part:
    size_bytes: Count


@dataclass(frozen=True)
class Whole1:
    number: int
    at_ns: Whole
    name: str
    count: Count
    took_s: Positive
    done: bool
    error: str | None
    rtt_s: Positive | None
    skew: float | None
    kind: Annotated[str | None, "a note"]
    peer: Endpoint | None
    words: tuple[str, ...]
    parts: tuple[Part, ...]
    part: Part | None
    own: dict[str, int]
    more: int = 7


FULL = {
    "number": -3, "at_ns": 2**60, "name": "a", "count": 4, "took_s": 0.5, "done": True, "error": "no", "rtt_s": 0.1,
    "skew": -1.5, "kind": "b", "peer": "10.0.0.1:80", "words": ["x"], "parts": [{"size_bytes": 1}],
    "part": {"size_bytes": 2}, "more": 8,
}  # fmt: skip


def test_each_field_is_read_by_its_type_and_what_is_given_stays() -> None:
    found = Fields(FULL, "line 1").read(Whole1, own={"x": 1}, kind="given")
    peer, parts = ("10.0.0.1", 80), (Part(1),)
    read = (-3, 2**60, "a", 4, 0.5, True, "no", 0.1, -1.5, "given", peer, ("x",), parts, Part(2), {"x": 1}, 8)
    assert found == Whole1(*read)


def test_what_is_absent_is_null_or_nothing() -> None:
    found = Fields({"number": 1, "at_ns": 2, "more": 7}, "line 1").read(Whole1, own={}, kind=None)
    assert found == Whole1(1, 2, "unknown", 0, 0.0, False, None, None, None, None, None, (), (), None, {})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": None}, "number is not a whole number"),
        ({"at_ns": -1}, "at_ns is not a count"),
        ({"at_ns": None}, "at_ns is not a whole number"),
        ({"count": -1}, "count is not a count"),
        ({"took_s": -0.1}, "took_s is not 0 or more"),
        ({"done": 1}, "done is not true or false"),
        ({"peer": "here"}, "peer is not an address and a port"),
        ({"parts": [{"size_bytes": "big"}]}, "size_bytes is not a whole number"),
        ({"words": [1]}, "words is not a list of texts"),
    ],
)
def test_what_has_the_wrong_type_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(FieldError, match=f"line 1: .*{said}"):
        Fields({**FULL, **change}, "line 1").read(Whole1, own={}, kind=None)
