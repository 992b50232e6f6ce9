"""A part of a run's time, from one instant until another: what of its records a report is about.

What began within counts, whole; what began before or after is left out, and said. Knows nothing of any kind of run.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from vmtrace.analyze.words.units import instant
from vmtrace.formats.quantities import plural

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class Window:
    """`from_ns` is within, `until_ns` is not; None: open on that side."""

    from_ns: int | None = None
    until_ns: int | None = None

    def __bool__(self) -> bool:
        """Whether it leaves anything out."""
        return self.from_ns is not None or self.until_ns is not None

    def holds(self, time_ns: int | None) -> bool:
        """Of an instant; what has none is in no window but the open one."""
        if not self:
            return True
        if time_ns is None:
            return False
        return (self.from_ns is None or time_ns >= self.from_ns) and (self.until_ns is None or time_ns < self.until_ns)

    def of(self, records: Iterable[_Record], begins_ns: Callable[[_Record], int | None]) -> tuple[_Record, ...]:
        """Those that began within."""
        return tuple(one for one in records if self.holds(begins_ns(one)))

    def said(self, kept: int, all_of_them: int, noun: str) -> list[str]:
        """The line for the report; none where nothing was asked for."""
        if not self:
            return []
        ends = [f"from {instant(self.from_ns)}"] if self.from_ns is not None else []
        ends += [f"until {instant(self.until_ns)}"] if self.until_ns is not None else []
        return [f"only what began {' '.join(ends)}: {kept:,} of {plural(all_of_them, noun)}"]


ALL_TIME = Window()
