"""Counters go on past 32 bits, and a file that cannot be had ends the recording with the last one whole."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from tests.capture.traffic import NumberedDatagrams, numbers, read_pcap
from vmtrace.capture.health import health_path
from vmtrace.capture.libpcap import Stats
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.rotation import Rotation
from vmtrace.capture.settings import CaptureSettings
from vmtrace.capture.writer import Counters


def test_counters_begin_where_the_recording_begins_and_pass_32_bits() -> None:
    counters = Counters(Stats(2**32 - 10, 5, 0))
    counters.update(Stats(2**32 - 1, 5, 0))
    assert counters.total == Stats(9, 0, 0)
    counters.update(Stats(20, 7, 1))
    assert counters.total == Stats(30, 2, 1)


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_capture")
def test_a_following_file_that_cannot_be_had_ends_the_recording(tmp_path: Path) -> None:
    (tmp_path / "trace-0003.pcap").mkdir()
    with NumberedDatagrams() as traffic:
        settings = CaptureSettings("lo", filter=f"udp port {traffic.port}", buffer_bytes=4 << 20)
        with Recorder(settings, tmp_path / "trace.pcap", Rotation(seconds=0.05)) as recorder:
            for _ in range(100):
                traffic.send(5)
                if recorder.wait(0.01):
                    break
        healths = recorder.healths()
    assert recorder.stop().error == f"{tmp_path}/trace-0003.pcap: cannot be written: Is a directory"
    assert [one.error for one in healths] == [None, recorder.stop().error]
    seen = [number for name in ("1", "2") for number in numbers(read_pcap(tmp_path / f"trace-000{name}.pcap"))]
    assert seen == list(range(len(seen)))
    assert json.loads(health_path(tmp_path / "trace-0002.pcap").read_text())["error"]


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.usefixtures("may_capture")
def test_progress_is_for_everybody_to_look_at(tmp_path: Path) -> None:
    with NumberedDatagrams() as traffic:
        settings = CaptureSettings("lo", filter=f"udp port {traffic.port}", buffer_bytes=4 << 20)
        with Recorder(settings, tmp_path / "trace.pcap") as recorder:
            traffic.send(30)
            waited = threading.Event()
            for _ in range(100):
                if recorder.progress().written == 30:
                    break
                waited.wait(0.02)
            progress = recorder.progress()
    assert (progress.written, progress.received, progress.dropped, progress.files) == (30, 30, 0, 1)
    assert progress.size_bytes == 24 + 30 * (16 + 58)
