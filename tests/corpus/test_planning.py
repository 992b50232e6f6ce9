"""A corpus is cut by its size, and cut the same way when a run is resumed."""

from dataclasses import replace
from pathlib import Path

import pytest

from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.folder import folder
from vmtrace.corpus.inputs import CapturesFound, Input
from vmtrace.corpus.planning import joined, keep, planned, resumed

MB, GB = 1 << 20, 1 << 30


def found(sizes_mb: list[int], starts: list[int | None] | None = None) -> CapturesFound:
    inputs = tuple(Input(f"/c/{number:03}.pcap", size * MB, "v") for number, size in enumerate(sizes_mb))
    return CapturesFound(inputs, tuple(starts or range(len(sizes_mb))), ())


def test_a_small_corpus_is_one_task() -> None:
    plan = planned(found([10, 10, 10]), 4, None, GB)
    assert (plan.runs, plan.buckets) == (((0, 1, 2),), 1)


def test_a_large_one_has_runs_and_buckets_for_all_workers() -> None:
    plan = planned(found([100] * 64), 2, None, GB)
    assert len(plan.runs) == 8
    assert plan.buckets == 8
    assert sorted(position for run in plan.runs for position in run) == list(range(64))
    assert planned(found([10]), 2, 64, GB).buckets == 64


def test_buckets_are_so_small_that_a_worker_has_the_memory_for_one() -> None:
    large = found([4096] * 20)
    for memory in (GB // 4, GB // 2, GB, 4 * GB):
        plan = planned(large, 2, None, memory)
        assert large.inputs[0].size_bytes * 20 / plan.buckets <= memory - 200 * MB
    packed = CapturesFound(tuple(replace(one, name=f"{one.name}.gz") for one in large.inputs), large.starts_ns, ())
    unpacked = found([4096] * 80)
    assert planned(packed, 2, None, GB).buckets == planned(unpacked, 2, None, GB).buckets


def test_runs_follow_the_times_and_not_the_names() -> None:
    plan = planned(found([100] * 4, [30, 10, None, 20]), 1, 4, GB)
    assert plan.runs == ((2,), (1,), (3,), (0,))


def test_a_plan_is_kept_for_the_next_run(tmp_path: Path) -> None:
    out = folder(str(tmp_path))
    first = resumed(out, planned(found([100] * 8), 2, None, GB), buckets_given=False)
    assert resumed(out, planned(found([100] * 8), 7, None, GB), buckets_given=False) == first
    keep(out, joined(first, [["/c/000.pcap", "/c/003.pcap"]]))
    assert resumed(out, planned(found([100] * 8), 7, None, GB), buckets_given=False).runs == ((0, 3),)
    with pytest.raises(CorpusError, match="results of other captures"):
        resumed(out, planned(found([100] * 9), 2, None, GB), buckets_given=False)
    with pytest.raises(CorpusError, match="a run with 8 buckets"):
        resumed(out, planned(found([100] * 8), 2, 3, GB), buckets_given=True)
