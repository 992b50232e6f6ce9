"""A replayed trace becomes a month's workload, and its caches and archives become scenarios."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

sys.path.append(str(Path(__file__).parents[2]))

from tests.providers.accesses import write_csv
from vmtrace.providers.costs import simulate
from vmtrace.providers.costs.compiled import IS_FAST
from vmtrace.providers.costs.simulate import MONTH_S, Wanted, replay, ways_of, workload_of
from vmtrace.providers.costs.ways import Archive, Cache, Named

DAY_S = 86_400


@pytest.fixture
def two_months(tmp_path: Path) -> Path:
    """2 GB written at the beginning, read twice in the first days, and 1 GB read every month from the region."""
    rows: list[tuple[float, str, int, str, str]] = [
        (0, "a", 2, "write", "home"),
        (0, "b", 1, "read", "eu"),
        (DAY_S, "a", 2, "read", "home"),
    ]
    rows += [(2 * DAY_S, "a", 2, "read", "home"), (MONTH_S, "b", 1, "read", "eu"), (2 * MONTH_S, "b", 1, "read", "eu")]
    return write_csv(tmp_path / "trace.csv", *(f"{t},{o},{gb * 10**9},{op},{place}" for t, o, gb, op, place in rows))


def test_a_month_of_the_trace_by_hand(two_months: Path) -> None:
    workload = workload_of(replay(two_months, Wanted(region="eu")))
    assert workload.stored_gb + workload.growth_gb_per_month / 2 == pytest.approx(3), "the mean over the trace"
    assert workload.growth_gb_per_month == pytest.approx(1), "2 GB in two months"
    assert (workload.read_gb_per_month, workload.written_gb_per_month) == pytest.approx((3.5, 1))
    assert (workload.read_requests_per_month, workload.write_requests_per_month) == pytest.approx((2.5, 0.5))
    assert workload.same_region_share == pytest.approx(3 / 9)
    assert workload.objects == 2


def test_lifetimes_are_from_the_first_access_to_the_last(tmp_path: Path) -> None:
    """Three of ten objects are done with within a day: one read once, one again after an hour, one after a day."""
    rows = [(0, "whole", "write"), (10 * DAY_S, "whole", "read"), (20 * DAY_S, "whole", "delete"), (0, "once", "read")]
    rows += [
        (0, "hour", "read"),
        (3600, "hour", "read"),
        (1, "day", "read"),
        (DAY_S + 1, "day", "read"),
        (5, "", "list"),
    ]
    rows += [(DAY_S * start, f"week{start}", "read") for start in range(6)]
    rows += [(DAY_S * (start + 6), f"week{start}", "read") for start in range(6)]
    path = write_csv(tmp_path / "t.csv", *(f"{t},{o},1,{op},home" for t, o, op in sorted(rows)))
    found = replay(path, Wanted())
    assert found.occupied.living == (2, 3, 9, 10)
    notes = workload_of(found).notes
    assert "27.3% of 11 objects lived at most 24 hours, from their first access to their last" in notes


def test_what_the_archive_would_hold_and_give_back(two_months: Path) -> None:
    found = replay(two_months, Wanted(region="eu", archive_after_s=10 * DAY_S))
    (named,) = ways_of(found, [Named("cold", Archive(10))])
    assert isinstance(named.way, Archive)
    month_days = MONTH_S / DAY_S
    # a: from its 12th day on; b: twice, from ten days after a read to the next one.
    cold_gb_days = 2 * (2 * month_days - 12) + 1 * 2 * (month_days - 10)
    assert named.way.cold_share == pytest.approx(cold_gb_days / (3 * 2 * month_days))
    assert named.way.recalled_gb_per_month == pytest.approx(1)
    assert named.way.moved_objects_per_month == pytest.approx(1.5)


def test_a_cache_is_there_for_each_policy_with_its_hit_ratios(two_months: Path) -> None:
    found = replay(two_months, Wanted(region="eu", cache_sizes_bytes=(2 * 10**9,)))
    named = ways_of(found, [Named("cache", Cache(2.0))])
    assert [one.name for one in named] == ["local cache of 2 GB, lru", "local cache of 2 GB, s3-fifo"]
    for one in named:
        assert isinstance(one.way, Cache)
        assert (one.way.hit_ratio, one.way.byte_hit_ratio) == (1.0, 1.0), "it was written through the cache"


def test_a_trace_without_duration_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", "5,a,1,read,x", "5,a,1,read,x")
    with pytest.raises(simulate.NoDurationError, match="all accesses have the same time"):
        replay(path, Wanted())


def test_what_is_assumed_of_a_trace_is_said(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", "0,a,1000,read,x", "3600,a,0,delete,x")
    notes = workload_of(replay(path, Wanted())).notes
    assert any("730 times as much" in note for note in notes)
    assert any("shrank" in note for note in notes)
    assert any("name the service's own with --region" in note for note in notes)


REPLAY = """
import resource, sys, time
from pathlib import Path
from vmtrace.providers.costs.simulate import Wanted, replay
wanted = Wanted(archive_after_s=86400.0, cache_sizes_bytes=(10**13,))
def most_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
replay(Path(sys.argv[1]), wanted)
few_mib, begun = most_mib(), time.process_time()
found = replay(Path(sys.argv[2]), wanted)
print(found.rows / (time.process_time() - begun), few_mib, most_mib())
"""


def many(path: Path, count: int) -> Path:
    random = np.random.default_rng(7)
    objects = random.zipf(1.2, count) % 50_000
    names = pa.array([f"run/{number:06}" for number in range(50_000)])
    table = pa.table(
        {
            "time": np.arange(count) * 0.5,
            "object": names.take(pa.array(objects)),
            "bytes": (1 + objects % 900) * 1_000_000,
        }
    )
    parquet.write_table(table, path, row_group_size=1 << 18)
    return path


@pytest.mark.skipif(not IS_FAST, reason="without Numba the loops are Python's")
@pytest.mark.slow
def test_memory_does_not_grow_with_accesses_and_a_million_take_a_second(tmp_path: Path) -> None:
    few, more = many(tmp_path / "few.parquet", 600_000), many(tmp_path / "more.parquet", 3_000_000)

    words = [sys.executable, "-c", REPLAY, str(few), str(more)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    rate, few_mib, more_mib = map(float, done.stdout.split())
    assert more_mib < few_mib + 64
    assert rate > 1_000_000, "accesses per CPU-second: a busy machine makes no difference"
