"""The receiving host's record of a session, in the stored run."""

from __future__ import annotations

from vmtrace.capture.host_record import HostRecord
from vmtrace.receiver.storage import StoredRun


def begin_host_record(run: StoredRun, interface: str | None) -> HostRecord:
    """Facts and counters, from now on."""
    return HostRecord(run.path("facts", 0, ""), run.path("host", 0, ""), interface, metadata=True)
