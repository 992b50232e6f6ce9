"""The bench of `vmtrace cost` measures what it says, and finds what it promises about."""

from pathlib import Path

import pytest

from bench import cost
from bench.cost import Replayed


def test_a_slow_replay_and_memory_that_grows_break_the_promises() -> None:
    found = [Replayed("csv", 10**6, 9, 1.0, 2.0, 100.0), Replayed("parquet", 10**7, 9, 5.0, 4.0, 160.0)]
    assert [promise.kept for promise in cost.promises(found)] == [False, True, False]
    assert "| csv | 1,000,000 | 9 | 1.0 | 1.00 | 0.50 | 100 |" in cost.table(found)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_what_was_made_is_replayed(form: str, tmp_path: Path) -> None:
    found = cost.measured(tmp_path, form, 5000, 100)
    assert (found.accesses, found.objects) == (5000, 100)
    assert found.rate > 0
