"""A capture that is read while it is written. What has passed is a `Trace` like any other, at any time."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from vmtrace.analyze import _engine
from vmtrace.analyze.read.options import secrets
from vmtrace.analyze.trace import Options, Trace, compiler

LONGEST_S = 10.0
"""A snapshot is no older than this, unless making one takes longer."""


@dataclass(frozen=True)
class Keeping:
    """What stays in memory of a stream that does not end."""

    horizon_s: float = 600.0
    """Connections, flows and lookups that ended so long ago are forgotten."""
    room_bytes: int = 1_300_000_000
    """What connections may take: beyond it those that were silent for longest are forgotten, open or not."""
    packets_bytes: int = 0
    """Of the last packets so many bytes are kept, to be saved."""
    packets_s: float | None = None
    """Of these what passed in so many seconds; all, if None."""


@dataclass(frozen=True)
class Snapshot:
    """What has passed until now."""

    trace: Trace
    leaving: frozenset[int]
    """Connections that later snapshots do not have."""
    left: int
    """How many earlier ones had that this one has not."""
    made_s: float
    """How long it took to make."""

    @property
    def newest_ns(self) -> int | None:
        """When the last packet passed."""
        ends = [one["end_ns"] for one in self.trace.header()["inputs"] if one["end_ns"] is not None]
        return max(ends, default=None)


class Stream:
    """Reads `path` (`-`: standard input) in a thread of the engine until it ends or `finish` is called.

    A pipe ends with its writer, a file where nothing came for `idle_s`. Raises what `vmtrace.analyze.trace.read` does.
    """

    def __init__(
        self, path: str, name: str, options: Options, keeping: Keeping, *, idle_s: float | None = None
    ) -> None:
        self.name, self._options, self._keeping = name, options, keeping
        oversize_abs_ms = options.oversize_abs_ms
        self._live = _engine.Live(
            path,
            name=name,
            idle_s=idle_s,
            oversize_abs_ns=None if oversize_abs_ms is None else round(oversize_abs_ms * 1e6),
            compile_filter=compiler(options.filter),
            key_log=None if options.key_log is None else secrets(options.key_log),
            keep_bytes=keeping.packets_bytes,
            keep_s=keeping.packets_s,
        )

    @property
    def is_over(self) -> bool:
        """It has ended by itself."""
        return self._live.is_over

    def snapshot(self) -> Snapshot | None:
        """What has passed until now; None while nothing has come, and where the engine is busy for long."""
        began_s = time.monotonic()
        found = self._live.snapshot(horizon_s=self._keeping.horizon_s, room_bytes=self._keeping.room_bytes)
        if found is None:
            return None
        result, leaving, left = found
        trace = Trace.of_stream(result, self.name, self._options)
        return Snapshot(trace, frozenset(leaving), left, time.monotonic() - began_s)

    def last_packets(self) -> bytes | None:
        """The last packets as a pcapng file, of the size and age that `Keeping` says; None where that takes long."""
        return self._live.packets()

    def finish(self) -> Trace:
        """End the reading, and what all of it shows (but for what was forgotten). Raises what `read` does."""
        return Trace.of_stream(self._live.finish(), self.name, self._options)


class Pace:
    """When the next snapshot is due: after `every_s`, and later where snapshots take long, so that reading goes on.

    One takes no more than a tenth of the time, as long as it is not older than `LONGEST_S`.
    """

    _SHARE = 10

    def __init__(self, every_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._every_s, self._clock = every_s, clock
        self._due_s = clock()

    @property
    def is_due(self) -> bool:
        """It is time for one."""
        return self._clock() >= self._due_s

    def made(self, took_s: float) -> None:
        """One was made and shown, which took so long."""
        self._due_s = self._clock() + max(self._every_s, min(self._SHARE * took_s, LONGEST_S - took_s))
