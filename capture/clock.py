"""The wall clock: what it is driven by, whether it is synchronised and how well, and whether it stepped.

Asks the kernel alone (adjtimex(2), sysfs): which program disciplines the clock does not matter. Sets nothing.
"""

from __future__ import annotations

import ctypes
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Callable, NamedTuple

_CLOCK_SOURCE = "sys/devices/system/clocksource/clocksource0"
_STA_UNSYNC = 0x0040  # linux/timex.h
_TIME_ERROR = 5
_LEAST_STEP_S = (
    1e-6  # both clocks are read from one counter: what differs beyond the time between two readings is a step
)
_LOOKS = 5


class _Timex(ctypes.Structure):
    """struct timex, up to the fields asked for; the kernel writes 208 bytes at most."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("frequency", ctypes.c_long),
        ("maximum_error_us", ctypes.c_long),
        ("estimated_error_us", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    )


@dataclass(frozen=True)
class ClockState:
    """What the kernel says of its wall clock; None where it says nothing, errors None while not synchronised."""

    source: str | None
    available_sources: tuple[str, ...]
    synchronised: bool | None
    estimated_error_s: float | None
    maximum_error_s: float | None
    frequency_correction_ppm: float | None

    def as_record(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "available_sources": list(self.available_sources)}


def clock_state(root: Path = Path("/")) -> ClockState:
    """The state of this host's wall clock now."""
    source = _read(root / _CLOCK_SOURCE / "current_clocksource")
    available = tuple((_read(root / _CLOCK_SOURCE / "available_clocksource") or "").split())
    kernel, state = _ask_kernel()
    if kernel is None:
        return ClockState(source, available, None, None, None, None)
    synchronised = state != _TIME_ERROR and not kernel.status & _STA_UNSYNC
    return ClockState(
        source=source,
        available_sources=available,
        synchronised=synchronised,
        # An undisciplined clock keeps its start-up values there (16 s): nobody measured them.
        estimated_error_s=kernel.estimated_error_us / 1e6 if synchronised else None,
        maximum_error_s=kernel.maximum_error_us / 1e6 if synchronised else None,
        frequency_correction_ppm=round(kernel.frequency / 65_536, 6),
    )


class ClockReading(NamedTuple):
    """The wall clock and the time since boot (suspension included), read between two readings of the latter."""

    wall_ns: int
    boot_ns: int
    uncertainty_ns: int


class ClockStep(NamedTuple):
    """The wall clock was set: by how much, noticed when, known to within `uncertainty_s`."""

    step_s: float
    uncertainty_s: float
    noticed_ns: int


class ClockWatch:
    """Tells whether somebody set the wall clock since the last look.

    CLOCK_REALTIME and CLOCK_BOOTTIME are slewed alike by whoever disciplines the clock, and both count a suspension:
    their difference changes only by a step. (MONOTONIC_RAW would drift against the wall clock by the slewing.)
    """

    def __init__(self, read: Callable[[], ClockReading] | None = None) -> None:
        self._read_clocks = read or read_clocks
        self._last = self._read_clocks()

    def look(self) -> ClockStep | None:
        """The step since the last look (or since the start), None when there was none."""
        last, now = self._last, self._read_clocks()
        step_ns = (now.wall_ns - now.boot_ns) - (last.wall_ns - last.boot_ns)
        uncertainty_ns = now.uncertainty_ns + last.uncertainty_ns
        if abs(step_ns) <= uncertainty_ns + _LEAST_STEP_S * 1e9:
            return None  # and the first reading stays: many small errors do not add up
        self._last = now
        return ClockStep(step_ns / 1e9, uncertainty_ns / 1e9, now.wall_ns)


def read_clocks() -> ClockReading:
    """The closest of a few readings: being preempted in the midst of one makes it uncertain."""
    best: ClockReading | None = None
    for _ in range(_LOOKS):
        before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        reading = ClockReading(wall, (before + after) // 2, (after - before) // 2 + 1)
        if best is None or reading.uncertainty_ns < best.uncertainty_ns:
            best = reading
    assert best is not None  # there is at least one look
    return best


def _ask_kernel() -> tuple[_Timex | None, int]:
    """The answer of adjtimex(2) to a question that changes nothing; None where it is missing or forbidden."""
    timex = _Timex()  # modes = 0: only read
    function = getattr(ctypes.CDLL(None), "adjtimex", None)
    if function is None:
        return None, -1
    state = int(function(ctypes.byref(timex)))
    return (timex if state >= 0 else None), state


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None  # no such file on this kernel or in this container
