"""The health of a capture: its record has the documented keys, and room on a full disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from vmtrace.capture import health as module
from vmtrace.capture.health import CaptureHealth, health_path, reserve, sum_of, write_health
from vmtrace.capture.offload import Offload

DOCUMENT = Path(__file__).parents[2] / "docs/run-folder.md"
HEALTH = CaptureHealth(
    file="trace-0001.pcap",
    interface="eth0",
    filter="tcp",
    direction="both",
    snaplen=None,
    buffer_bytes=1 << 25,
    link_type="EN10MB",
    time_source="host",
    time_resolution_s=1e-9,
    received=10,
    dropped_by_kernel=2,
    dropped_by_interface=1,
    written=8,
    captured_bytes=800,
    wire_bytes=8000,
    first_packet_ns=1,
    last_packet_ns=2,
    start_ns=0,
    end_ns=3,
    offload=Offload(tso=True),
)


def test_the_record_has_the_keys_of_the_run_folder() -> None:
    section = DOCUMENT.read_text().split("## `*.capture.json`")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    assert HEALTH.as_record().keys() == {key for row in rows for key in re.findall(r"`(\w+)`", row)}


def test_kernel_and_interface_drops_are_both_drops() -> None:
    assert HEALTH.dropped == 3


def test_the_health_stands_beside_the_capture() -> None:
    assert health_path(Path("a/0001-data.pcap")) == Path("a/0001-data.capture.json")


def test_what_was_reserved_says_that_the_recording_was_not_ended(tmp_path: Path) -> None:
    path = tmp_path / "trace.capture.json"
    path.write_text("older")
    reserve(path, replace(HEALTH, error="killed", end_ns=None))
    assert path.stat().st_size == module.RESERVED_BYTES
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["error"] == "killed"


def test_without_room_for_a_new_file_the_reserved_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.capture.json"
    reserve(path, replace(HEALTH, error="killed"))

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_aside", full)
    write_health(path, HEALTH)
    assert json.loads(path.read_text()) == json.loads(json.dumps(HEALTH.as_record()))
    assert path.stat().st_size == module.RESERVED_BYTES


def test_a_rotated_recording_is_the_sum_of_its_files() -> None:
    second = replace(HEALTH, file="trace-0002.pcap", first_packet_ns=5, last_packet_ns=6, end_ns=7, error="disk full")
    empty = replace(HEALTH, received=0, dropped_by_kernel=0, dropped_by_interface=0, written=0, captured_bytes=0)
    empty = replace(empty, wire_bytes=0, first_packet_ns=None, last_packet_ns=None)
    whole = sum_of([empty, HEALTH, second], "trace.pcap")
    assert (whole.file, whole.received, whole.written, whole.dropped) == ("trace.pcap", 20, 16, 6)
    assert (whole.captured_bytes, whole.wire_bytes) == (1600, 16000)
    assert (whole.first_packet_ns, whole.last_packet_ns, whole.start_ns, whole.end_ns) == (1, 6, 0, 7)
    assert whole.error == "disk full"


def test_a_sum_with_something_unknown_is_unknown() -> None:
    assert sum_of([HEALTH, replace(HEALTH, wire_bytes=None)], "trace.pcap").wire_bytes is None
    assert sum_of([HEALTH], "other") is HEALTH
