"""Numbers and names as people read them: SI prefixes, durations, instants, and text that is safe on a terminal."""

import math

ABSENT = "-"
"""What stands where a number could not be measured: never 0."""

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def si(value: float | None, unit: str) -> str:
    """`1234567, "B"` -> `1.23 MB`. Powers of 1000, three digits."""
    if value is None or math.isnan(value):
        return ABSENT
    for factor, prefix in _PREFIXES:
        # 999.5 and more would be shown as 1000 of the smaller unit.
        if abs(value) >= factor * 0.9995:
            return f"{_three_digits(value / factor)} {prefix}{unit}"
    return f"{value:.0f} {unit}" if float(value).is_integer() else f"{_three_digits(value)} {unit}"


def seconds(value: float | None) -> str:
    """`0.0429` -> `42.9 ms`, `151.7` -> `152 s`, `4000` -> `1h06m`."""
    if value is None or math.isnan(value):
        return ABSENT
    size = abs(value)
    if size == 0:
        return "0 s"
    if size < 999.5e-9:
        return f"{value * 1e9:.0f} ns"
    if size < 999.5e-6:
        return f"{_three_digits(value * 1e6)} µs"
    if size < 0.9995:
        return f"{_three_digits(value * 1e3)} ms"
    if size < 999.5:
        return f"{_three_digits(value)} s"
    sign = "-" if value < 0 else ""
    minutes, rest = divmod(round(size), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{sign}{days}d{hours:02}h"
    return f"{sign}{hours}h{minutes:02}m" if hours else f"{sign}{minutes}m{rest:02}s"


def count(value: int | None) -> str:
    """`15712` -> `15,712`."""
    return ABSENT if value is None else f"{value:,}"


def share(value: float | None) -> str:
    """`0.0123` -> `1.23 %`; a share that is small but not nothing never reads 0."""
    if value is None or math.isnan(value):
        return ABSENT
    percent = value * 100
    if percent == 0:
        return "0 %"
    if percent < 0:
        return f"-{share(-value)}"
    if percent < 0.01:
        return "<0.01 %"
    if percent >= 99.95:
        return "100 %" if value >= 1 else ">99.9 %"
    return f"{percent:.1f} %" if percent >= 10 else f"{percent:.2g} %"


def ratio(value: float | None) -> str:
    """`6.92` -> `692 %`: what may be more than the whole."""
    return ABSENT if value is None or math.isnan(value) else f"{_three_digits(value * 100)} %"


def instant(unix_ns: int | None) -> str:
    """Unix nanoseconds -> `2026-11-20 18:55:39.123 UTC`."""
    if unix_ns is None:
        return ABSENT
    from datetime import UTC, datetime

    try:
        moment = datetime.fromtimestamp(unix_ns // 1_000_000_000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{unix_ns} ns"
    return f"{moment:%Y-%m-%d %H:%M:%S}.{unix_ns // 1_000_000 % 1000:03} UTC"


STEERING = "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
"""A regular expression: control characters (C1, too) and those that turn the direction of writing or end a line."""


def printable(text: str) -> str:
    """Text from a capture or a file name, with everything that could steer a terminal replaced."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _three_digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if size >= 9.995 else f"{value:.2f}"
