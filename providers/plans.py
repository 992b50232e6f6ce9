"""The plans that come with the program, and those in TOML files, of any kind. Their form: docs/run-folder.md."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmtrace.capture.quantities import duration_s, size_bytes
from vmtrace.providers.kinds.kind import AVAILABILITY, BENCHMARK, KINDS, LOCATIONS, PROBES, SURGE, SWEEP, CampaignPlan
from vmtrace.providers.kinds.sampling_plan import (
    GARFINKEL2007_PROBES,
    PALANKAR2008_AVAILABILITY,
    PALANKAR2008_LOCATIONS,
    SamplingPlan,
)
from vmtrace.providers.kinds.surge_plan import GARFINKEL2007_SURGE, SurgePlan
from vmtrace.providers.kinds.sweep_plan import SOURCES, YOON_UPLOAD, Merges, SweepPlan
from vmtrace.providers.plan import (
    CHANGED,
    COMPRESSIBLE,
    CONTENTS,
    DOWNLOAD,
    RANDOM,
    REPEATED,
    UPLOAD,
    Plan,
    Workload,
)
from vmtrace.providers.toml_file import load, parsed, refuse_unknown

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
SDK_SUBJECTS = Plan(
    name="sdk-subjects",
    # What a client does with content that it could save on: bytes on the wire against the workload.
    workloads=(
        Workload("10x1MB", 10, 1_000_000),
        Workload("10x1MB-compressible", 10, 1_000_000, COMPRESSIBLE),
        Workload("10x1MB-repeated", 10, 1_000_000, REPEATED),
        Workload("10x1MB-changed", 10, 1_000_000, CHANGED),
    ),
    repeat=3,
)
BUILT_IN: dict[str, CampaignPlan] = {
    one.name: one
    for one in (
        BOCCHI2014,
        SDK_SUBJECTS,
        GARFINKEL2007_PROBES,
        GARFINKEL2007_SURGE,
        PALANKAR2008_AVAILABILITY,
        PALANKAR2008_LOCATIONS,
        YOON_UPLOAD,
    )
}

_LARGEST_OBJECT_BYTES = 5 * 10**9  # what Swift takes as one object, and S3 by one PUT
_MOST_FILES = 100_000
_MOST_REPEATS = 100_000
_MOST_WORKLOADS = 1000
_LONGEST_PAUSE_S = 7 * 86_400.0
_LONGEST_CAMPAIGN_S = 400 * 86_400.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PLAN_KEYS = ("name", "repeat", "wait", "idle", "workload")
_WORKLOAD_KEYS = ("name", "files", "size", "content")


def load_plan(name: str) -> CampaignPlan:
    """The built-in plan of this name, or the one in the TOML file of this name; raises `UsageError`."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = Path(name)
    known = f"a plan is a TOML file, or {', '.join(BUILT_IN)}"
    return load(path, f"plan {name}", known, lambda data: plan_of_toml(data, path.stem))


def plan_of_toml(data: bytes, name: str) -> CampaignPlan:
    """A plan out of a file's content; `name` is for one that has none. Raises `ValueError`."""
    record = parsed(data, "plan")
    kind = record.pop("kind", BENCHMARK)
    if kind not in KINDS:
        raise ValueError(f"kind: {kind!r} is unknown: known are {', '.join(KINDS)}")
    name = _name(record.get("name", name if _NAME.fullmatch(name) else "unnamed"), "name")
    if kind == BENCHMARK:
        return _benchmark(record, name)
    if kind == SURGE:
        return _surge(record, name)
    return _sweep(record, name) if kind == SWEEP else _sampling(record, kind, name)


def _benchmark(record: dict[str, Any], name: str) -> Plan:
    refuse_unknown(record, _PLAN_KEYS, "the plan")
    workloads = record.get("workload")
    if not isinstance(workloads, list) or not workloads:
        raise ValueError("no [[workload]]: expected at least one, with files and size")
    if len(workloads) > _MOST_WORKLOADS:
        raise ValueError(f"{len(workloads)} workloads: at most {_MOST_WORKLOADS} are possible")
    made = tuple(_workload(one, number) for number, one in enumerate(workloads, 1))
    _refuse_twins([one.name for one in made])
    return Plan(
        name=name,
        workloads=made,
        repeat=_whole(record.get("repeat", 1), "repeat", _MOST_REPEATS),
        wait_s=_pause_s(record.get("wait", 0), "wait"),
        idle_s=_pause_s(record.get("idle", 0), "idle"),
    )


_SAMPLING_DEFAULTS = {
    PROBES: GARFINKEL2007_PROBES,
    AVAILABILITY: PALANKAR2008_AVAILABILITY,
    LOCATIONS: PALANKAR2008_LOCATIONS,
}


def _sampling(record: dict[str, Any], kind: str, name: str) -> SamplingPlan:
    pace = "mean_interval" if kind == PROBES else "every"
    keys = ("name", "sizes", "directions", "for", "pair", "every_size", "at_once", pace)
    refuse_unknown(record, keys, "the plan")
    base = _SAMPLING_DEFAULTS[kind]
    interval_s = _longer(record[pace], pace) if pace in record else base.interval_s
    every_size = record.get("every_size", base.every_size)
    if not isinstance(every_size, bool):
        raise ValueError("every_size: expected true or false")
    return replace(
        base,
        name=name,
        sizes_bytes=_sizes(record["sizes"], "sizes") if "sizes" in record else base.sizes_bytes,
        directions=_directions(record.get("directions", list(base.directions))),
        duration_s=_longer(record["for"], "for") if "for" in record else base.duration_s,
        mean_interval_s=interval_s if kind == PROBES else None,
        every_s=None if kind == PROBES else interval_s,
        pair=_whole(record.get("pair", base.pair), "pair", 100),
        every_size=every_size,
        at_once=_whole(record.get("at_once", base.at_once), "at_once", 64),
    )


