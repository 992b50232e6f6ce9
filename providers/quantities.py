"""Sizes and durations as people write them in plans and options. Raises `ValueError` with the reason."""

import math
import re

_NUMBER_AND_UNIT = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_BYTES = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def size_bytes(text: str) -> int:
    """`4 kB` (4,000), `8 MiB` (8,388,608), `1500`."""
    number, factor = _parsed(text, _BYTES, "size", "bytes, or a number with kB, MB, GB or KiB, MiB, GiB")
    value = number * factor
    if value != int(value):
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(value)


def duration_s(text: str) -> float:
    """`2min`, `90 s`, `500ms`, `1.5h`, `180`."""
    number, factor = _parsed(text, _SECONDS, "duration", "seconds, or a number with ms, s, min, h or d")
    return number * factor


def shown_bytes(count: float) -> str:
    """`1 MB`, `37.5 kB`."""
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.4g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def shown_s(seconds: float) -> str:
    """`42 s`, `3 min 20 s`, `11 h 40 min`."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def shown_rate(rate_bps: float) -> str:
    """`98.5 Mbit/s`."""
    value, unit = float(rate_bps), "bit/s"
    for larger in ("kbit/s", "Mbit/s", "Gbit/s"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.3g} {unit}"


def _parsed(text: str, units: dict[str, int] | dict[str, float], what: str, hint: str) -> tuple[float, float]:
    found = _NUMBER_AND_UNIT.fullmatch(text.strip())
    factor = units.get(found.group(2).lower()) if found else None
    if found is None or factor is None:
        raise ValueError(f"{text!r} is no {what}: write {hint}")
    number = float(found.group(1))
    if not math.isfinite(number * factor):
        raise ValueError(f"{text!r} is too large")
    return number, factor
