"""What a swarm run shows while it goes on: a bar at a terminal, a line for each download elsewhere, or nothing."""

from __future__ import annotations

import time
from typing import Any

from vmtrace.capture.live_display import Bar, Every, Lines, amount_bytes, is_terminal, live_display
from vmtrace.formats.quantities import shown_decimal_bytes, shown_rate, shown_s
from vmtrace.providers.swarm.plan import CAPACITY, Planned


class SwarmDisplay:
    """Shows what is wrong and nothing else (`--quiet`)."""

    def warned(self, line: str) -> None:
        """Show a line about a problem."""
        Lines().say(f"vmtrace: {line}")

    def said(self, line: str) -> None:
        """Show a line about the course of the run."""

    def begins(self, number: int, of: int, planned: Planned, size_bytes: int) -> None:
        """A download begins."""

    def moved(self, size_bytes: int) -> None:
        """So many more bytes were received."""

    def ended(self, record: dict[str, Any]) -> None:
        """A download ended; `record` is its line in `downloads.jsonl`."""

    def close(self) -> None:
        """The run is over."""


class PlainDisplay(SwarmDisplay):
    """A line on standard error for each download."""

    def __init__(self) -> None:
        self._place = ""

    def said(self, line: str) -> None:
        """Show it."""
        Lines().say(line)

    def begins(self, number: int, of: int, planned: Planned, size_bytes: int) -> None:  # noqa: ARG002 - of the contract
        """Keep the download's place for its line."""
        self._place = f"[{number}/{of}]"

    def ended(self, record: dict[str, Any]) -> None:
        """What came of it."""
        Lines().say(f"{self._place} {download_text(record)}")


class BarDisplay(SwarmDisplay):
    """A bar on standard error, with lines of what is over above it."""

    def __init__(self) -> None:
        self._live = live_display()
        self._bar: Bar | None = None
        self._every = Every()
        self._moved_bytes = self._of_bytes = 0
        self._began_s = 0.0

    def said(self, line: str) -> None:
        """Show it above the bar."""
        self._live.say(line)

    def warned(self, line: str) -> None:
        """Show it above the bar."""
        self.said(f"vmtrace: {line}")

    def begins(self, number: int, of: int, planned: Planned, size_bytes: int) -> None:
        """A new bar."""
        self._moved_bytes, self._of_bytes, self._began_s = 0, size_bytes, time.monotonic()
        self._bar = self._live.bar(f"[{number}/{of}] {planned_text(planned)}", size_bytes)

    def moved(self, size_bytes: int) -> None:
        """Move the bar, some ten times a second."""
        self._moved_bytes += size_bytes
        if self._bar is not None and self._every():
            words = amount_bytes(self._moved_bytes, self._of_bytes, time.monotonic() - self._began_s)
            self._bar.show(done=self._moved_bytes, words=words)

    def ended(self, record: dict[str, Any]) -> None:
        """A line in the bar's place."""
        if self._bar is not None:
            self._bar.remove()
        self._bar = None
        self.said(download_text(record))

    def close(self) -> None:
        """Remove the bar."""
        self._live.close()


def choose(*, quiet: bool) -> SwarmDisplay:
    """The display for this call: `--quiet`, a terminal, or anything else."""
    if quiet:
        return SwarmDisplay()
    return BarDisplay() if is_terminal() else PlainDisplay()


def planned_text(planned: Planned) -> str:
    """`4 seeds, web seed public`."""
    if planned.purpose == CAPACITY:
        return "capacity of the web seed" if not planned.peers else "capacity of a seed"
    number = len(planned.peers)
    return f"{number} {'seed' if number == 1 else 'seeds'}, web seed {planned.web_seed}"


def download_text(record: dict[str, Any]) -> str:
    """`4 seeds, web seed public: finished in 3.2 s (40 Mbit/s), 61 % from the web seed`."""
    seeds = record["seeds"]
    if record["purpose"] == CAPACITY:
        about = f"capacity of {'the web seed' if not seeds else record['peers'][0]}"
    else:
        about = f"{seeds} {'seed' if seeds == 1 else 'seeds'}, web seed {record['web_seed']}"
    total = sum(source["bytes"] for source in record["sources"])
    text = f"{about}: {record['status'].replace('_', ' ')} after {shown_s(record['duration_s'])}"
    if total and record["duration_s"] > 0:
        text += f", {shown_decimal_bytes(total)} ({shown_rate(total * 8 / record['duration_s'])})"
        store = sum(source["bytes"] for source in record["sources"] if source["kind"] == "web_seed")
        text += f", {store / total:.0%} from the web seed" if store and seeds else ""
    if record["hash_failures"]:
        text += f", {record['hash_failures']} hash failures ({shown_decimal_bytes(record['failed_bytes'])} wasted)"
    return text + (f": {record['error']}" if record["error"] else "")
