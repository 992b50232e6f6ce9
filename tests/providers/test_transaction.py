"""One transaction: capture around login and transfers, and a line whatever happens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.providers.fakes import FakeService, Memory, meant
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.interruption import Interruption
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import craft
from vmtrace.providers.journal import Journal, outstanding
from vmtrace.providers.plan import DOWNLOAD, UPLOAD, Workload
from vmtrace.providers.recording import Recorded, Recording
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.transaction import Transactor
from vmtrace.providers.transfer import Item, Job

WORKLOAD = Workload("five", 5, 100)


class Tape(Recording):
    """Writes down when it ran."""

    def __init__(self, memory: Memory, fault: Exception | None = None) -> None:
        super().__init__(None, None, None)
        self._memory, self._fault = memory, fault

    def start(self) -> None:
        self._memory.calls.append("record")
        if self._fault is not None:
            raise self._fault

    def stop(self) -> Recorded:
        self._memory.calls.append("stop")
        return Recorded({"file": "x"}, None, None)


class Stage:
    """A transactor over a service in memory."""

    def __init__(self, path: Path) -> None:
        self.memory = Memory({"box": {}})
        self.folder = RunFolder.create(path / "run", {})
        self.journal = Journal(self.folder.path)
        self.items = [Item(f"p/0001/{n}", file) for n, file in enumerate(craft(path / "files", WORKLOAD, None), 1)]
        self.transactor = Transactor(
            lambda: FakeService(self.memory, "box"),
            meant,
            HttpObserver(),
            self.folder,
            self.journal,
            Interruption(),
            self,
            {"provider": "fake", "region": None, "endpoint": "http://x"},
        )

    def moved(self, size_bytes: int) -> None:
        assert size_bytes > 0

    def run(self, direction: str = UPLOAD, fault: Exception | None = None) -> Any:
        return self.transactor.run(Job(1, WORKLOAD, 1, direction, self.items), Tape(self.memory, fault))

    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder.path / "objects.jsonl").read_text().splitlines()]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.journal.close()
    made.folder.close()


def test_packets_are_recorded_from_before_login_to_after_the_close(stage: Stage) -> None:
    outcome = stage.run()
    assert stage.memory.calls == ["record", "login", *["upload"] * 5, "close", "stop"]
    assert (outcome.failed, outcome.hopeless, outcome.interrupted) == (None, None, False)
    record = outcome.record
    assert (record["status"], record["objects_done"], record["moved_bytes"]) == ("complete", 5, 500)
    assert record["start_ns"] <= record["login"]["start_ns"] <= record["login"]["end_ns"] <= record["end_ns"]
    assert record["capture"] == {"file": "x"}
    assert {one["endpoint"] for one in stage.objects()} == {"http://x"}


def test_names_are_in_the_journal_before_anything_is_asked_of_the_service(stage: Stage) -> None:
    stage.memory.faults["login"] = ServiceError(ErrorKind.CREDENTIALS, "no")
    outcome = stage.run()
    assert list(outstanding(stage.folder.path).objects) == [item.name for item in stage.items]
    assert outcome.hopeless.kind == ErrorKind.CREDENTIALS
    assert (outcome.record["status"], outcome.record["error_kind"]) == ("failed", "credentials")
    assert outcome.record["login"] is not None
    assert stage.memory.calls[-2:] == ["close", "stop"]


def test_only_what_was_uploaded_is_downloaded(stage: Stage) -> None:
    stage.memory.faults["0001/2"] = ServiceError(ErrorKind.SERVICE, "no")
    assert stage.run().record["objects_done"] == 4
    outcome = stage.run(DOWNLOAD)
    assert (outcome.record["objects_done"], outcome.record["objects_failed"]) == (4, 0)
    assert outcome.record["status"] == "complete"


def test_after_three_failures_in_a_row_the_rest_is_left_out(stage: Stage) -> None:
    stage.memory.faults["upload"] = ServiceError(ErrorKind.SERVICE, "no")
    outcome = stage.run()
    assert (outcome.record["objects_failed"], outcome.hopeless) == (3, None)
    assert outcome.failed.kind == ErrorKind.SERVICE


def test_a_service_that_is_gone_ends_the_transaction_at_once(stage: Stage) -> None:
    stage.memory.faults["0001/2"] = ServiceError(ErrorKind.ENDPOINT_GONE, "reset")
    outcome = stage.run()
    assert (outcome.record["objects_done"], outcome.record["objects_failed"]) == (1, 1)
    assert outcome.hopeless is None


def test_without_a_recording_nothing_is_asked_of_the_service(stage: Stage) -> None:
    outcome = stage.run(fault=CaptureError("no right to capture"))
    assert outcome.hopeless.kind == ErrorKind.CAPTURE
    assert stage.memory.calls == ["record", "stop"]
    assert outcome.record["status"] == "failed"


def test_an_interruption_leaves_a_line_for_what_was_done(stage: Stage) -> None:
    stage.memory.faults["0001/3"] = KeyboardInterrupt
    outcome = stage.run()
    assert outcome.interrupted
    assert (outcome.record["status"], outcome.record["objects_done"]) == ("interrupted", 2)
    assert [one["outcome"] for one in stage.objects()] == ["done", "done", "failed"]
