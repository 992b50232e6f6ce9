"""What a run created at a service and what it removed again: written, and on the disk, before the service is asked.

So that after any crash `vmtrace storage clean` knows all that may be there. Format: docs/storage.md.
"""

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vmtrace.formats.durable import append_whole, open_to_append, read_lines, repair_tail
from vmtrace.providers.errors import ProvidersError

NAME = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Outstanding:
    """What may be at the service. References by name; the name itself until the service gave another."""

    objects: dict[str, str]
    container: str | None
    made: int = 0
    """Names that were ever to be created; those that are gone are among them."""


class Journal:
    """Appends; what is not `synced` may be lost by a power failure, but by no crash of the program."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        repair_tail(self._path)
        self._descriptor = open_to_append(self._path)
        self._appending = threading.Lock()

    def creating_container(self, name: str) -> None:
        """Before it is made."""
        self._append(True, what="creating_container", name=name)

    def created_container(self, name: str) -> None:
        """It was made."""
        self._append(True, what="created_container", name=name)

    def removed_container(self, name: str) -> None:
        """It is gone, or it was never made."""
        self._append(True, what="removed_container", name=name)

    def creating(self, names: Sequence[str]) -> None:
        """Before the first of these objects is uploaded."""
        self._append(True, what="creating", names=list(names))

    def created(self, name: str, reference: str) -> None:
        """The service chose a reference."""
        self._append(False, what="created", name=name, reference=reference)

    def removed(self, names: Sequence[str]) -> None:
        """These objects are gone."""
        self._append(True, what="removed", names=list(names))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _append(self, synced: bool, /, **record: Any) -> None:
        line = json.dumps({"time_ns": time.time_ns(), **record}, separators=(",", ":")) + "\n"
        with self._appending:
            append_whole(self._descriptor, line.encode())
        if synced:
            os.fsync(self._descriptor)


def outstanding(folder: Path) -> Outstanding:
    """What the journal of a run says may still be at the service; raises `ProvidersError` for a damaged one."""
    objects: dict[str, str] = {}
    container: str | None = None
    made = 0
    path = folder / NAME
    if not path.exists():
        return Outstanding({}, None)
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = json.loads(line)
            container = _apply(record, objects, container)
            made += len(record["names"]) if record["what"] == "creating" else 0
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ProvidersError(f"{path}: line {number} is damaged: {error}") from error
    return Outstanding(objects, container, made)


def _apply(record: Any, objects: dict[str, str], container: str | None) -> str | None:
    what = record["what"]
    if what in {"creating_container", "created_container"}:
        return str(record["name"])
    if what == "removed_container":
        return None
    if what == "creating":
        objects.update({name: name for name in record["names"]})
    elif what == "created":
        objects[record["name"]] = record["reference"]
    elif what == "removed":
        for name in record["names"]:
            objects.pop(name, None)
    return container
