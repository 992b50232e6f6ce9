"""Facts and counters of a host, where the caller wants them."""

from __future__ import annotations

import json
from pathlib import Path

from vmtrace.capture.host_record import HostRecord


def test_facts_are_there_at_once_and_counters_at_the_end(tmp_path: Path) -> None:
    record = HostRecord(tmp_path / "facts.json", tmp_path / "counters.csv", "lo", metadata=False)
    assert json.loads((tmp_path / "facts.json").read_text())
    assert record.stop() is None
    assert (tmp_path / "counters.csv").read_text().startswith("# schema: vmtrace.host/1\n")
