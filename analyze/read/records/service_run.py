"""What each run of a service says of itself: as it is read, and as documents have it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from vmtrace.analyze.read.records.fields import Fields


@dataclass(frozen=True, slots=True)
class ServiceRun:
    """A run folder of one of the services' commands."""

    folder: Path
    name: str
    id: str | None
    status: str
    error: str | None


class RunHead(TypedDict):
    """The same at the head of a document's part about the run."""

    path: str
    name: str
    id: str | None
    status: str
    error: str | None


def of_folder(path: Path, record: Fields) -> dict[str, Any]:
    """What the folder says where its `run.json` does not: what it is called, and that the run still goes on."""
    name, status = record.text("name"), record.text("status")
    return {"folder": path, "name": name or path.resolve().name, "status": status or "running"}
