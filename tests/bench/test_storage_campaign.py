"""Weeks of probes by simulation, in short: nothing is waited for, nothing grows, and the report finds every request."""

from pathlib import Path

import pytest

from bench.storage_campaign import Measured, measure, promises, table
from vmtrace.providers import registry


@pytest.fixture(autouse=True)
def registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "names", registry.names)


@pytest.mark.slow
def test_days_of_probes_take_seconds_and_no_memory(tmp_path: Path) -> None:
    found = measure(300, tmp_path)
    assert found.probes == 300
    assert 4 * 200 < found.requests < 4 * 400
    assert found.took_s < 300 * 120 / 100  # they are ten hours
    assert found.grown_bytes < 30e6
    assert 500 < found.folder_bytes / found.requests < 2000


def test_promises_are_of_the_report(tmp_path: Path) -> None:
    kept = Measured(100_000, 400_000, 1.0, 0, 10**9, 29.0, 1 << 29)
    broken = Measured(100_000, 400_000, 1.0, 0, 10**9, 31.0, 1 << 31)
    assert [one.kept for one in promises(kept)] == [True, True]
    assert [one.kept for one in promises(broken)] == [False, False]
    assert "| 100,000 | 400,000 |" in table([kept])
