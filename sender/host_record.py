"""The sending host's record of a session, in the run folder."""

from __future__ import annotations

from vmtrace.capture.host_record import HostRecord
from vmtrace.sender.run_folder import RunFolder


def begin_host_record(folder: RunFolder, interface: str | None, *, metadata: bool) -> HostRecord:
    """Each session of a run has counters of its own."""
    facts, counters = folder.path_of("facts", 0, ""), folder.path_of("host", folder.sessions, "")
    return HostRecord(facts, counters, interface, metadata=metadata)
