"""Sizes and times as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.formats.quantities import (
    duration_s,
    plural,
    shown_bytes,
    shown_decimal_bytes,
    shown_rate,
    shown_s,
    size_bytes,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1500", 1500),
        ("16 KiB", 16_384),
        ("8 MB", 8_000_000),
        ("8mb", 8_000_000),
        ("1.5 kB", 1500),
        (" 2GiB ", 2 << 30),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "KiB", "-1", "1 XB", "1.5", "1e3", "0.0001 kB", "1 KiB 2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a size|is not a whole number"):
        size_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("2", 2), ("2s", 2), ("500ms", 0.5), ("18h", 64_800), ("1h30min", 5400), ("3 d", 259_200), ("0.5", 0.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-2s", "2 weeks", "1h x", "inf", "nan", "9" * 400])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration|is too long"):
        duration_s(text)


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    for read in (size_bytes, duration_s):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value >= 0


def test_numbers_for_a_person() -> None:
    assert [plural(number, "pair") for number in (0, 1, 1200)] == ["0 pairs", "1 pair", "1,200 pairs"]
    sizes = (1, 1024, 1536, 3000, 32 * 10**6, 1 << 40)
    assert [shown_bytes(size) for size in sizes] == ["1 B", "1 KiB", "1.536 kB", "3 kB", "32 MB", "1 TiB"]
    assert [shown_rate(rate) for rate in (5, 98_500, 1.2e9, 27e12)] == [
        "5 bit/s",
        "98.5 kbit/s",
        "1.2 Gbit/s",
        "27000 Gbit/s",
    ]
    assert [shown_s(time) for time in (17e-6, 0.213, 4.2, 200, 65_040)] == [
        "17 µs",
        "213 ms",
        "4.2 s",
        "3 min 20 s",
        "18 h 4 min",
    ]


def test_sizes_as_services_charge_for_them() -> None:
    assert [shown_decimal_bytes(count) for count in (0, 999, 37_500, 10**6, 44_680 * 10**6)] == [
        "0 B", "999 B", "37.5 kB", "1 MB", "44.68 GB",
    ]  # fmt: skip
