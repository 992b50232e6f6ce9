"""A file is readable by its owner alone, has whole records only, and is counted without a look at each packet."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path

import pytest

from tests.capture.traffic import read_pcap
from vmtrace.capture import capture_file
from vmtrace.capture.capture_file import CaptureFile
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.libpcap import Live

pytestmark = [pytest.mark.root, pytest.mark.untimed, pytest.mark.usefixtures("may_capture")]


@pytest.fixture
def live() -> Live:
    handle = Live("lo")
    handle.set(262_144, 1 << 20, 20, promiscuous=False, nanoseconds=True)
    handle.activate()
    return handle


def packets(count: int, first: int = 0) -> bytes:
    return b"".join(struct.pack("=IIII", 7 + first + n, 5, 10, 1000) + bytes(10) for n in range(count))


def append(file: CaptureFile, data: bytes) -> None:
    """As if libpcap had written it."""
    with file.path.open("ab") as other:
        other.write(data)


def test_the_contents_are_those_of_the_records(tmp_path: Path, live: Live) -> None:
    file = CaptureFile(live, tmp_path / "trace.pcap")
    append(file, packets(3))
    file.wrote(3)
    contents = file.finish()
    assert (contents.written, contents.captured_bytes, contents.wire_bytes) == (3, 30, 3000)
    assert (contents.first_packet_ns, contents.last_packet_ns) == (7 * 10**9 + 5, 9 * 10**9 + 5)
    assert read_pcap(file.path).nanoseconds
    live.close()


def test_a_file_without_packets_has_no_times(tmp_path: Path, live: Live) -> None:
    contents = CaptureFile(live, tmp_path / "trace.pcap").finish()
    assert (contents.written, contents.captured_bytes, contents.wire_bytes) == (0, 0, 0)
    assert (contents.first_packet_ns, contents.last_packet_ns) == (None, None)
    assert (tmp_path / "trace.pcap").stat().st_size == 24
    live.close()


@pytest.mark.parametrize("torn_bytes", [1, 15, 16, 25])
def test_a_torn_record_is_cut_off(tmp_path: Path, live: Live, torn_bytes: int) -> None:
    file = CaptureFile(live, tmp_path / "trace.pcap")
    append(file, packets(3)[: 2 * 26 + torn_bytes])
    file.wrote(3)
    assert file.finish().written == 2
    assert file.path.stat().st_size == 24 + 2 * 26
    live.close()


def test_of_a_long_file_only_the_end_is_walked(tmp_path: Path, live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_file, "_MOST_WALKED", 4)
    file = CaptureFile(live, tmp_path / "trace.pcap")
    for batch in range(3):
        append(file, packets(3, first=3 * batch))
        file.wrote(3)
    contents = file.finish()
    assert (contents.written, contents.captured_bytes, contents.wire_bytes) == (9, 90, None)
    assert (contents.first_packet_ns, contents.last_packet_ns) == (7 * 10**9 + 5, 15 * 10**9 + 5)
    live.close()


def test_an_older_file_is_overwritten_and_made_private(tmp_path: Path, live: Live) -> None:
    path = tmp_path / "trace.pcap"
    path.write_text("older" * 100)
    path.chmod(0o666)
    CaptureFile(live, path).finish()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size == 24
    live.close()


def test_a_device_keeps_its_rights_and_gives_only_a_count(live: Live) -> None:
    mode = Path("/dev/null").stat().st_mode
    file = CaptureFile(live, Path("/dev/null"))
    assert not file.regular
    file.wrote(3)
    assert file.finish().written == 3
    assert Path("/dev/null").stat().st_mode == mode
    live.close()


def test_a_pipe_that_nobody_reads_is_reported(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(capture_file, "_opened", lambda _: writer)
    file = CaptureFile(live, Path("-"))
    os.close(reader)
    assert file._why_writing_fails() == errno.EPIPE
    file.close()
    live.close()


def test_what_cannot_be_written_is_reported(live: Live, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match=f"{tmp_path}: cannot be written: Is a directory"):
        CaptureFile(live, tmp_path)
    with pytest.raises(CaptureError, match="/dev/full: cannot be written: No space left"):
        CaptureFile(live, Path("/dev/full"))
    live.close()
