"""The costs that are measured are those of the child, and of nothing else."""

import os
import sys

import pytest

from bench.measure import ProgramError, cost_of


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_sleeping_costs_wall_time_but_no_cpu_time() -> None:
    cost = cost_of(python("import time; time.sleep(0.4)"))
    assert cost.wall_s >= 0.4
    assert cost.cpu_s < 0.3


def test_working_costs_cpu_time() -> None:
    assert cost_of(python("import time\nwhile time.process_time() < 0.4: pass")).cpu_s >= 0.4


def test_peak_memory_is_the_childs() -> None:
    assert cost_of(python("b = bytearray(300 << 20)")).peak_bytes >= 300 << 20


def test_a_child_on_one_processor_sees_one_and_the_parent_keeps_its_own() -> None:
    before = os.sched_getaffinity(0)
    cost_of(python("import os; assert len(os.sched_getaffinity(0)) == 1"), cpus=1)
    assert os.sched_getaffinity(0) == before


def test_a_program_that_fails_is_an_error_with_its_last_words() -> None:
    with pytest.raises(ProgramError, match="status 3: no such capture"):
        cost_of(python("import sys; print('no such capture', file=sys.stderr); sys.exit(3)"))


def test_a_program_that_hangs_is_ended() -> None:
    with pytest.raises(ProgramError, match="status -9"):
        cost_of(python("import time; time.sleep(60)"), timeout_s=0.2)
