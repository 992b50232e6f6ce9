"""The receiver's half comes verified, and nothing it says becomes a path."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sender.fakes import FakeControl, FakeFarSide, FastInterruption
from vmtrace.sender.receiver_half import COMPLETE, MISSING, PARTIAL, ReceiverHalf, fetch_half, missing_half
from vmtrace.sender.wire.errors import ReceiverGone, ReceiverRefused
from vmtrace.sender.wire.records import RemoteFile


def described(number: int, kind: str, sequence: int, part: str, content: bytes) -> RemoteFile:
    return RemoteFile(number, kind, sequence, part, len(content), hashlib.sha256(content).hexdigest())


def receiver() -> FakeFarSide:
    far_side = FakeFarSide()
    far_side.contents = {0: b"packets", 1: b"{}", 2: b"counters", 3: b"log\n"}
    words = [("packets", 1, "probe"), ("capture", 1, "probe"), ("host", 2, ""), ("transfers", 0, "")]
    far_side.files = [described(number, *word, far_side.contents[number]) for number, word in enumerate(words)]
    return far_side


def fetch(far_side: FakeFarSide, folder: Path) -> ReceiverHalf:
    return fetch_half(FakeControl(far_side), folder, FastInterruption(), lambda _done, _files: None)


def test_files_lie_where_the_run_folder_says_with_their_owners_rights_only(tmp_path: Path) -> None:
    assert fetch(receiver(), tmp_path) == ReceiverHalf(COMPLETE, 4, 21)
    found = {str(path.relative_to(tmp_path)): path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == {
        "packets/receiver/0001-probe.pcap": b"packets",
        "packets/receiver/0001-probe.capture.json": b"{}",
        "host/receiver-2.csv": b"counters",
        "receiver.jsonl": b"log\n",
    }
    assert {stat.S_IMODE(path.stat().st_mode) for path in found.values()} == {0o600}


def test_what_is_here_and_whole_is_not_fetched_again(tmp_path: Path) -> None:
    far_side = receiver()
    fetch(far_side, tmp_path)
    (tmp_path / "packets/receiver/0001-probe.pcap").write_bytes(b"PACKETS")
    far_side.fetched.clear()
    assert fetch(far_side, tmp_path).status == COMPLETE
    assert [file.kind for file in far_side.fetched] == ["packets"]


def test_a_connection_that_breaks_leaves_what_came_and_no_part_of_a_file(tmp_path: Path) -> None:
    class Breaking(FakeFarSide):
        def send_file(self, file: RemoteFile, write: Callable[[bytes], object]) -> None:
            write(self.contents[file.number][:2])
            if file.number == 1:
                raise ReceiverGone("there: connection lost")
            write(self.contents[file.number][2:])

    breaking = Breaking()
    breaking.contents, breaking.files = receiver().contents, receiver().files
    assert fetch(breaking, tmp_path) == ReceiverHalf(PARTIAL, 1, 7, "there: connection lost")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["0001-probe.pcap"]
    assert fetch(receiver(), tmp_path).status == COMPLETE


def test_a_file_that_changed_meanwhile_is_fetched_as_it_is_now(tmp_path: Path) -> None:
    class Growing(FakeFarSide):
        def send_file(self, file: RemoteFile, write: Callable[[bytes], object]) -> None:
            write(self.contents[file.number])
            if file.number == 3 and file.bytes == 4:
                self.contents[3] = b"log\nmore\n"
                self.files[3] = described(3, "transfers", 0, "", self.contents[3])
                raise ReceiverRefused("there: a file changed")

    growing = Growing()
    growing.contents, growing.files = receiver().contents, receiver().files
    assert fetch(growing, tmp_path).status == COMPLETE
    assert (tmp_path / "receiver.jsonl").read_bytes() == b"log\nmore\n"


@pytest.mark.parametrize(
    ("kind", "sequence", "part"),
    [("../../etc/passwd", 1, "probe"), ("packets", 1, "../x"), ("packets", 0, "probe"), ("packets", -1, "data")],
)
def test_words_that_are_no_file_of_a_run_are_refused(tmp_path: Path, kind: str, sequence: int, part: str) -> None:
    far_side = FakeFarSide()
    far_side.contents, far_side.files = {0: b"x"}, [described(0, kind, sequence, part, b"x")]
    half = fetch(far_side, tmp_path)
    assert (half.status, half.files) == (MISSING, 0)
    assert half.error
    assert list(tmp_path.iterdir()) == []


def test_files_that_do_not_fit_are_not_begun(tmp_path: Path) -> None:
    far_side = FakeFarSide()
    far_side.files = [RemoteFile(0, "packets", 1, "probe", 1 << 60, "0" * 64)]
    half = fetch(far_side, tmp_path)
    assert half.status == MISSING
    assert "make room" in (half.error or "")
    assert far_side.fetched == []


def test_a_disk_that_is_full_is_our_own_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        fetch(receiver(), tmp_path)


def test_nothing_is_a_half_too() -> None:
    assert missing_half("not fetched yet").as_record() == {
        "status": "missing",
        "files": 0,
        "bytes": 0,
        "error": "not fetched yet",
    }
