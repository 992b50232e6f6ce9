"""The simulated caches do what the plain ones do, written here a second time without links and arrays."""

import sys
from collections import OrderedDict, deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[2]))

from tests.providers.accesses import Access, chunk_of, reads
from vmtrace.providers.costs import caches
from vmtrace.providers.costs.caches import CacheSimulation, Simulated
from vmtrace.providers.costs.compiled import IS_FAST, Lazily

ACCESSES = st.lists(
    st.tuples(
        st.just(0.0),
        st.integers(0, 7),
        st.integers(0, 30),
        st.sampled_from(["read", "read", "read", "write", "delete", "list"]),
        st.booleans() | st.just(True),
    ),
    max_size=120,
)


def simulated(policy: str, capacity: int, accesses: Sequence[Access], cut: int = 0) -> Simulated:
    """In two chunks, for what is carried from one to the next."""
    cache = CacheSimulation(policy, capacity)
    for part in (accesses[:cut], accesses[cut:]):
        cache.feed(chunk_of(part), 2 + max((one[1] for one in accesses), default=0) + 1)
    return cache.finish()


def plain_lru(capacity: int, accesses: Sequence[Access]) -> tuple[int, int]:
    held: OrderedDict[int, int] = OrderedDict()
    hits = hit_bytes = 0
    for _, one, asked, operation, outside in accesses:
        if operation == "list" or (operation == "read" and not outside):
            continue
        had = held.pop(one, -1)
        size = asked
        if operation == "read" and had >= asked:
            hits, hit_bytes, size = hits + 1, hit_bytes + asked, had
        if operation == "delete" or not outside or size > capacity:
            continue
        while sum(held.values()) + size > capacity:
            held.popitem(last=False)
        held[one] = size
    return hits, hit_bytes


class PlainS3Fifo:
    """Algorithm 1 of the SOSP paper, in bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.small_capacity = capacity, capacity // 10
        self.small: deque[int] = deque()
        self.main: deque[int] = deque()
        self.size: dict[int, int] = {}
        self.freq: dict[int, int] = {}
        self.ghost: dict[int, int] = {}
        self.left = 0

    def drop(self, one: int) -> None:
        for queue in (self.small, self.main):
            if one in queue:
                queue.remove(one)
        self.size.pop(one, None)

    def evict(self) -> None:
        if self.small and (sum(self.size[one] for one in self.small) > self.small_capacity or not self.main):
            one = self.small.pop()
            if self.freq[one] > 1:
                self.freq[one] = 0
                self.main.appendleft(one)
            else:
                self.ghost[one] = self.left
                self.left += self.size.pop(one)
            return
        one = self.main.pop()
        if self.freq[one] > 0:
            self.freq[one] -= 1
            self.main.appendleft(one)
        else:
            del self.size[one]

    def put(self, one: int, size: int, *, ranked: bool) -> None:
        while sum(self.size.values()) + size > self.capacity:
            self.evict()
        stamp = self.ghost.pop(one, None)
        lately = stamp is not None and self.left - stamp <= self.capacity - self.small_capacity
        (self.main if ranked or lately else self.small).appendleft(one)
        self.size[one], self.freq[one] = size, 0


def plain_s3_fifo(capacity: int, accesses: Sequence[Access]) -> tuple[int, int]:
    cache, hits, hit_bytes = PlainS3Fifo(capacity), 0, 0
    for _, one, size, operation, outside in accesses:
        if operation == "list" or (operation == "read" and not outside):
            continue
        if operation == "read" and cache.size.get(one, -1) >= size:
            hits, hit_bytes = hits + 1, hit_bytes + size
            cache.freq[one] = min(cache.freq[one] + 1, 3)
            continue
        ranked = one in cache.main
        cache.drop(one)
        if operation == "delete":
            cache.ghost.pop(one, None)
        elif outside and size <= capacity:
            cache.put(one, size, ranked=ranked)
    return hits, hit_bytes


@settings(max_examples=300, deadline=None)
@given(ACCESSES, st.integers(0, 80), st.integers(0, 120))
def test_lru_is_that_of_an_ordered_dictionary(accesses: list[Access], capacity: int, cut: int) -> None:
    found = simulated("lru", capacity, accesses, cut)
    assert (found.hits, found.hit_bytes) == plain_lru(capacity, accesses)


@settings(max_examples=300, deadline=None)
@given(ACCESSES, st.integers(0, 80), st.integers(0, 120))
def test_s3_fifo_is_that_of_the_paper(accesses: list[Access], capacity: int, cut: int) -> None:
    found = simulated("s3-fifo", capacity, accesses, cut)
    assert (found.hits, found.hit_bytes) == plain_s3_fifo(capacity, accesses)


@pytest.mark.skipif(not IS_FAST, reason="without Numba there is one way alone")
def test_compiled_and_plain_loops_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    accesses = [(0.0, int(one), 1 + int(one) % 7, "read", True) for one in random.zipf(1.3, 3000) % 500]
    for policy, loop in (("lru", "run_lru"), ("s3-fifo", "run_s3_fifo")):
        compiled = simulated(policy, 300, accesses)
        plain = Lazily(getattr(caches, loop).python)
        plain._ready = plain.python
        with monkeypatch.context() as patch:
            patch.setattr(caches, loop, plain)
            assert simulated(policy, 300, accesses) == compiled


def test_lru_of_a_few_accesses_by_hand() -> None:
    found = simulated("lru", 2, reads([0, 1, 0, 2, 1, 0]))
    assert (found.hits, found.hit_bytes) == (1, 1), "2 drives out 1, and 1 drives out 0"


def test_what_is_read_once_drives_nothing_out_of_s3_fifo() -> None:
    """A hot set that fits, with a scan of new objects after each round: science's files of one use (section 5.1)."""
    hot, objects, fresh = list(range(50)), [], 1000
    for _ in range(40):
        objects += hot + hot + hot + list(range(fresh, fresh + 200))
        fresh += 200
    lru, better = (simulated(policy, 100, reads(objects)) for policy in ("lru", "s3-fifo"))
    rounds = 40 * 50
    assert lru.hits == pytest.approx(2 * rounds, abs=1), "each round's first reads miss"
    assert better.hits > 2.9 * rounds


def test_a_read_of_more_than_is_held_misses_and_one_of_a_part_hits() -> None:
    parts = [(0.0, 0, size, "read", True) for size in (5, 9, 4, 9)]
    for policy in ("lru", "s3-fifo"):
        assert simulated(policy, 20, parts).hit_bytes == 4 + 9


def test_what_is_written_within_the_region_makes_the_local_copy_stale() -> None:
    accesses: list[Access] = [(0.0, 0, 5, "read", True), (1.0, 0, 5, "write", False), (2.0, 0, 5, "read", True)]
    for policy in ("lru", "s3-fifo"):
        assert simulated(policy, 20, accesses).hits == 0
        assert simulated(policy, 20, [*accesses[:1], (1.0, 0, 5, "write", True), accesses[2]]).hits == 1


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="policy 'arc': expected one of lru, s3-fifo"):
        CacheSimulation("arc", 1)
