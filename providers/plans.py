"""The plans that come with the program, and those in TOML files, of any kind. Their form: docs/run-folder.md."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from vmtrace.providers.kind import AVAILABILITY, BENCHMARK, KINDS, LOCATIONS, PROBES, SURGE, SWEEP, CampaignPlan
from vmtrace.providers.kinds.sampling_plan import (
    GARFINKEL2007_PROBES,
    PALANKAR2008_AVAILABILITY,
    PALANKAR2008_LOCATIONS,
    SamplingPlan,
)
from vmtrace.providers.kinds.surge_plan import GARFINKEL2007_SURGE, SurgePlan
from vmtrace.providers.kinds.sweep_plan import YOON_UPLOAD, Merges, SweepPlan
from vmtrace.providers.plan import CHANGED, COMPRESSIBLE, CONTENTS, RANDOM, REPEATED, Plan, Workload
from vmtrace.providers.plan_options import checked, given, keys_of, named, one_of, size, whole
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

PLANS: dict[str, Any] = {
    BENCHMARK: Plan,
    PROBES: SamplingPlan,
    SURGE: SurgePlan,
    AVAILABILITY: SamplingPlan,
    LOCATIONS: SamplingPlan,
    SWEEP: SweepPlan,
}
"""The fields of each kind, with the options that they are."""
_BASES: dict[str, Any] = {
    PROBES: GARFINKEL2007_PROBES,
    SURGE: GARFINKEL2007_SURGE,
    AVAILABILITY: PALANKAR2008_AVAILABILITY,
    LOCATIONS: PALANKAR2008_LOCATIONS,
    SWEEP: YOON_UPLOAD,
}
_MOST_FILES = 100_000
_MOST_WORKLOADS = 1000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_name = named(_NAME, "letters, digits, dots, hyphens and underscores")
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
    name = checked(_name, record.get("name", name if _NAME.fullmatch(name) else "unnamed"), "name")
    own = {BENCHMARK: ("workload",), SWEEP: ("merge",)}.get(kind, ())
    refuse_unknown(record, ("name", *keys_of(PLANS[kind], kind), *own), "the plan")
    values: dict[str, Any] = {"name": name, **given(PLANS[kind], record)}
    if kind == BENCHMARK:
        return Plan(workloads=_workloads(record.get("workload")), **values)
    if "merge" in record:
        values["merges"] = _merges(record["merge"])
    plan: CampaignPlan = replace(_BASES[kind], **values)
    return plan


def _workloads(tables: Any) -> tuple[Workload, ...]:
    if not isinstance(tables, list) or not tables:
        raise ValueError("no [[workload]]: expected at least one, with files and size")
    if len(tables) > _MOST_WORKLOADS:
        raise ValueError(f"{len(tables)} workloads: at most {_MOST_WORKLOADS} are possible")
    made = tuple(_workload(one, number) for number, one in enumerate(tables, 1))
    names = [one.name for one in made]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two workloads are called {name}: name them apart")
    return made


def _merges(record: Any) -> Merges | None:
    if not isinstance(record, dict):
        raise ValueError("merge: expected a table: write [merge]")
    refuse_unknown(record, keys_of(Merges), "merge")
    if record.get("parts") == []:
        return None
    return replace(YOON_UPLOAD.merges or Merges((), 1), **given(Merges, record, "merge: "))


def _workload(record: Any, number: int) -> Workload:
    where = f"workload {number}"
    if not isinstance(record, dict):
        raise ValueError(f"{where}: expected a table: write [[workload]]")
    refuse_unknown(record, _WORKLOAD_KEYS, where)
    if "size" not in record:
        raise ValueError(f"{where}: size is missing")
    files = checked(whole(_MOST_FILES), record.get("files", 1), f"{where}: files")
    size_bytes = checked(size, record["size"], f"{where}: size")
    content = checked(one_of(CONTENTS), record.get("content", RANDOM), f"{where}: content")
    if content in {REPEATED, CHANGED} and files < 2:
        raise ValueError(f"{where}: content: {content} needs two files or more")
    default = f"{files}x{size_bytes}B" + ("" if content == RANDOM else f"-{content}")
    return Workload(checked(_name, record.get("name", default), f"{where}: name"), files, size_bytes, content)
