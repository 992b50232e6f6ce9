import socket
from pathlib import Path

import pytest

from vmtrace.receiver.file_desk import FileDesk
from vmtrace.receiver.refusal import Refusal
from vmtrace.receiver.storage import Storage
from vmtrace.sender.wire.channel import Channel


@pytest.fixture
def desk(tmp_path: Path) -> FileDesk:
    run = Storage(tmp_path).new_run()
    for sequence in range(1, 4):
        run.path("packets", sequence, "data").write_bytes(b"x" * 1000 * sequence)
    return FileDesk(run)


def sent(desk: FileDesk, number: int, count: int) -> bytes:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channels = Channel(ours, "it"), Channel(theirs, "it")
        desk.send(number, count, channels[0])
        content = b""
        while len(content) < count:
            content += channels[1].receive_bytes(5)
        ours.shutdown(socket.SHUT_WR)
        assert theirs.recv(1) == b"", "more than was announced: the next answer would be taken for it"
        return content


def test_files_are_listed_described_and_sent(desk: FileDesk) -> None:
    assert desk.list().count == 3
    files = desk.describe(0).files
    assert [file.bytes for file in files] == [1000, 2000, 3000]
    assert desk.describe(2).files == files[2:]
    desk.check(1, 2000)
    desk.check(1, 0)
    assert sent(desk, 1, 2000) == b"x" * 2000
    assert sent(desk, 1, 5) == b"x" * 5
    assert sent(desk, 1, 0) == b""


def test_a_file_that_shrank_is_filled_up_so_that_its_digest_tells(desk: FileDesk) -> None:
    desk.list()
    for missing in (1, 500):
        assert sent(desk, 0, 1000 + missing) == b"x" * 1000 + bytes(missing)


def test_what_fills_whole_pieces_is_followed_by_nothing(desk: FileDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vmtrace.receiver.storage._PIECE_BYTES", 500)
    desk.list()
    assert sent(desk, 1, 1500) == b"x" * 1500


@pytest.mark.parametrize(("number", "count"), [(-1, 1), (3, 1), (2**60, 1), (0, 1001), (0, -1), (1, 1)])
def test_what_was_not_described_is_not_sent(number: int, count: int, desk: FileDesk) -> None:
    desk.list()
    desk._run.describe(0, desk._names[0])
    if number == 0:
        desk.describe(0)
        desk._bytes.pop(1)
    with pytest.raises(Refusal, match="list the files first|describe it first"):  # noqa: RUF043
        desk.check(number, count)


def test_a_file_that_went_away_is_refused(desk: FileDesk) -> None:
    desk.list()
    desk.describe(0)
    (desk._run.folder / desk._names[0]).unlink()
    with pytest.raises(Refusal, match="no file 0"):
        desk.check(0, 10)
