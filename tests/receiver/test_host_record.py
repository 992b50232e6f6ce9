import json
from pathlib import Path

from vmtrace.receiver.session import begin_host_record
from vmtrace.receiver.storage import Storage


def test_facts_and_counters_are_there_after_the_session(tmp_path: Path) -> None:
    run = Storage(tmp_path).new_run()
    record = begin_host_record(run, None)
    record.stop()
    assert isinstance(json.loads((run.folder / "host/receiver.facts.json").read_text()), dict)
    assert "time_ns" in (run.folder / "host/receiver.csv").read_text()