def _surge(record: dict[str, Any], name: str) -> SurgePlan:
    refuse_unknown(record, ("name", "threads", "step", "size", "directions", "for"), "the plan")
    base = GARFINKEL2007_SURGE
    return replace(
        base,
        name=name,
        threads=_numbers(record.get("threads", list(base.threads)), "threads", 256),
        step_s=_longer(record["step"], "step") if "step" in record else base.step_s,
        size_bytes=_size(record["size"], "size") if "size" in record else base.size_bytes,
        directions=_directions(record.get("directions", list(base.directions))),
        duration_s=_longer(record["for"], "for") if "for" in record else base.duration_s,
    )


def _sweep(record: dict[str, Any], name: str) -> SweepPlan:
    refuse_unknown(record, ("name", "connections", "part_sizes", "size", "sources", "repeat", "merge"), "the plan")
    base = YOON_UPLOAD
    sources = record.get("sources", list(base.sources))
    if not isinstance(sources, list) or not sources or not set(map(str, sources)) <= set(SOURCES):
        raise ValueError(f"sources: expected a list of {' and '.join(SOURCES)}")
    return replace(
        base,
        name=name,
        connections=_numbers(record.get("connections", list(base.connections)), "connections", 1000),
        part_sizes_bytes=_sizes(record["part_sizes"], "part_sizes")
        if "part_sizes" in record
        else base.part_sizes_bytes,
        size_bytes=_size(record["size"], "size") if "size" in record else base.size_bytes,
        sources=tuple(dict.fromkeys(sources)),
        repeat=_whole(record.get("repeat", base.repeat), "repeat", _MOST_REPEATS),
        merges=_merges(record["merge"]) if "merge" in record else base.merges,
    )


def _merges(record: Any) -> Merges | None:
    if not isinstance(record, dict):
        raise ValueError("merge: expected a table: write [merge]")
    refuse_unknown(record, ("parts", "part_size", "repeat"), "merge")
    base = YOON_UPLOAD.merges or Merges((), 1)
    parts = record.get("parts", list(base.parts))
    if parts == []:
        return None
    return Merges(
        _numbers(parts, "merge: parts", 10_000),
        _size(record["part_size"], "merge: part_size") if "part_size" in record else base.part_bytes,
        _whole(record.get("repeat", base.repeat), "merge: repeat", _MOST_REPEATS),
    )


def sizes_of(words: str) -> tuple[int, ...]:
    """Sizes out of `1B,1kB,1MB`; raises `ValueError`."""
    return _sizes(words.split(","), "sizes")


def _sizes(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_WORKLOADS:
        raise ValueError(f"{where}: expected a list of sizes")
    return tuple(dict.fromkeys(_size(one, where) for one in value))


def _size(value: Any, where: str) -> int:
    size = _measured(value, where, size_bytes)
    if not 1 <= size <= _LARGEST_OBJECT_BYTES or size != int(size):
        raise ValueError(f"{where}: from 1 byte to {_LARGEST_OBJECT_BYTES // 10**9} GB are possible")
    return int(size)


def _numbers(value: Any, where: str, most: int) -> tuple[int, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_WORKLOADS:
        raise ValueError(f"{where}: expected a list of whole numbers")
    return tuple(dict.fromkeys(_whole(one, where, most) for one in value))


def _directions(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not set(map(str, value)) <= {UPLOAD, DOWNLOAD}:
        raise ValueError("directions: expected a list of upload and download")
    return tuple(dict.fromkeys(value))


def _longer(value: Any, where: str) -> float:
    seconds = _measured(value, where, duration_s)
    if not 0 < seconds <= _LONGEST_CAMPAIGN_S:
        raise ValueError(f"{where}: more than 0 and at most {_LONGEST_CAMPAIGN_S / 86_400:.0f} days are possible")
    return seconds


def _workload(record: Any, number: int) -> Workload:
    where = f"workload {number}"
    if not isinstance(record, dict):
        raise ValueError(f"{where}: expected a table: write [[workload]]")
    refuse_unknown(record, _WORKLOAD_KEYS, where)
    if "size" not in record:
        raise ValueError(f"{where}: size is missing")
    files = _whole(record.get("files", 1), f"{where}: files", _MOST_FILES)
    size = _size(record["size"], f"{where}: size")
    content = record.get("content", RANDOM)
    if content not in CONTENTS:
        raise ValueError(f"{where}: content: expected one of {', '.join(CONTENTS)}")
    if content in {REPEATED, CHANGED} and files < 2:
        raise ValueError(f"{where}: content: {content} needs two files or more")
    default = f"{files}x{size}B" + ("" if content == RANDOM else f"-{content}")
    return Workload(_name(record.get("name", default), f"{where}: name"), files, size, content)


def _refuse_twins(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two workloads are called {name}: name them apart")


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(f"{where}: expected up to 64 letters, digits, dots, hyphens and underscores")
    return value


def _whole(value: Any, where: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"{where}: expected a whole number from 1 to {most}")
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
        raise ValueError(f"{where}: expected a number or a text such as '4 kB' or '2 min'")
    return value
