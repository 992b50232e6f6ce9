"""Sizes, durations and rates: read, and told."""

from collections.abc import Callable

import pytest

from providers.quantities import duration_s, shown_bytes, shown_rate, shown_s, size_bytes


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (size_bytes, "4 kB", 4000),
        (size_bytes, "1.5MB", 1_500_000),
        (size_bytes, "8 MiB", 8 << 20),
        (size_bytes, "17", 17),
        (duration_s, "2min", 120.0),
        (duration_s, "500 ms", 0.5),
        (duration_s, "1.5h", 5400.0),
        (duration_s, "3", 3.0),
    ],
)
def test_what_people_write_is_understood(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize("text", ["", "kB", "-1", "1 TBB", "1e3", "0.5", "0x10"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no size|whole number"):
        size_bytes(text)


@pytest.mark.parametrize("text", ["", "fast", "-1s", "1 week"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        duration_s(text)


def test_a_number_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="too large"):
        duration_s("9" * 400)


def test_what_is_told_has_few_digits_and_a_unit() -> None:
    assert [shown_bytes(count) for count in (0, 999, 37_500, 10**6, 44_680 * 10**6)] == [
        "0 B", "999 B", "37.5 kB", "1 MB", "44.68 GB",
    ]  # fmt: skip
    assert [shown_s(seconds) for seconds in (0.123, 42, 200, 42_000)] == ["0.12 s", "42 s", "3 min 20 s", "11 h 40 min"]
    assert [shown_rate(rate) for rate in (800, 98.5e6)] == ["800 bit/s", "98.5 Mbit/s"]
