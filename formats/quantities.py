"""Sizes and durations as people write them in plans and options: `16 KiB`, `8 MB`, `2s`, `18h`; and as they are told.

What cannot be read raises `ValueError` with the reason.
"""

from __future__ import annotations

import math
import re

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_SIZES = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def size_bytes(text: str) -> int:
    """A number of bytes: `1500`, `16 KiB` (1024), `8 MB` (1,000,000)."""
    found = _SIZE.fullmatch(text.strip())
    factor = _SIZES.get(found.group(2).lower()) if found else None
    if found is None or factor is None:
        raise ValueError(f"{text!r} is not a size: write bytes, or a number with kB, MB, GB or KiB, MiB, GiB")
    value = float(found.group(1)) * factor
    if not math.isfinite(value) or not value.is_integer():
        raise ValueError(f"{text!r} is not a whole number of bytes")
    return int(found.group(1)) * factor if found.group(1).isdigit() else int(value)


def duration_s(text: str) -> float:
    """A number of seconds: `2`, `2s`, `500ms`, `1h30min`, `18h`, `3d`."""
    stripped = text.strip()
    parts = _DURATION_PART.findall(stripped)
    known = all(unit.lower() in _SECONDS for _, unit in parts)
    if parts and known and not _DURATION_PART.sub("", stripped):
        seconds = sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    elif re.fullmatch(r"\d+(?:\.\d+)?", stripped):
        seconds = float(stripped)
    else:
        raise ValueError(f"{text!r} is not a duration: write seconds, or a number with ms, s, min, h or d")
    if not math.isfinite(seconds):
        raise ValueError(f"{text!r} is too long")
    return seconds


def plural(count: int, noun: str, several: str | None = None) -> str:
    """`1 pair`, `1,200 pairs`; `several` is a plural that takes more than an s."""
    return f"{count:,} {noun if count == 1 else several or noun + 's'}"


def shown_bytes(count: float) -> str:
    """A size for a person: `16 KiB` of one that is round in powers of two and in none of ten, else `8.5 MB`."""
    value, unit = _scaled(count, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))
    is_round = value == int(value) and count % 1000 != 0
    return f"{value:.0f} {unit}" if is_round else shown_decimal_bytes(count)


def shown_decimal_bytes(count: float) -> str:
    """A size in the units that services charge by: `1 MB`, `37.5 kB`."""
    value, unit = _scaled(count, 1000, ("B", "kB", "MB", "GB"))
    return f"{value:.4g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def shown_rate(rate_bps: float) -> str:
    """A rate for a person: `98.5 kbit/s`, `1.2 Gbit/s`."""
    value, unit = _scaled(rate_bps, 1000, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


def shown_s(seconds: float) -> str:
    """A duration for a person: `17 µs`, `213 ms`, `4.2 s`, `3 min 20 s`, `18 h 4 min`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _scaled(value: float, step: int, units: tuple[str, ...]) -> tuple[float, str]:
    """In the first of the units in which it is less than a step, else in the last."""
    scaled = float(value)
    for unit in units[:-1]:
        if scaled < step:
            return scaled, unit
        scaled /= step
    return scaled, units[-1]
