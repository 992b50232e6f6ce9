"""Growth: what is counted becomes a table, what grows too fast is named, the whole table holds."""

import os
import subprocess

import pytest

from tools import engine_growth, engine_instructions
from tools.engine_growth import Growth, table, too_fast


def test_what_is_done_once_is_left_out() -> None:
    assert Growth("some", (5_100, 5_200, 5_400)).ratio == 2


@pytest.mark.parametrize(("power", "is_too_fast"), [(1.0, False), (1.1, False), (1.4, True), (2.0, True)])
def test_more_than_n_log_n_is_too_fast(power: float, is_too_fast: bool) -> None:
    small, middle, large = (1_000_000 + round(500 * n**power) for n in (1_000, 2_000, 4_000))
    lines = too_fast([Growth("some", (small, middle, large))])
    assert bool(lines) == is_too_fast
    assert all("growth: some: twice as much takes" in line for line in lines)


def test_what_a_few_instructions_grow_by_is_no_growth() -> None:
    assert too_fast([Growth("some", (1_000_000, 1_000_100, 1_002_000))]) == []


def test_the_table_has_a_row_for_each_family() -> None:
    assert table([Growth("some", (1_000, 2_000, 4_000))]).splitlines()[-1] == "| some | 1,000, 2,000, 4,000 | 2.00 |"


@pytest.mark.long
def test_nothing_grows_faster_than_n_log_n() -> None:
    environment = {**os.environ, "PROFILE": "quick"}
    command = ["cargo", "build", "--profile", "quick", "--locked", "--quiet", "--package", "vmtrace-core"]
    examples = ["--example", "analyze", "--example", "bench_generate"]
    subprocess.run([*command, *examples], cwd=engine_instructions.ROOT, env=environment, check=True)
    assert engine_growth.main(["--size", "4000", "--profile", "quick"]) == 0
