"""The plans that come with the program, and those in TOML files. What may stand in a file: docs/storage.md."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from capture.quantities import duration_s, size_bytes
from providers.plan import Plan, Workload
from providers.toml_file import load, parsed, refuse_unknown

BOCCHI2014 = Plan(
    name="bocchi2014",
    # Section II.B of Bocchi, Mellia, Sarni: Cloud Storage Service Benchmarking (CloudNet 2014).
    workloads=(
        Workload("1MB", 1, 1_000_000),
        Workload("10MB", 1, 10_000_000),
        Workload("100MB", 1, 100_000_000),
        Workload("1GB", 1, 1_000_000_000),
        Workload("10x100kB", 10, 100_000),
        Workload("100x10kB", 100, 10_000),
        Workload("1000x4kB", 1000, 4_000),
    ),
    repeat=20,
    wait_s=120.0,
    idle_s=180.0,
)
BUILT_IN = {BOCCHI2014.name: BOCCHI2014}

_LARGEST_OBJECT_BYTES = 5 * 10**9  # what Swift takes as one object, and S3 by one PUT
_MOST_FILES = 100_000
_MOST_REPEATS = 100_000
_MOST_WORKLOADS = 1000
_LONGEST_PAUSE_S = 7 * 86_400.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLAN_KEYS = ("name", "repeat", "wait", "idle", "workload")
_WORKLOAD_KEYS = ("name", "files", "size")


def load_plan(name: str) -> Plan:
    """The built-in plan of this name, or the one in the TOML file of this name; raises `UsageError`."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    known = f"a plan is a TOML file, or {', '.join(BUILT_IN)}"
    return load(path, f"plan {name}", known, lambda data: plan_of_toml(data, path.stem))


def plan_of_toml(data: bytes, name: str) -> Plan:
    """A plan out of a file's content; `name` is for one that has none. Raises `ValueError`."""
    record = parsed(data, "plan")
    refuse_unknown(record, _PLAN_KEYS, "the plan")
    workloads = record.get("workload")
    if not isinstance(workloads, list) or not workloads:
        raise ValueError("no [[workload]]: at least one is due, with files and size")
    if len(workloads) > _MOST_WORKLOADS:
        raise ValueError(f"{len(workloads)} workloads: at most {_MOST_WORKLOADS} are possible")
    made = tuple(_workload(one, number) for number, one in enumerate(workloads, 1))
    _refuse_twins([one.name for one in made])
    return Plan(
        name=_name(record.get("name", name if _NAME.fullmatch(name) else "unnamed"), "name"),
        workloads=made,
        repeat=_whole(record.get("repeat", 1), "repeat", _MOST_REPEATS),
        wait_s=_pause_s(record.get("wait", 0), "wait"),
        idle_s=_pause_s(record.get("idle", 0), "idle"),
    )


def _workload(record: Any, number: int) -> Workload:
    where = f"workload {number}"
    if not isinstance(record, dict):
        raise ValueError(f"{where}: a table is due: write [[workload]]")
    refuse_unknown(record, _WORKLOAD_KEYS, where)
    if "size" not in record:
        raise ValueError(f"{where}: size is missing")
    files = _whole(record.get("files", 1), f"{where}: files", _MOST_FILES)
    size = _measured(record["size"], f"{where}: size", size_bytes)
    if not 1 <= size <= _LARGEST_OBJECT_BYTES or size != int(size):
        raise ValueError(f"{where}: size: from 1 byte to {_LARGEST_OBJECT_BYTES // 10**9} GB are possible")
    default = f"{files}x{int(size)}B"
    return Workload(_name(record.get("name", default), f"{where}: name"), files, int(size))


def _refuse_twins(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two workloads are called {name}: name them apart")


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{where}: up to 64 letters, digits, dots, hyphens and underscores are due")
    return value


def _whole(value: Any, where: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"{where}: a whole number from 1 to {most} is due")
    return value


def _pause_s(value: Any, where: str) -> float:
    seconds = _measured(value, where, duration_s)
    if not 0 <= seconds <= _LONGEST_PAUSE_S:
        raise ValueError(f"{where}: from 0 to {_LONGEST_PAUSE_S / 86_400:.0f} days are possible")
    return seconds


def _measured(value: Any, where: str, read: Callable[[str], float]) -> float:
    if isinstance(value, str):
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ValueError(f"{where}: a number or a text such as '4 kB' or '2 min' is due")
    return value
