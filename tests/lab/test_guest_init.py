"""What the guest's first program tells the host."""

from __future__ import annotations

import os
import time

from lab.guest.init import Reports, report_line


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
