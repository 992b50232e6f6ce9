"""Provenance of a table that this process writes now: this host, its clock, its command line."""

from __future__ import annotations

import platform
import shlex
import sys

from vmtrace.capture.clock import clock_state
from vmtrace.formats.provenance import Provenance, vmtrace_version


def provenance(schema: str, interval_s: float | None, command: str | None = None) -> Provenance:
    """Provenance of a table that this process writes now; `command` is its own command line unless given."""
    clock = clock_state()
    return Provenance(
        schema=schema,
        vmtrace=vmtrace_version(),
        host=platform.node(),
        kernel=platform.release(),
        clock_source=clock.source,
        clock_synchronised=clock.synchronised,
        command=shlex.join(sys.argv) if command is None else command,
        interval_s=interval_s,
    )
