"""Where a result comes from: schema, version, command line and inputs, to be kept beside every table and report."""

import hashlib
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from vmtrace.analyze import _engine

if TYPE_CHECKING:
    from vmtrace.analyze.trace import Trace

SCHEMA = "vmtrace.analysis/1"

_HASH_LIMIT_BYTES = 64 << 20
"""Above this a file is told by size and time: reading it once more would take longer than measuring it."""

Fact = str | int | None
Provenance = dict[str, str | bool | list[dict[str, Fact]]]


def of(trace: "Trace", *, anonymous: bool) -> Provenance:
    """Facts about the run. An anonymous one has neither folders nor the command line (filters may hold addresses)."""
    facts: Provenance = {
        "schema": SCHEMA,
        "vmtrace": _engine.VERSION,
        "interrupted": trace.interrupted,
        "inputs": [_input(path, anonymous=anonymous) for path in trace.files],
    }
    if not anonymous:
        facts["command"] = command_line()
    return facts


def of_report(schema: str, **sources: object) -> dict[str, object]:
    """Facts about a report: what its runs are, by the name that the report has for them."""
    return {"schema": schema, "vmtrace": _engine.VERSION, "command": command_line(), **sources}


def command_line() -> str:
    """As it was typed, without the folder of the program."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""


def _input(path: str, *, anonymous: bool) -> dict[str, Fact]:
    name = Path(path).name if anonymous else path
    try:
        state = Path(path).stat()
        small = state.st_size <= _HASH_LIMIT_BYTES and Path(path).is_file()
        return {
            "path": name,
            "size_bytes": state.st_size,
            "modified_ns": state.st_mtime_ns,
            "sha256": _sha256(path) if small else None,
        }
    except OSError:
        # The file may be gone since it was read; the result stands.
        return {"path": name, "size_bytes": None, "modified_ns": None, "sha256": None}


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
