"""The client's counters: nothing is lost or counted twice when sources connect again or leave between two polls."""

import random

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.providers.swarm.counters import SEED, WEB_SEED, Counters, SourceCount

FIRST, SECOND = ("198.18.0.1", 6881), ("198.18.0.2", 6881)


def test_a_count_that_begins_anew_keeps_what_was_before() -> None:
    source = SourceCount(WEB_SEED, "198.18.0.9:443")
    for total in (100_000, 400_000, 0, 50_000):
        source.polled(total)
    assert source.bytes == 450_000


def test_a_seed_that_carries_its_count_on_is_not_counted_twice() -> None:
    source = SourceCount(SEED, "198.18.0.1:6881")
    for total in (400_500, 400_384, 600_000):  # libtorrent rounds down to KiB on the way
        source.polled(total)
    assert source.bytes == 600_000


@given(st.lists(st.lists(st.integers(0, 1 << 20), min_size=1, max_size=8), min_size=1, max_size=6))
def test_connections_that_begin_at_zero_add_up(connections: list[list[int]]) -> None:
    source, total = SourceCount(WEB_SEED, "198.18.0.9:443"), 0
    for steps in connections:
        now = 0
        source.polled(0)
        for step in steps:
            now += step
            source.polled(now)
        total += now
    slack = 1024 * len(connections)  # a connection that brought less looks as if it were carried on
    assert total - slack <= source.bytes <= total


def test_what_is_no_seed_is_the_web_seed() -> None:
    counters = Counters((FIRST,))
    assert counters.of(FIRST).kind == SEED
    assert counters.of(SECOND).kind == WEB_SEED


def test_the_one_source_that_left_gets_what_is_missing() -> None:
    counters = Counters((FIRST, SECOND))
    counters.of(FIRST).polled(1000)
    counters.of(SECOND).polled(500)
    counters.of(SECOND).stale = True
    assert counters.settle(2000) == 0
    assert counters.of(SECOND).bytes == 1000


def test_bytes_that_two_sources_may_have_sent_belong_to_none() -> None:
    counters = Counters((FIRST, SECOND))
    for peer in (FIRST, SECOND):
        counters.of(peer).stale = True
    assert counters.settle(700) == 700
    assert counters.of(FIRST).bytes == counters.of(SECOND).bytes == 0


def test_samples_hold_changes_alone() -> None:
    counters = Counters((FIRST, SECOND))
    draw = random.Random(1)
    last = 0
    for time_ns in range(50):
        last += draw.choice((0, 0, 10))
        counters.of(FIRST).polled(last)
        counters.sample(time_ns)
    changes = [one.bytes for one in counters.samples if one.address == "198.18.0.1:6881"]
    assert changes == sorted(set(changes))
    assert changes[-1] == last
    assert [one.bytes for one in counters.samples if one.address == "198.18.0.2:6881"] == [0]
