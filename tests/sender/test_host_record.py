"""Facts and counters of the host, in files of their own for each session."""

from __future__ import annotations

import json
from collections.abc import Callable

from vmtrace.sender.run_folder import RunFolder
from vmtrace.sender.session import begin_host_record

NewRun = Callable[..., RunFolder]


def test_facts_and_counters_are_in_the_folder(new_run: NewRun) -> None:
    folder = new_run()
    record = begin_host_record(folder, "lo", metadata=False)
    assert record.stop() is None
    facts = json.loads((folder.path / "host/sender.facts.json").read_text())
    assert facts
    assert (folder.path / "host/sender.csv").read_text().startswith("# schema: vmtrace.host/1\n")


def test_each_session_has_counters_of_its_own(new_run: NewRun) -> None:
    folder = new_run()
    folder.begin_session(2_000)
    begin_host_record(folder, None, metadata=False).stop()
    assert (folder.path / "host/sender-2.csv").exists()
    assert not (folder.path / "host/sender.csv").exists()
