"""The clock's state is the kernel's word; a step is seen and told apart from slewing, suspension and a slow reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vmtrace.capture.clock
from vmtrace.capture.clock import ClockReading, ClockWatch, clock_state, read_clocks

SECOND = 1_000_000_000
START = ClockReading(wall_ns=1_700_000_000 * SECOND, boot_ns=500 * SECOND, uncertainty_ns=50)


def watching(*later: ClockReading) -> ClockWatch:
    readings: Iterator[ClockReading] = iter((START, *later))
    return ClockWatch(lambda: next(readings))


def after(seconds: float, stepped_s: float = 0.0, uncertainty_ns: int = 50) -> ClockReading:
    passed, stepped = int(seconds * SECOND), int(stepped_s * SECOND)
    return ClockReading(START.wall_ns + passed + stepped, START.boot_ns + passed, uncertainty_ns)


@pytest.mark.parametrize("step_s", [3600.0, -3600.0, 0.5, -0.001, 0.000_01])
def test_a_step_is_reported_once_with_its_size(step_s: float) -> None:
    watch = watching(after(1), after(2, step_s), after(3, step_s))
    assert watch.look() is None
    step = watch.look()
    assert step is not None
    assert step.step_s == pytest.approx(step_s)
    assert step.noticed_ns == after(2, step_s).wall_ns
    assert watch.look() is None


def test_a_step_back_is_reported_again() -> None:
    watch = watching(after(1, 5.0), after(2))
    sizes = [step.step_s for step in (watch.look(), watch.look()) if step]
    assert sizes == [5.0, -5.0]


def test_a_reading_that_was_interrupted_is_no_step() -> None:
    watch = watching(after(1, 0.003, uncertainty_ns=4_000_000), after(2))
    assert watch.look() is None
    assert watch.look() is None


def test_a_step_in_small_portions_is_not_lost() -> None:
    portions = [after(second, second * 400e-9) for second in range(1, 10)]
    watch = watching(*portions)
    total = sum(step.step_s for step in (watch.look() for _ in portions) if step)
    assert total == pytest.approx(9 * 400e-9, abs=1.2e-6)


def test_this_machine_s_clock_does_not_step_between_looks() -> None:
    watch = ClockWatch()
    assert [watch.look() for _ in range(200)] == [None] * 200
    assert read_clocks().uncertainty_ns < 1_000_000


def test_state_of_this_machine_s_clock() -> None:
    state = clock_state()
    assert state.source is None or state.source in state.available_sources
    if state.synchronised:
        assert state.maximum_error_s is not None
        assert 0 <= state.maximum_error_s < 16
    else:
        assert state.estimated_error_s is None
    assert state.as_record()["available_sources"] == list(state.available_sources)


def kernel_says(monkeypatch: pytest.MonkeyPatch, state: int, status: int) -> None:
    answer = vmtrace.capture.clock._Timex(
        status=status, maximum_error_us=250_000, estimated_error_us=120, frequency=-65_536 * 7
    )
    monkeypatch.setattr(vmtrace.capture.clock, "_ask_kernel", lambda: (answer, state))


def test_a_synchronised_clock_has_its_errors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kernel_says(monkeypatch, state=0, status=0x2001)
    state = clock_state(tmp_path)
    assert (state.synchronised, state.estimated_error_s, state.maximum_error_s) == (True, 120e-6, 0.25)
    assert state.frequency_correction_ppm == -7
    assert (state.source, state.available_sources) == (None, ())


@pytest.mark.parametrize(("state", "status"), [(5, 0x2001), (0, 0x40), (5, 0x40)])
def test_a_clock_that_is_not_synchronised_has_no_errors(
    monkeypatch: pytest.MonkeyPatch, state: int, status: int
) -> None:
    kernel_says(monkeypatch, state, status)
    assert clock_state().synchronised is False
    assert clock_state().estimated_error_s is clock_state().maximum_error_s is None


def test_a_kernel_that_forbids_the_question_leaves_all_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vmtrace.capture.clock, "_ask_kernel", lambda: (None, -1))
    assert clock_state().synchronised is None


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=20))
def test_steps_add_up_to_where_the_clock_is(moves: Sequence[tuple[float, float]]) -> None:
    readings = [after(passed, stepped) for passed, stepped in moves]
    watch = watching(*readings)
    total = sum(step.step_s for step in (watch.look() for _ in readings) if step)
    assert total == pytest.approx(moves[-1][1], abs=2e-6, rel=1e-6)
