"""Options of plans: declared at their fields, read from files and words of the command line, written as records."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from vmtrace.providers.plan_options import (
    as_record,
    checked,
    from_word,
    given,
    keys_of,
    longer,
    named,
    numbers,
    one_of,
    option,
    options_of,
    pause,
    size,
    sizes,
    some_of,
    truth,
    whole,
    with_words,
)


@dataclass(frozen=True)
class _Plan:
    name: str
    lasts_s: float = option("for", longer, 60.0, what="how long")
    sizes_bytes: tuple[int, ...] = option("sizes", sizes, (1,), what="of objects", kinds=("probes",))
    pair: int = option("pair", whole(9), 1)
    scale: float = 1.0
    kind: str = "probes"


def test_a_file_s_keys_become_fields_and_others_keep_what_they_have() -> None:
    assert given(_Plan, {"for": "2min", "other": 3}) == {"lasts_s": 120.0}
    with pytest.raises(ValueError, match=r"^stage 1: pair: expected a whole number from 1 to 9$"):
        given(_Plan, {"pair": 10}, "stage 1: ")


def test_words_change_what_is_told_and_nothing_else() -> None:
    words = {"duration": "90", "sizes": "1kB,1 kB,7", "pair": "3", "name": "other"}
    assert with_words(_Plan("mine"), words) == _Plan("mine", 90.0, (1000, 7))
    with pytest.raises(ValueError, match=r"^--for: 'soon' is not a duration"):
        with_words(_Plan("mine"), {"duration": "soon"})


def test_options_of_one_kind_are_those_of_all_and_its_own() -> None:
    assert keys_of(_Plan) == keys_of(_Plan, "probes") == ("for", "sizes", "pair")
    assert keys_of(_Plan, "surge") == ("for", "pair")
    assert options_of(_Plan)["lasts_s"].destination == "duration"


def test_a_record_has_kind_name_and_scale_first_and_lists_for_tuples() -> None:
    record = as_record(_Plan("mine"))
    assert list(record)[:3] == ["kind", "name", "scale"]
    assert record["sizes_bytes"] == [1]


@pytest.mark.parametrize(
    ("read", "value", "found"),
    [
        (whole(9), 9, 9),
        (size, "4 kB", 4000),
        (size, 2.0, 2),
        (pause, 0, 0.0),
        (longer, "1h", 3600.0),
        (numbers(9), [2, 1, 2], (2, 1)),
        (some_of(("a", "b")), ["b", "b"], ("b",)),
        (one_of(("a",)), "a", "a"),
        (truth, False, False),
        (named(re.compile(r"\w+"), "letters"), "x1", "x1"),
    ],
)
def test_what_can_be_is_read(read: Any, value: object, found: object) -> None:
    assert read(value) == found


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (whole(9), True),
        (whole(9), 0),
        (size, "6 GB"),
        (size, 1.5),
        (pause, -1),
        (pause, float("nan")),
        (longer, 0),
        (numbers(9), []),
        (numbers(9), 3),
        (some_of(("a", "b")), ["c"]),
        (one_of(("a",)), ["a"]),
        (truth, 1),
        (named(re.compile(r"\w+"), "letters"), "a b"),
    ],
)
def test_what_cannot_be_is_refused(read: Any, value: object) -> None:
    with pytest.raises(ValueError, match=r"^it: \w"):
        checked(read, value, "it")


def test_digits_alone_are_a_number() -> None:
    assert [from_word(word) for word in ("12", "1.5", "-1", "²")] == [12, "1.5", "-1", "²"]
