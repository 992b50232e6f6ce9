"""What a host knew while transfers were made: facts once, counters every second.

Where the two files lie is the caller's: sender and receiver name them in the run folder.
"""

from __future__ import annotations

import json
from pathlib import Path

from vmtrace.capture.host_counters import HostCounters
from vmtrace.capture.host_facts import host_facts
from vmtrace.formats.durable import write_aside


class HostRecord:
    """Runs from construction to `stop`. With `metadata` the cloud's metadata service is asked for the instance."""

    def __init__(self, facts: Path, counters: Path, interface: str | None, *, metadata: bool) -> None:
        record = host_facts(interface, metadata=metadata).as_record()
        write_aside(facts, json.dumps(record, indent=1).encode() + b"\n")
        self._counters = HostCounters(counters, interface=interface)
        self._counters.start()

    def stop(self) -> str | None:
        """End the counters; returns why rows are missing from some time on, or None."""
        return self._counters.stop().error
