"""Plans of one's own, from TOML or JSON files. What may stand in them is decided in `plan_record`.

TOML is read by the standard library from Python 3.11 on; before that by tomli, or by the tomli that pip brings along.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, cast

from vmtrace.sender.errors import SenderError
from vmtrace.sender.plan import Plan
from vmtrace.sender.plan_record import plan_from_record
from vmtrace.sender.plans import BUILT_IN

_LARGEST_FILE_BYTES = 16 << 20
_TOML_READERS = ("tomllib", "tomli", "pip._vendor.tomli")


def load_plan(name: str) -> Plan:
    """The built-in plan of this name, or the plan in the file of this name; raises `SenderError`."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        built_in = ", ".join(BUILT_IN)
        raise SenderError(f"plan {name}: {reason} (a plan is a TOML or JSON file, or one of: {built_in})") from error
    if len(data) > _LARGEST_FILE_BYTES:
        raise SenderError(f"plan {name}: larger than {_LARGEST_FILE_BYTES >> 20} MiB: not a plan")
    try:
        return plan_of_text(data, path.suffix.lower() == ".json", path.stem)
    except SenderError as error:
        raise SenderError(f"plan {name}: {error}") from error


def plan_of_text(data: bytes, is_json: bool, name: str) -> Plan:
    """A plan out of the content of a file; `name` is for one that has none. Raises `SenderError`."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SenderError(f"byte {error.start}: not UTF-8 text") from error
    record = _parsed(text, is_json)
    if not isinstance(record, dict):
        raise SenderError("expected a table")
    if "scale" in record:
        raise SenderError("scale: not in a plan file; give --scale X")
    return plan_from_record({"name": name[:64] if name.isprintable() and name else "unnamed", **record})


def _parsed(text: str, is_json: bool) -> Any:
    loads = json.loads if is_json else _toml_loads()
    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        raise SenderError(" ".join(str(error).split())) from error


def _toml_loads() -> Callable[[str], Any]:
    found = next(filter(None, map(_imported, _TOML_READERS)), None)
    if found is None:
        raise SenderError("this Python reads no TOML: use Python 3.11, install tomli, or write the plan as JSON")
    return cast("Callable[[str], Any]", found.loads)


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
