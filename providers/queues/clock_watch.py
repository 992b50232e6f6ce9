"""Whether a host's clock was stepped while a run measured with it."""

import time


class ClockWatch:
    """Whether this host's clock was stepped while a run measured with it: wall time against monotonic time."""

    def __init__(self) -> None:
        self._first_ns = self._offset_ns()
        self._least_ns = self._most_ns = 0

    def look(self) -> None:
        """Compare now."""
        moved_ns = self._offset_ns() - self._first_ns
        self._least_ns, self._most_ns = min(self._least_ns, moved_ns), max(self._most_ns, moved_ns)

    @property
    def moved_s(self) -> float:
        """How far wall time strayed, in all: an error of every latency that was measured across it."""
        return (self._most_ns - self._least_ns) / 1e9

    @staticmethod
    def _offset_ns() -> int:
        """The better of three: a reading may be interrupted between its clocks."""
        found = []
        for _ in range(3):
            before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            found.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
        return min(found)[1]
