"""Files that are asked for ahead arrive whole and in order, whatever is asked in between."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from vmtrace.receiver.log import Log
from vmtrace.receiver.server import Server
from vmtrace.receiver.settings import ReceiverSettings
from vmtrace.sender.wire.control import Control
from vmtrace.sender.wire.endpoint import Endpoint
from vmtrace.sender.wire.errors import ReceiverRefused
from vmtrace.sender.wire.names import RECEIVER, path_of
from vmtrace.sender.wire.records import RemoteFile, RunRequest

KEY = b"k" * 32


@pytest.fixture
def control(tmp_path: Path) -> Iterator[Control]:
    settings = ReceiverSettings(tmp_path, bind="127.0.0.1", port=0, capture=False, host_counters=False)
    server = Server(settings, KEY, Log(quiet=True), "test")
    thread = threading.Thread(target=server.serve)
    thread.start()
    connection = Control.connect(Endpoint("127.0.0.1", server.port), KEY)
    try:
        run = connection.open_run(RunRequest(capture=False))
        for sequence in range(1, 6):
            path = tmp_path / run.run_id / path_of("tcpinfo", sequence, "data", RECEIVER)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(bytes([sequence]) * sequence * 100_000)
        yield connection
    finally:
        connection.close()
        server.stop()
        thread.join(20)


def content(control: Control, file: RemoteFile, coming: list[RemoteFile]) -> bytes:
    pieces: list[bytes] = []
    control.fetch(file, pieces.append, coming)
    return b"".join(pieces)


def test_all_files_in_turn_with_those_that_follow_asked_for(control: Control) -> None:
    files = [file for file in control.files() if file.kind == "tcpinfo"]
    got = [content(control, file, files[place + 1 : place + 3]) for place, file in enumerate(files)]
    assert [(len(one), one[:1]) for one in got] == [(n * 100_000, bytes([n])) for n in range(1, 6)]


def test_another_question_forgets_what_was_asked_ahead(control: Control) -> None:
    files = [file for file in control.files() if file.kind == "tcpinfo"]
    assert content(control, files[0], files[1:]) == b"\1" * 100_000
    control.keep_alive()
    assert content(control, files[4], []) == b"\5" * 500_000


def test_another_file_than_the_one_announced_to_come(control: Control) -> None:
    files = [file for file in control.files() if file.kind == "tcpinfo"]
    content(control, files[0], files[1:3])
    assert content(control, files[2], files[3:]) == b"\3" * 300_000


def test_a_file_that_changed_is_refused_and_the_next_ones_still_come(control: Control, tmp_path: Path) -> None:
    files = [file for file in control.files() if file.kind == "tcpinfo"]
    (changed,) = tmp_path.glob("*/" + str(path_of("tcpinfo", 1, "data", RECEIVER)))
    changed.write_bytes(b"x" * 50_000)
    with pytest.raises(ReceiverRefused, match="changed"):
        content(control, files[0], files[1:])
    assert content(control, files[1], files[2:]) == b"\2" * 200_000
