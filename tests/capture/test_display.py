"""What a person reads: numbers with their units, and no silence about a drop."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import replace
from io import StringIO

import pytest

from tests import golden_texts
from tests.capture.test_health import HEALTH
from vmtrace.capture import display
from vmtrace.capture.display import LiveLine, health_text, live_text, readable_bytes
from vmtrace.capture.offload import Offload
from vmtrace.capture.writer import Progress


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2_000_000, "2.0 MB"), (5 * 10**12, "5,000.0 GB")]
)
def test_bytes_have_a_decimal_prefix(count: int, text: str) -> None:
    assert readable_bytes(count) == text


def test_the_live_line_has_packets_bytes_rate_and_drops() -> None:
    assert live_text(Progress(12345, 1_200_000, 12350, 5, 1), 3.2, 4000) == (
        "3 s: 12,345 packets, 1.2 MB, 4,000 packets/s, 5 dropped"
    )
    assert "file 4" in live_text(Progress(0, 0, 0, 0, 4), 3.2, 0)


def test_without_a_terminal_there_is_no_live_line(capsys: pytest.CaptureFixture[str]) -> None:
    line = LiveLine(wanted=True)
    line.show(Progress(1, 1, 1, 1, 1))
    line.clear()
    assert capsys.readouterr().err == ""


class _ClosedTerminal(StringIO):
    def isatty(self) -> bool:
        return True

    def write(self, _text: str) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_a_terminal_that_was_closed_does_not_keep_the_recording_from_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", _ClosedTerminal())
    monkeypatch.setattr(display, "_EVERY_S", 0.0)
    line = LiveLine(wanted=True)
    line.show(Progress(1, 1, 1, 1, 1))
    line.clear()


def test_a_drop_is_reported_in_capitals() -> None:
    text = health_text(HEALTH, 1)
    golden_texts.check("a-drop-is-reported-in-capitals", text)
    whole = replace(HEALTH, dropped_by_kernel=0, dropped_by_interface=0, offload=Offload())
    assert "NOT COMPLETE" not in health_text(whole, 1)


def test_what_is_not_known_is_left_out_and_warnings_are_reported() -> None:
    text = health_text(replace(HEALTH, captured_bytes=None, wire_bytes=None, warnings=("cut",)), 3)
    assert "in 3 files: 8 packets from eth0" in text
    assert text.endswith("warning: cut")
