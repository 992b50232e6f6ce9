"""One object: what stands in its line, however it went."""

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.providers.fakes import FakeService, Memory, meant
from vmtrace.capture.interruption import Interruption
from vmtrace.providers import digest_sink
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import craft
from vmtrace.providers.plan import DOWNLOAD, UPLOAD, Workload
from vmtrace.providers.service import Sink
from vmtrace.providers.transfer import Item, Job, Mover, Tally

WORKLOAD = Workload("one", 1, 1000)
EXCHANGE = {
    "start_ns", "end_ns", "duration_s", "first_byte_ns", "requests", "retries", "retry_causes", "status", "request_id",
    "front_end", "connections",
}  # fmt: skip
KEYS = EXCHANGE | {
    "transaction", "workload", "repeat", "direction", "object", "name", "reference", "bytes", "moved_bytes", "digest",
    "service_digest", "digest_ok", "outcome", "error_kind", "error",
}  # fmt: skip


class Listener:
    """Counts."""

    def __init__(self) -> None:
        self.bytes = 0

    def moved(self, size_bytes: int) -> None:
        self.bytes += size_bytes


class Stage:
    """A file, a service in memory with a container, and a mover."""

    def __init__(self, folder: Path, direction: str) -> None:
        self.memory = Memory({"box": {}})
        self.service = FakeService(self.memory, "box")
        (self.file,) = craft(folder, WORKLOAD, None)
        self.item = Item("p/0001/00001", self.file)
        self.lines: list[dict[str, Any]] = []
        self.references: list[tuple[str, str]] = []
        self.listener, self.tally = Listener(), Tally()
        job = Job(7, WORKLOAD, 2, direction, [self.item])
        self.mover = Mover(
            self.service,
            meant,
            HttpObserver(),
            Interruption(),
            self.listener,
            self.lines.append,
            lambda name, reference: self.references.append((name, reference)),
            job,
            self.tally,
        )

    def stored(self) -> None:
        self.memory.containers["box"][self.item.name] = self.file.path.read_bytes()
        self.item.reference = self.item.name


@pytest.fixture
def up(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "files", UPLOAD)


@pytest.fixture
def down(tmp_path: Path) -> Stage:
    stage = Stage(tmp_path / "files", DOWNLOAD)
    stage.stored()
    return stage


def test_an_upload_that_went_well_has_every_key_and_counts(up: Stage) -> None:
    assert up.mover.move(1, up.item) is None
    (line,) = up.lines
    assert set(line) == KEYS
    assert (line["outcome"], line["moved_bytes"], line["digest"]) == ("done", 1000, up.file.sha256)
    assert (line["service_digest"], line["digest_ok"], line["reference"]) == (up.file.md5, True, up.item.name)
    assert (up.tally.done, up.tally.failed, up.tally.moved_bytes, up.listener.bytes) == (1, 0, 1000, 1000)
    assert up.references == []


def test_a_download_that_went_well_has_every_key_and_the_digest_of_what_came(down: Stage) -> None:
    assert down.mover.move(1, down.item) is None
    (line,) = down.lines
    assert set(line) == KEYS
    assert (line["outcome"], line["digest"], line["service_digest"]) == ("done", down.file.sha256, None)
    assert down.listener.bytes == 1000


def test_an_upload_whose_digest_does_not_fit_is_a_write_error(up: Stage) -> None:
    up.memory.wrong_digest.add("00001")
    error = up.mover.move(1, up.item)
    assert error is not None
    assert error.kind == ErrorKind.DIGEST
    assert (up.lines[0]["outcome"], up.lines[0]["moved_bytes"], up.lines[0]["digest_ok"]) == ("write_error", 0, False)
    assert (up.tally.done, up.tally.failed) == (0, 1)


def test_a_download_that_is_not_the_file_is_a_read_error_that_says_how_much_came(down: Stage) -> None:
    down.memory.corrupt.add("00001")
    assert down.mover.move(1, down.item) is not None
    assert down.lines[0]["outcome"] == "read_error"
    assert "999 of 1000 bytes" in down.lines[0]["error"]


def test_a_download_that_does_not_end_with_the_file_is_a_read_error(down: Stage) -> None:
    down.memory.containers["box"][down.item.name] += b"x"
    error = down.mover.move(1, down.item)
    assert error is not None
    line = down.lines[-1]
    assert (line["outcome"], line["error_kind"], line["digest_ok"]) == ("read_error", "digest", False)
    assert line["error"] == "what came back is not what was sent (more than its 1000 bytes)"


@pytest.mark.parametrize(("kind", "outcome"), [(ErrorKind.SERVICE, "failed"), (ErrorKind.DIGEST, "write_error")])
def test_what_the_service_refused_is_reported_as_it_meant_it(up: Stage, kind: ErrorKind, outcome: str) -> None:
    up.memory.faults["upload"] = ServiceError(kind, "no")
    error = up.mover.move(1, up.item)
    assert error is not None
    assert str(error) == "p/0001/00001: no"
    line = up.lines[0]
    assert (line["outcome"], line["error_kind"], line["error"], line["reference"]) == (outcome, kind, "no", None)
    assert set(line) == KEYS


