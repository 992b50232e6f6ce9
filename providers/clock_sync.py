"""How far this host's clock is from the time that its time service follows: chrony, timesyncd or ntpd, as they say.

Hosts that are to be in step, and reports that lay their runs side by side, need the offset and its error. Where none of
the three answers, the kernel's own error bound stands, and no offset.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vmtrace.capture.clock import clock_state

_ANSWERS_WITHIN_S = 5.0
_UNITS_S = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_AMOUNT = re.compile(r"([+-]?[\d.]+)(us|µs|ms|s|min)\b")
Run = Callable[[Sequence[str]], str | None]


@dataclass(frozen=True, slots=True)
class ClockOffset:
    """`offset_s` is this clock less the reference's; None where nobody says."""

    source: str
    synchronised: bool | None
    offset_s: float | None
    error_s: float | None

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return asdict(self)


def clock_offset(run: Run | None = None) -> ClockOffset:
    """Asks each service in turn; never raises."""
    ask = run or _output
    for words, read in (
        (("chronyc", "-c", "-n", "tracking"), of_chrony),
        (("timedatectl", "timesync-status", "--no-pager"), of_timesyncd),
        (("ntpq", "-c", "rv"), of_ntpd),
    ):
        text = ask(words)
        found = read(text) if text else None
        if found is not None:
            return found
    state = clock_state()
    return ClockOffset("kernel", state.synchronised, None, state.maximum_error_s)


def of_chrony(text: str) -> ClockOffset | None:
    """`chronyc -c tracking`: fields in the order of chronyc(1); the error is root dispersion and half the delay."""
    words = text.strip().split(",")
    try:
        behind_s, delay_s, dispersion_s = float(words[4]), float(words[10]), float(words[11])
        leap = words[13]
    except (IndexError, ValueError):
        return None
    return ClockOffset("chrony", leap.strip() != "Not synchronised", -behind_s, dispersion_s + abs(delay_s) / 2)


def of_timesyncd(text: str) -> ClockOffset | None:
    """`timedatectl timesync-status`: the offset it shows is of the server, the error its root distance."""
    fields = {key.strip(): value for key, _, value in (line.partition(":") for line in text.splitlines())}
    if not fields.get("Offset"):
        return None
    offset_s, error_s = _amount_s(fields["Offset"]), _amount_s(fields.get("Root distance", ""))
    return ClockOffset("timesyncd", offset_s is not None, None if offset_s is None else -offset_s, error_s)


def of_ntpd(text: str) -> ClockOffset | None:
    """`ntpq -c rv`: offset, rootdelay and rootdisp in milliseconds (ntpq(8))."""
    found = dict(re.findall(r"\b(offset|rootdelay|rootdisp|stratum)=([+-]?[\d.]+)", text))
    try:
        offset_s = float(found["offset"]) / 1e3
        error_s = (float(found["rootdelay"]) / 2 + float(found["rootdisp"])) / 1e3
    except (KeyError, ValueError):
        return None
    return ClockOffset("ntpd", found.get("stratum") != "16", -offset_s, error_s)


def _amount_s(text: str) -> float | None:
    match = _AMOUNT.search(text)
    try:
        return float(match[1]) * _UNITS_S[match[2]] if match else None
    except ValueError:
        return None


def _output(words: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=_ANSWERS_WITHIN_S)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    return done.stdout if done.returncode == 0 else None
