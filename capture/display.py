"""What a person reads of a recording: one line that lives while it runs, and its health at the end."""

from __future__ import annotations

import time

from vmtrace.capture.health import CaptureHealth
from vmtrace.capture.live_display import RewrittenLine, is_terminal
from vmtrace.capture.writer import Progress

_EVERY_S = 0.5


class LiveLine:
    """Packets, bytes, rate and drops, over and over in one line of a terminal; nothing where there is none."""

    def __init__(self, *, wanted: bool) -> None:
        self._line = RewrittenLine() if wanted and is_terminal() else None
        self._since_s = self._last_s = time.monotonic()
        self._last_written = 0

    def show(self, progress: Progress) -> None:
        """Write the line anew, at most twice a second."""
        now_s = time.monotonic()
        if self._line is None or now_s - self._last_s < _EVERY_S:
            return
        rate = (progress.written - self._last_written) / (now_s - self._last_s)
        self._last_s, self._last_written = now_s, progress.written
        self._line.show(live_text(progress, now_s - self._since_s, rate))

    def clear(self) -> None:
        """Take the line away."""
        if self._line is not None:
            self._line.clear()


def live_text(progress: Progress, age_s: float, packets_per_s: float) -> str:
    """The live line."""
    files = f", file {progress.files}" if progress.files > 1 else ""
    return (
        f"{age_s:.0f} s{files}: {progress.written:,} packets, {readable_bytes(progress.size_bytes)}, "
        f"{packets_per_s:,.0f} packets/s, {progress.dropped:,} dropped"
    )


def health_text(health: CaptureHealth, files: int) -> str:
    """What was recorded, in two or more lines."""
    place = health.file if files == 1 else f"{health.file} in {files} files"
    lines = [f"{place}: {health.written:,} packets{_sizes(health)} from {health.interface}, {_time(health)}"]
    lines.append(
        f"received {health.received:,}, dropped by kernel {health.dropped_by_kernel:,}, "
        f"by interface {health.dropped_by_interface:,}"
    )
    if health.dropped:
        lines.append(f"NOT COMPLETE: {health.dropped:,} packets are missing (a larger --buffer-bytes may help)")
    lines.extend(f"warning: {warning}" for warning in health.warnings)
    return "\n".join(lines)


def readable_bytes(count: int) -> str:
    """With a decimal prefix."""
    size = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            break
        size /= 1000
    return f"{count:,} B" if unit == "B" else f"{size:,.1f} {unit}"


def _sizes(health: CaptureHealth) -> str:
    parts = [_size(health.captured_bytes, "kept"), _size(health.wire_bytes, "on the wire")]
    known = [part for part in parts if part]
    return f" ({', '.join(known)})" if known else ""


def _size(count: int | None, what: str) -> str:
    return "" if count is None else f"{readable_bytes(count)} {what}"


def _time(health: CaptureHealth) -> str:
    seconds = (health.end_ns - health.start_ns) / 1e9 if health.end_ns is not None else 0.0
    unit = "nanoseconds" if health.time_resolution_s < 1e-6 else "microseconds"
    return f"{seconds:.1f} s, time stamps in {unit}"
