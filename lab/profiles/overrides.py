"""Single numbers of a profile changed from the command line: `delay=20ms`, `forward.loss=0.5%`, `rate=50Mbit/s`.

Without `forward.` or `reverse.` a setting is for both directions. `rtt` sets both delays to half of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from vmtrace.lab.impairments import Impairments
from vmtrace.lab.profiles.profile import Profile

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_BITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}
_BYTES = {"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2}
_SHARES = {"%": 0.01, "": 1.0}
# What may be set, as written: the field of `Impairments` and its units.
_SETTINGS: dict[str, tuple[str, dict[str, float]]] = {
    "delay": ("delay_s", _SECONDS),
    "jitter": ("jitter_s", _SECONDS),
    "rate": ("rate_bps", _BITS),
    "queue": ("queue_bytes", _BYTES),
    "loss": ("loss", _SHARES),
    "reorder": ("reorder", _SHARES),
    "reorder-delay": ("reorder_delay_s", _SECONDS),
    "duplicate": ("duplicate", _SHARES),
    "duplicate-delay": ("duplicate_delay_s", _SECONDS),
    "corrupt": ("corrupt", _SHARES),
}
_FORM = re.compile(r"(?:(forward|reverse)\.)?([a-z-]+)=([0-9]+(?:\.[0-9]+)?)([A-Za-z/%]*)")
NAMES = ("rtt", *_SETTINGS)


def changed(profile: Profile, settings: Sequence[str]) -> Profile:
    """The profile with each of `NAME=NUMBER UNIT` applied. Raises `ValueError`, one line, for what makes no sense."""
    for setting in settings:
        match = _FORM.fullmatch(setting.replace(" ", ""))
        if not match or match[2] not in NAMES:
            raise ValueError(f"--set {setting}: not [forward.|reverse.]NAME=NUMBER with NAME one of {', '.join(NAMES)}")
        way, name, number, unit = match.groups()
        field, units = _SETTINGS["delay" if name == "rtt" else name]
        if unit not in units:
            raise ValueError(f"--set {setting}: the unit must be one of {', '.join(filter(None, units))}")
        value = float(number) * units[unit] * (0.5 if name == "rtt" else 1.0)
        if units is _SHARES and value > 1:
            raise ValueError(f"--set {setting}: a share is at most 100 %")
        if name == "rtt" and way:
            raise ValueError(f"--set {setting}: a round trip has no direction; set {way}.delay")
        for each in [way] if way else ["forward", "reverse"]:
            profile = _with(profile, each, field, value)
    return profile


def _with(profile: Profile, way: str, field: str, value: float) -> Profile:
    change: dict[str, Any] = {field: round(value) if field == "queue_bytes" else value}
    before: Impairments = getattr(profile, way)
    both: dict[str, Any] = {way: replace(before, **change)}
    return replace(profile, **both)
