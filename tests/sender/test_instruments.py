"""The real instruments on loopback."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.rights import missing_rights
from vmtrace.capture.settings import CaptureSettings
from vmtrace.sender.instruments import RealInstruments, larger_buffer_bytes


@pytest.mark.root
@pytest.mark.untimed
def test_a_capture_records_what_passes(tmp_path: Path) -> None:
    if missing_rights() is not None:
        pytest.skip(str(missing_rights()))
    settings = CaptureSettings("lo", buffer_bytes=4 << 20)
    RealInstruments().check(settings)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        capture = RealInstruments().start_capture(CaptureSettings("lo", f"tcp port {port}"), tmp_path / "x.pcap")
        socket.create_connection(("127.0.0.1", port)).close()
        health = capture.stop()
    assert health.written >= 3
    assert health.error is None


def test_an_interface_that_is_not_there_is_reported(tmp_path: Path) -> None:
    settings = CaptureSettings("nosuch0")
    with pytest.raises(CaptureError):
        RealInstruments().check(settings)
    with pytest.raises(CaptureError):
        RealInstruments().start_capture(settings, tmp_path / "x.pcap")


def test_a_sampler_knows_its_connections_last_state(tmp_path: Path) -> None:
    sampler = RealInstruments().start_sampler(tmp_path / "x.csv", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as sock:
        sampler.watch(0, "upload", sock)
        sock.sendall(b"x" * 100)
        sampler.unwatch(0, "upload")
    (last,) = sampler.finish()
    assert (last.direction, last.bytes_sent) == ("upload", 100)


def test_a_buffer_grows_twofold_from_what_was_used_or_from_the_size_for_the_link() -> None:
    settings = CaptureSettings("lo", buffer_bytes=4 << 20)
    assert larger_buffer_bytes(settings, 8 << 20) == 16 << 20
    assert larger_buffer_bytes(settings, 0) == 8 << 20
