"""The course of a campaign, whatever it measures: how it begins and ends, and what `run.json` says of that.

    connection pairs    sender/campaign.py
    objects             providers/campaign.py, and any command as their subject (providers/tool.py)
    messages            providers/queues/campaign.py
    swarms              providers/swarm/campaign.py
    front ends          providers/discovery/running.py

Each of them does its own work, piece after piece, and notes each piece before the next begins. What is the same is
here, on the lowest floor, since senders run on bare Python 3.9.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from vmtrace.capture.host_record import HostRecord
from vmtrace.capture.settings import CaptureSettings
from vmtrace.formats.durable import make_folder
from vmtrace.formats.provenance import vmtrace_version

RUNNING, COMPLETE, INTERRUPTED, OVER_BUDGET, FAILED = "running", "complete", "interrupted", "budget", "failed"
Record = dict[str, Any]


@dataclass(frozen=True)
class End:
    """How a session ended: a status of `run.json`, and the line for a person unless all is well."""

    status: str
    error: str | None
    state: Record = field(default_factory=dict)
    """The content of `run.json`."""
    by_signal: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of the work, with the exception that ended it before its time (none for a signal)."""

    status: str
    error: Exception | None = None
    is_defect: bool = False
    """Of the program itself."""

    @property
    def is_unfinished(self) -> bool:
        """Whether the work did not come to its end."""
        return self.status != COMPLETE

    def raise_defect(self) -> None:
        """Once the books of the run are closed: a defect goes on to who called."""
        if self.is_defect and self.error is not None:
            raise self.error


def outcome_of(work: Callable[[], None], status_of: Callable[[Exception], str | None]) -> Outcome:
    """Do the work. `status_of` says what an exception makes of the run; None for a defect of the program."""
    try:
        work()
    except KeyboardInterrupt:
        return Outcome(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - a defect goes on, by `raise_defect`
        status = status_of(error)
        return Outcome(status or FAILED, error, is_defect=status is None)
    return Outcome(COMPLETE)


def begun(run_id: str | None, folder: Path, name: str | None, command: str, start_ns: int | None) -> Record:
    """The first keys of `run.json`, as they are before anything is done."""
    return {
        "vmtrace": vmtrace_version(),
        "id": run_id,
        "name": name or folder.resolve().name,
        "status": RUNNING,
        "error": None,
        "error_kind": None,
        "start_ns": start_ns,
        "end_ns": None,
        "command": command,
    }


def capture_record(settings: CaptureSettings | None) -> Record | None:
    """How packets are recorded, for `run.json`."""
    if settings is None:
        return None
    return {"interface": settings.interface, "filter": settings.filter, "snaplen": settings.snaplen}


def begin_host_record(folder: Path, interface: str | None, *, metadata: bool, session: int = 1) -> HostRecord:
    """Facts of the host, and its counters from now on; each session of a run has a file of its own."""
    make_folder(folder / "host")
    name = "counters.csv" if session == 1 else f"counters-{session}.csv"
    return HostRecord(folder / "host" / "facts.json", folder / "host" / name, interface, metadata=metadata)


def command_line(words: list[str]) -> str:
    """As a shell takes it; credentials are never part of it."""
    return shlex.join(["vmtrace", *words])
