"""What a capture may be given as, and what becomes of each."""

import io
import os
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from vmtrace.analyze.read import sources
from vmtrace.analyze.read.sources import Spool, can_be_read_again, opened


@pytest.fixture
def spool() -> Spool:
    return Spool(None)


def test_a_file_is_read_where_it_lies(spool: Spool, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").touch()
    for given in (tmp_path / "x.pcap", str(tmp_path / "x.pcap")):
        one = opened(given, spool, keep=True)
        assert (one.name, one.data, one.file) == (str(tmp_path / "x.pcap"),) * 3
        assert not one.once


@pytest.mark.parametrize("given", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_bytes_of_any_kind_are_a_capture(spool: Spool, given: Any) -> None:
    one = opened(given, spool, keep=False)
    assert (one.name, one.data, one.file, one.once) == ("<bytes>", b"abc", None, False)


@pytest.mark.parametrize("given", [None, 1, ["x.pcap"], {}])
def test_what_is_no_source_says_what_one_is(spool: Spool, given: Any) -> None:
    with pytest.raises(TypeError, match="a path, bytes or a file opened in binary mode"):
        opened(given, spool, keep=False)


def test_a_stream_is_copied_and_its_copy_lives_as_long_as_the_spool() -> None:
    spool = Spool(None)
    one = opened(io.BytesIO(b"abc"), spool, keep=False)
    assert one.name == "<stream>"
    copy = Path(str(one.data))
    assert copy.read_bytes() == b"abc"
    assert copy.stat().st_mode & 0o777 == 0o600
    del spool
    assert not copy.exists()


def test_where_open_files_have_no_names_the_copy_is_removed_with_the_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_OPEN_FILES", Path("/nowhere"))
    spool = Spool(None)
    copy = Path(spool.copy(io.BytesIO(b"abc")))
    assert (copy.name[:8], copy.read_bytes(), copy.stat().st_mode & 0o777) == ("vmtrace-", b"abc", 0o600)
    del spool
    assert not copy.exists()


def test_a_copy_without_room_is_reported_with_its_folder(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: full)
        with pytest.raises(OSError, match=r"No space left on device, where .* is copied to \(TMPDIR") as caught:
            spool.copy(io.BytesIO(b"abc"))
    assert caught.value.filename == tempfile.gettempdir()


def test_text_is_no_capture(spool: Spool) -> None:
    stream: Any = io.StringIO("abc")
    with pytest.raises(TypeError, match="binary mode"):
        opened(stream, spool, keep=False)


def test_the_copying_tells_how_far_it_is() -> None:
    shown: list[int] = []
    Spool(shown.append).copy(io.BytesIO(bytes(3 << 20)))
    assert shown == sorted(shown)
    assert shown[-1] == 3 << 20


def test_ctrl_c_ends_the_copying_and_what_came_is_kept(spool: Spool) -> None:
    pieces = [b"abc", b"def"]

    def read(_size: int) -> bytes:
        if not pieces:
            raise KeyboardInterrupt
        return pieces.pop(0)

    stream: Any = SimpleNamespace(read=read)
    assert Path(spool.copy(stream)).read_bytes() == b"abcdef"
    assert spool.interrupted
    assert Path(spool.copy(io.BytesIO(b"more"))).read_bytes() == b"", "nothing is waited for any more"


def test_a_pipe_is_copied_only_where_it_is_to_be_read_again(spool: Spool, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    once = opened(pipe, spool, keep=False)
    assert (once.data, once.file, once.once) == (str(pipe), None, True)
    feeder = threading.Thread(target=pipe.write_bytes, args=[b"abc"])
    feeder.start()
    again = opened(pipe, spool, keep=True)
    feeder.join()
    assert (again.name, again.file, again.once) == (str(pipe), None, False)
    assert Path(str(again.data)).read_bytes() == b"abc"


def test_a_name_that_is_no_text_is_shown_as_far_as_it_is(spool: Spool) -> None:
    one = opened(os.fsdecode(b"caf\xe9.pcap"), spool, keep=False)
    assert one.name == "caf\N{REPLACEMENT CHARACTER}.pcap"
    assert os.fsencode(str(one.file)) == b"caf\xe9.pcap"


@pytest.mark.parametrize(("path", "again"), [("-", False), ("/dev/null", False), ("gone.pcap", True), ("/", True)])
def test_only_files_can_be_read_again(path: str, again: bool) -> None:
    assert can_be_read_again(path) is again
