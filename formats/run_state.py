"""`run.json`, which says of a run's folder what it is and how far it came: read with care, and written whole.

Sender and providers keep theirs by this; what else is in a folder is their own business.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vmtrace.formats.durable import write_aside
from vmtrace.formats.schemas import trouble

NAME = "run.json"
Record = dict[str, Any]


class RunStateError(ValueError):
    """No run that can be read; the message is one line for a person."""


def read_run_state(folder: Path, schema: str, kind: str) -> Record:
    """The state of a run of this schema; raises `RunStateError`, which calls anything else not a run of this kind."""
    place = folder / NAME
    try:
        state = json.loads(place.read_bytes())
    except FileNotFoundError:
        raise RunStateError(f"{folder}: no run is there (no {NAME})") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunStateError(f"{place}: {getattr(error, 'strerror', None) or error}") from error
    if not isinstance(state, dict):
        raise RunStateError(f"{place}: not a run of {kind} (it is no object)")
    found = trouble(state.get("schema"), schema, kind)
    if found is not None:
        raise RunStateError(f"{place}: {found}")
    return state


def write_run_state(folder: Path, state: Record) -> None:
    """Put `run.json` in the place of what was there; raises `OSError`, and leaves that alone, where it cannot."""
    write_aside(folder / NAME, (json.dumps(state, indent=1) + "\n").encode())
