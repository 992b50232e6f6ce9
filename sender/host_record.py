"""What the sending host knew during a session: facts once, counters every second."""

from __future__ import annotations

import json

from capture.durable import write_aside
from capture.host_counters import HostCounters
from capture.host_facts import host_facts
from sender.run_folder import RunFolder


class HostRecord:
    """Runs from construction to `stop`. Each session of a run has counters of its own."""

    def __init__(self, folder: RunFolder, interface: str | None, *, metadata: bool) -> None:
        facts = host_facts(interface, metadata=metadata)
        text = json.dumps(facts.as_record(), indent=1).encode() + b"\n"
        write_aside(folder.path_of("facts", 0, ""), text)
        self._counters = HostCounters(folder.path_of("host", folder.sessions, ""), interface=interface)
        self._counters.start()

    def stop(self) -> str | None:
        """End the counters; returns why rows are missing from some time on, or None."""
        return self._counters.stop().error
