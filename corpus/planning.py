"""How a run is cut: captures that are read as one, and the number of buckets. It is kept, so that a run can go on."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import Folder
from vmtrace.corpus.inputs import CapturesFound, Input

PLAN = "plan.json"
ONE_TASK_BYTES = 64 << 20
"""A corpus up to this size is one task in one process: to share it out would take longer."""
_LEAST_RUN_BYTES = 32 << 20
_RUNS_PER_WORKER = 4
_BUCKETS_PER_WORKER = 4
_MOST_BUCKETS = 4096
_START_BYTES = 200 << 20
"""What a worker takes before it reads anything."""
_LEAST_BUCKET_BYTES = 32 << 20
_PACKED = (".gz", ".zst", ".xz", ".bz2", ".lz4")
_UNPACKED = 4
"""Captures of short packets are so many times as large as what gzip makes of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done to which captures."""

    inputs: tuple[Input, ...]
    runs: tuple[tuple[int, ...], ...]
    """Positions of captures that are read as one, in the order of their numbers."""
    buckets: int
    filter: str | None = None
    """Of packets: the others are left out."""

    @property
    def input_bytes(self) -> int:
        """Of all captures."""
        return sum(one.size_bytes for one in self.inputs)


def planned(
    found: CapturesFound, workers: int, buckets: int | None, memory_bytes: int, filter_: str | None = None
) -> Plan:
    """A plan for so many workers, each with so much memory."""
    total = sum(one.size_bytes for one in found.inputs)
    is_one_task = total <= ONE_TASK_BYTES and buckets is None
    if buckets is None:
        least = -(-_unpacked_bytes(found) // _bucket_bytes(memory_bytes))
        buckets = 1 if is_one_task else min(_MOST_BUCKETS, max(_BUCKETS_PER_WORKER * workers, least))
    size = total if is_one_task else max(_LEAST_RUN_BYTES, total // (_RUNS_PER_WORKER * workers))
    return Plan(found.inputs, tuple(_runs(found, size)), buckets, filter_)


def _unpacked_bytes(found: CapturesFound) -> int:
    """About how large the captures are when they are read."""
    return sum(one.size_bytes * (_UNPACKED if one.name.endswith(_PACKED) else 1) for one in found.inputs)


def _bucket_bytes(memory_bytes: int) -> int:
    """What a worker may take at once: of short connections it then holds 0.9 times as much, results included."""
    return max(_LEAST_BUCKET_BYTES, memory_bytes - _START_BYTES)


def _runs(found: CapturesFound, size: int) -> list[tuple[int, ...]]:
    """Captures that follow each other in time, in runs of about this size."""
    # Before all others what has no time: it takes that of the frames before it.
    starts = found.starts_ns
    order = sorted(range(len(found.inputs)), key=lambda one: (starts[one] or 0, one))
    runs: list[list[int]] = []
    held = 0
    for position in order:
        if not runs or held + found.inputs[position].size_bytes > size:
            runs.append([])
            held = 0
        runs[-1].append(position)
        held += found.inputs[position].size_bytes
    return [tuple(sorted(run)) for run in runs]


def resumed(out: Folder, plan: Plan, *, buckets_given: bool) -> Plan:
    """The plan that was begun here, if it was one for the same captures; else `plan`, which is kept.

    Raises `CorpusError` where results of other captures lie.
    """
    content = out.get(PLAN)
    if content is None:
        keep(out, plan)
        return plan
    record = json.loads(content)
    before = Plan(
        tuple(Input(**one) for one in record["inputs"]),
        tuple(map(tuple, record["runs"])),
        record["buckets"],
        record.get("filter"),
    )
    versions = [[(one.name, one.size_bytes, one.version) for one in some.inputs] for some in (before, plan)]
    if versions[0] != versions[1]:
        raise CorpusError(f"{out.url}: results of other captures are here: name another --out, or remove it")
    if buckets_given and before.buckets != plan.buckets:
        raise CorpusError(f"{out.url}: a run with {before.buckets} buckets was begun here: name another --out")
    if before.filter != plan.filter:
        begun = "without a filter" if before.filter is None else f"with --filter {before.filter!r}"
        raise CorpusError(f"{out.url}: a run {begun} was begun here: name another --out")
    return replace(plan, runs=before.runs, buckets=before.buckets)


def keep(out: Folder, plan: Plan) -> None:
    """Write it down."""
    out.put(PLAN, json.dumps(asdict(plan)).encode())


def joined(plan: Plan, groups: Sequence[Sequence[str]]) -> Plan:
    """The plan with these captures read as one each."""
    positions = {one.name: position for position, one in enumerate(plan.inputs)}
    return replace(plan, runs=tuple(tuple(sorted(positions[name] for name in group)) for group in groups))
