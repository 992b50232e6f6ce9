"""What the receiving host knew during a session: facts once, counters every second."""

from __future__ import annotations

import json

from capture.durable import write_aside
from capture.host_counters import HostCounters
from capture.host_facts import host_facts
from receiver.storage import StoredRun


class HostRecord:
    """Runs from construction to `stop`."""

    def __init__(self, run: StoredRun, interface: str | None) -> None:
        facts = host_facts(interface, metadata=True)
        write_aside(run.path("facts", 0, ""), json.dumps(facts.as_record(), indent=1).encode() + b"\n")
        self._counters = HostCounters(run.path("host", 0, ""), interface=interface)
        self._counters.start()

    def stop(self) -> None:
        """End the counters; their file is whole."""
        self._counters.stop()
