"""`--option NAME=VALUE`."""

import pytest

from vmtrace.providers.errors import UsageError
from vmtrace.providers.options import choice, parsed_options, whole_number


def test_options_are_names_and_values() -> None:
    assert parsed_options(["tier=Hot", "url=a=b"]) == {"tier": "Hot", "url": "a=b"}


@pytest.mark.parametrize("words", [["tier"], ["=Hot"], ["tier="], ["a=1", "a=2"]])
def test_what_is_no_option_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--option"):
        parsed_options(words)


def test_values_are_held_to_their_bounds() -> None:
    assert whole_number({"n": "7"}, "n", 1, 9) == 7
    assert choice({"tier": "Hot"}, "tier", ("Hot", "Cool")) == "Hot"
    for value in ("0", "10", "x", "-1", "²"):
        with pytest.raises(UsageError, match="a whole number from 1 to 9"):
            whole_number({"n": value}, "n", 1, 9)
    with pytest.raises(UsageError, match="must be one of Hot, Cool"):
        choice({"tier": "Warm"}, "tier", ("Hot", "Cool"))
