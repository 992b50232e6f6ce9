"""Rates as people write them: `5Gbit/s`, `750 Mbps`, `1e9`."""

import math
import re

_FACTORS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}
_FORM = re.compile(r"\s*([0-9.]+(?:e[+-]?[0-9]+)?)\s*([kmgt]?)\s*(?:bit/s|bits/s|bps|b/s|bit)?\s*", re.IGNORECASE)


class RateError(ValueError):
    """The text is no rate; the message says what one looks like."""


def parse_bps(text: str) -> float:
    """Bits per second; prefixes are powers of 1000. Raises `RateError`, also for 0, and for bytes (`MB/s`, `MBps`)."""
    match = _FORM.fullmatch(text)
    # A capital B is a byte where the bit is not spelled out.
    if match is None or re.search(r"B/s|Bps|B\s*$", text):
        raise RateError(f"{text!r} is no rate in bits per second, such as 5Gbit/s")
    try:
        rate = float(match[1]) * _FACTORS[match[2].lower()]
    except ValueError:
        raise RateError(f"{text!r} is no rate in bits per second, such as 5Gbit/s") from None
    if not math.isfinite(rate) or rate <= 0:
        raise RateError(f"{text!r}: a rate is larger than 0")
    return rate
