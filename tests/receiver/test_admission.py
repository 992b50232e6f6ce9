from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.receiver.admission import Admission, origin_of
from vmtrace.receiver.settings import AdmissionLimits

LIMITS = AdmissionLimits(
    unproven_of_address=3, connections_per_s=1, connection_burst=5, wrong_keys=2, wrong_key_pause_s=10, origins=3
)


def test_so_many_may_be_unproven_and_then_no_more() -> None:
    admission = Admission(LIMITS)
    assert [admission.admit("a", 0) for _ in range(4)] == [True, True, True, False]
    admission.settled("a")
    assert admission.admit("a", 0)


def test_connections_have_a_rate_with_a_burst() -> None:
    admission = Admission(LIMITS)
    admitted = 0
    for _ in range(10):
        admitted += admission.admit("a", 0)
        admission.settled("a")
    assert admitted == 5
    assert not admission.admit("a", 0.9)
    assert admission.admit("a", 1.95)


def test_streams_that_are_awaited_come_in_addition_whatever_happened_before() -> None:
    admission = Admission(LIMITS)
    for _ in range(2):
        admission.wrong_key("a", 0)
    assert not admission.admit("a", 0)
    assert [admission.admit("a", 0, awaited=4) for _ in range(8)] == [True] * 7 + [False]


def test_wrong_keys_shut_out_for_a_while() -> None:
    admission = Admission(LIMITS)
    admission.wrong_key("a", 0)
    assert admission.admit("a", 0)
    admission.wrong_key("a", 0)
    assert not admission.admit("a", 9.9)
    assert admission.admit("b", 9.9)
    assert admission.admit("a", 10)


def test_the_right_key_forgets_wrong_ones() -> None:
    admission = Admission(LIMITS)
    for _ in range(5):
        admission.wrong_key("a", 0)
        admission.right_key("a")
    assert admission.admit("a", 0)


def test_each_connection_that_is_settled_makes_room_for_one() -> None:
    admission = Admission(LIMITS)
    for _ in range(3):
        admission.admit("a", 0)
    admission.settled("a")
    assert [admission.admit("a", 5) for _ in range(2)] == [True, False]
    for _ in range(3):
        admission.settled("a")
    assert [admission.admit("a", 9) for _ in range(4)] == [True, True, True, False]


def test_after_a_pause_wrong_keys_are_counted_anew() -> None:
    admission = Admission(LIMITS)
    for _ in range(2):
        admission.wrong_key("a", 0)
    admission.wrong_key("a", 10)
    assert admission.admit("a", 10)


def test_origins_with_the_key_are_the_last_so_many() -> None:
    admission = Admission(replace(LIMITS, proven_origins=2))
    assert not admission.has_proved("a")
    for origin in ("a", "b", "a", "c"):
        admission.right_key(origin)
    assert [admission.has_proved(origin) for origin in "abc"] == [True, False, True]


def test_as_many_origins_are_remembered_as_may_be() -> None:
    admission = Admission(LIMITS)
    for _ in range(2):
        admission.wrong_key("a", 0)
    for origin in "bc":
        admission.admit(origin, 0)
    assert not admission.admit("a", 0)
    for origin in "def":
        admission.admit(origin, 0)
    assert admission.admit("a", 0)


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["admit", "settled", "wrong_key", "right_key"]))))
def test_memory_is_bounded_and_nothing_is_ever_negative(steps: list[tuple[int, str]]) -> None:
    admission = Admission(LIMITS)
    for now_s, (origin, step) in enumerate(steps):
        if step == "admit":
            admission.admit(str(origin), now_s)
        elif step == "wrong_key":
            admission.wrong_key(str(origin), now_s)
        else:
            getattr(admission, step)(str(origin))
        assert len(admission) <= 3
    assert all(known.unproven >= 0 and known.tokens >= 0 for known in admission._known.values())


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("198.18.0.1", "198.18.0.1"),
        ("fd00:1:2:3:4:5:6:7", "fd00:1:2:3::/64"),
        ("fd00:1:2:3::9", "fd00:1:2:3::/64"),
        ("::1", "::/64"),
    ],
)
def test_an_ipv6_host_is_its_whole_network(host: str, origin: str) -> None:
    assert origin_of(host) == origin
