"""Rates as people write them, and what is none."""

import pytest

from vmtrace.analyze.findings.allowances.published import RateError, parse_bps


@pytest.mark.parametrize(
    ("text", "rate_bps"),
    [("5Gbit/s", 5e9), ("750 Mbps", 750e6), ("1e9", 1e9), ("64kbit/s", 64e3), (" 12.5 Gb/s ", 12.5e9), ("100", 100.0)],
)
def test_a_rate_is_read_with_its_prefix(text: str, rate_bps: float) -> None:
    assert parse_bps(text) == rate_bps


@pytest.mark.parametrize(
    "text", ["", "fast", "5MB/s", "100MBps", "10GB", "10GB ", "0", "-1Gbit/s", "1e999", "1.2.3M", "5 Gbit/min"]
)
def test_what_is_no_rate_in_bits_is_refused(text: str) -> None:
    with pytest.raises(RateError):
        parse_bps(text)
