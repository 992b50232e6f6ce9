"""What a name on the command line leads to, and the command that such a thing is for: for commands that got another."""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from shlex import join

_LARGEST_RUN_BYTES = 4 << 20
"""A `run.json` beyond this is none of ours."""


class Kind(Enum):
    """What commands are about; the value is what messages call it."""

    CAPTURE = "a capture"
    RUN = "a run of vmtrace send"
    STORAGE_RUN = "a run of vmtrace storage"


_SCHEMAS = {"vmtrace.run": Kind.RUN, "vmtrace.storage_run": Kind.STORAGE_RUN}
COMMANDS_OF: Mapping[Kind, str] = {
    Kind.CAPTURE: "vmtrace analyze",
    Kind.RUN: "vmtrace report",
    Kind.STORAGE_RUN: "vmtrace storage report",
}
"""The command that shows what such a thing is about."""


def kind_of(name: str | Path) -> Kind | None:
    """What is there; None for nothing, and for what no command is about."""
    from vmtrace.analyze.read.capture_files import is_capture

    path = Path(name)
    try:
        if is_capture(path):
            return Kind.CAPTURE
        place = path / "run.json"
        if not place.is_file() or place.stat().st_size > _LARGEST_RUN_BYTES:
            return None
        record = json.loads(place.read_bytes())
        schema = record.get("schema") if isinstance(record, dict) else None
        return _SCHEMAS.get(str(schema).partition("/")[0])
    except (OSError, ValueError, RecursionError):
        return None


def redirect(names: Sequence[str | Path], right: Kind, commands: Mapping[Kind, str] = COMMANDS_OF) -> str | None:
    """For a command that is about `right`: a line that names the command for what was given instead, or None."""
    for name in names:
        kind = kind_of(name)
        if kind is not None and kind is not right and kind in commands:
            return f"{name} is {kind.value}: {commands[kind]} {join(map(str, names))}"
    return None
