"""Waits double up to a limit, and no two clients wait alike."""

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.cloudwatch import backoff
from vmtrace.cloudwatch.backoff import Backoff


@given(st.integers(1, 100), st.floats(0, 1))
def test_a_wait_is_at_least_half_of_what_is_due(attempt: int, chance: float) -> None:
    wait_s = Backoff(chance=lambda: chance).wait_s(attempt)
    due_s = min(backoff._LONGEST_S, backoff._FIRST_S * 2.0 ** (attempt - 1))
    assert due_s / 2 <= wait_s <= due_s


def test_waiting_doubles_and_is_done_by_the_function_given() -> None:
    slept: list[float] = []
    waits = Backoff(sleep=slept.append, chance=lambda: 1.0)
    for attempt in (1, 2, 3):
        waits.wait(attempt)
    assert slept[1:] == [2 * slept[0], 4 * slept[0]]
