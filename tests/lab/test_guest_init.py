"""What the guest's first program tells the host."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from vmtrace.lab.guest.init import Reports, report_line, wait_until_closed


def test_a_report_carries_word_clock_and_text() -> None:
    source, sink = os.pipe()
    before_ns = time.time_ns()
    Reports(sink).say("ended", "-2")
    Reports(sink).say("failed", "ip link: no such device")
    os.close(sink)
    with os.fdopen(source) as lines:
        first, second = (report_line(line) for line in lines)
    assert first[0::2] == ("ended", "-2")
    assert before_ns <= first[1] <= time.time_ns()
    assert second[0::2] == ("failed", "ip link: no such device")


def test_the_guest_stays_while_a_connection_is_open(tmp_path: Path) -> None:
    table = tmp_path / "tcp"
    waiting, closing = "head\n 0: 0:1 0:2 06 0\n", "head\n 0: 0:1 0:2 04 0\n"
    table.write_text(closing)
    began_s = time.monotonic()
    threading.Timer(0.2, table.write_text, (waiting,)).start()
    wait_until_closed(table, 5.0)
    assert 0.15 < time.monotonic() - began_s < 4.5
    table.write_text(closing)
    began_s = time.monotonic()
    wait_until_closed(table, 0.1)
    assert time.monotonic() - began_s >= 0.1