def test_an_interruption_is_logged_and_goes_on(down: Stage) -> None:
    down.memory.faults["download"] = KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        down.mover.move(1, down.item)
    assert (down.lines[0]["outcome"], down.lines[0]["error"]) == ("failed", "interrupted")


def test_a_reference_that_the_service_chose_is_kept(up: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    from vmtrace.providers.service import Stored

    monkeypatch.setattr(up.service, "upload", lambda *_: Stored("archive-9", None, None))
    assert up.mover.move(1, up.item) is None
    assert (up.item.reference, up.references) == ("archive-9", [("p/0001/00001", "archive-9")])
    assert up.lines[0]["digest_ok"] is None


def test_a_body_that_the_sdk_asked_for_from_where_it_broke_off_is_a_retry(
    down: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resumed(_: str, sink: Any) -> int:
        sink.write(down.file.path.read_bytes())
        return 2

    monkeypatch.setattr(down.service, "download", resumed)
    assert down.mover.move(1, down.item) is None
    assert (down.lines[0]["retries"], down.lines[0]["retry_causes"], down.tally.retries) == (2, {"body": 2}, 2)


class Slow:
    """A mover of large downloads, whose digests wait until the second one is under way."""

    def __init__(self, folder: Path, contents: list[bytes]) -> None:
        self.lines: list[dict[str, Any]] = []
        self.lines_before: list[int] = []
        self.tally = Tally()
        self._may_digest = threading.Event()
        digest_sink._thread().submit(self._may_digest.wait, 30.0)  # what makes it slow
        workload = Workload("large", len(contents), LARGE_BYTES)
        files = craft(folder, workload, None)
        self.items = [Item(f"p/0001/{number}", file, f"p/0001/{number}") for number, file in enumerate(files, 1)]
        self.contents = [content or file.path.read_bytes() for content, file in zip(contents, files, strict=True)]
        service = FakeService(Memory({"box": {}}), "box")
        service.download = self._download  # type: ignore[method-assign]
        job = Job(1, workload, 1, DOWNLOAD, self.items)
        self.mover = Mover(
            service,
            meant,
            HttpObserver(),
            Interruption(),
            Listener(),
            self.lines.append,
            lambda *_: None,
            job,
            self.tally,
        )

    def _download(self, reference: str, sink: Sink) -> int:
        number = int(reference[-1])
        self.lines_before.append(len(self.lines))
        if number > 1:
            self._may_digest.set()
        if self.contents[number - 1] == BROKEN:
            raise ServiceError(ErrorKind.ENDPOINT_GONE, "reset")
        sink.write(self.contents[number - 1])
        return 0


LARGE_BYTES = 2_000_000
GOOD, WRONG, BROKEN = b"", b"w" * LARGE_BYTES, b"broken"


def test_the_digest_of_a_large_download_is_worked_out_beside_the_next_and_its_line_has_its_own_times(
    tmp_path: Path,
) -> None:
    slow = Slow(tmp_path / "files", [WRONG, GOOD, GOOD])
    first, second, third = (slow.mover.move(number, item) for number, item in enumerate(slow.items, 1))
    assert slow.lines_before[:2] == [0, 0]
    assert first is None
    slow.mover.settle()
    shown = [str(error) for error in (second, third) if error is not None]
    assert shown == ["p/0001/1: what came back is not what was sent (2000000 of 2000000 bytes)"]
    assert [(line["object"], line["outcome"]) for line in slow.lines] == [(1, "read_error"), (2, "done"), (3, "done")]
    assert [line["digest"] for line in slow.lines] == [hashlib.sha256(content).hexdigest() for content in slow.contents]
    assert slow.lines[0]["end_ns"] <= slow.lines[1]["start_ns"]
    assert (slow.tally.done, slow.tally.failed) == (2, 1)


def test_the_last_download_is_checked_too(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "files", [GOOD, WRONG])
    for number, item in enumerate(slow.items, 1):
        slow.mover.move(number, item)
    slow.mover.settle()
    assert [line["outcome"] for line in slow.lines] == ["done", "read_error"]
    assert slow.tally.last_error is not None
    assert slow.tally.last_error.kind == ErrorKind.DIGEST
    assert slow.mover.settle() is None


def test_what_waited_for_its_check_is_logged_before_the_next_one_that_failed(tmp_path: Path) -> None:
    slow = Slow(tmp_path / "files", [GOOD, BROKEN])
    assert slow.mover.move(1, slow.items[0]) is None
    error = slow.mover.move(2, slow.items[1])
    assert error is not None
    assert error.kind == ErrorKind.ENDPOINT_GONE
    assert [(line["object"], line["outcome"]) for line in slow.lines] == [(1, "done"), (2, "failed")]
