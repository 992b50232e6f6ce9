"""What a plan says of itself, and smaller plans made of it."""

import pytest

from vmtrace.providers.plan import Plan, Workload
from vmtrace.providers.plans import BOCCHI2014

PLAN = Plan("mine", (Workload("a", 1, 1000), Workload("b", 10, 50)), repeat=2, wait_s=10, idle_s=20)


def test_bytes_transactions_and_pauses_are_those_of_all_repeats_and_both_directions() -> None:
    assert (PLAN.bytes, PLAN.transactions) == (2 * 2 * 1500, 8)
    assert PLAN.pause_s == 4 * 10 + 3 * 20


def test_scale_multiplies_sizes_and_pauses_and_leaves_a_byte_at_least() -> None:
    small = PLAN.scaled(0.01)
    assert [one.size_bytes for one in small.workloads] == [10, 1]
    assert [one.name for one in small.workloads] == ["a (scaled: 1 x 10 B)", "b (scaled: 10 x 1 B)"]
    assert [one.name for one in small.scaled(2).workloads] == ["a (scaled: 1 x 20 B)", "b (scaled: 10 x 2 B)"]
    assert PLAN.scaled(1) == PLAN
    assert (small.wait_s, small.idle_s, small.scale, small.repeat) == (0.1, 0.2, 0.01, 2)


def test_quick_is_once_without_pauses_and_without_what_is_large() -> None:
    quick = BOCCHI2014.quick()
    assert [one.name for one in quick.workloads] == ["1MB", "10MB", "10x100kB", "100x10kB", "1000x4kB"]
    assert (quick.repeat, quick.pause_s) == (1, 0)
    assert Plan("large", (Workload("x", 1, 10**9),)).quick().workloads == (Workload("x", 1, 10**9),)


def test_only_some_workloads_keep_their_order() -> None:
    assert [one.name for one in BOCCHI2014.only(["1000x4kB", "1MB"]).workloads] == ["1MB", "1000x4kB"]
    with pytest.raises(ValueError, match="2MB: not a workload of plan bocchi2014"):
        BOCCHI2014.only(["2MB"])


def test_the_record_has_what_was_run() -> None:
    assert PLAN.as_record()["workloads"][1] == {"name": "b", "files": 10, "size_bytes": 50, "content": "random"}
