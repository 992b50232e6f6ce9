"""The display without rich: lines in a log, one line that is rewritten on a terminal."""

from __future__ import annotations

import dataclasses
import io
import itertools

from tests import golden_texts
from tests.sender.shown import tell
from vmtrace.sender.display.plain import PlainDisplay
from vmtrace.sender.display.view import RunView
from vmtrace.sender.live import Moving
from vmtrace.sender.plan import Plan

LOG = """\
plan small: 3 pairs, to there:5810 (host), into run1
expected duration: at least 1 s at 10 Mbit/s, 1 s at 100 Mbit/s, 1 s at 1 Gbit/s; better known after the first pair
packets are recorded: here on eth0
1 of 3 pairs: I_0 pair 1: probe 1 KiB at 2 Mbit/s, data 1 KiB at 2 Mbit/s
pair 2, attempt 1: there: connection lost [x]; trying again in 2 s
2 of 3 pairs: I_0 pair 2: failed after 5 attempts: digests differ
the receiver records no packets: no right
the receiver's files are partial: there: connection lost
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_log_has_a_line_for_each_event_and_the_summary_is_the_answer(plan: Plan) -> None:
    live, answers = io.StringIO(), io.StringIO()
    tell(PlainDisplay(live, answers), plan)
    assert live.getvalue() == LOG
    assert answers.getvalue() == "complete: [2] pairs\n"


def test_a_terminal_has_one_line_that_is_rewritten_and_wiped(plan: Plan) -> None:
    live, answers = Terminal(), io.StringIO()
    tell(PlainDisplay(live, answers, itertools.count(0.0, 2.0).__next__), plan)
    shown = [part.strip() for part in live.getvalue().replace("\n", "\r").split("\r")]
    moving = [line for line in shown if "%" in line]
    assert moving[0].startswith("0 of 3 pairs, I_0 pair 1 probe 50 %, 1 Mbit/s, loss 1.30 %, RTT 213 ms")
    # A twenty-fifth of a pair tells nothing of the time that is left, the half of one does.
    assert moving[0].endswith("213 ms")
    assert moving[1].startswith("0 of 3 pairs, I_0 pair 1 data 50 %, 2 Mbit/s,")
    assert moving[1].endswith("left")
    golden_texts.check("a-terminal-has-one-line-that-is-rewritten-and-wiped", "\n".join(shown))
    assert shown[-1] == ""


def test_it_is_rewritten_each_second_at_most(plan: Plan) -> None:
    live = Terminal()
    tell(PlainDisplay(live, io.StringIO(), lambda: 0.0), plan)
    assert "%" not in live.getvalue()


def test_a_terminal_that_went_away_ends_nothing(plan: Plan) -> None:
    live, answers = io.StringIO(), io.StringIO()
    live.close()
    display = PlainDisplay.__new__(PlainDisplay)
    display._live, display._answers, display._line = live, answers, None
    display.noticed("x")


def test_a_transfer_by_time_has_a_line_for_each_second(plan: Plan) -> None:
    filled = dataclasses.replace(plan, repeat=None, duration_s=3.0, fill=True)
    live, now_s = io.StringIO(), [0.0]
    display = PlainDisplay(live, io.StringIO(), lambda: now_s[0])
    display.started(RunView("run1", "a" * 32, filled, 0, 0.0, "there", "no packets"))
    step = plan.step(1)
    assert step is not None
    for part, moved_bytes in (("probe", 1000), ("data", 250_000)):
        display.transfer_begins(step, part, step.entry.data)
        for tenth in range(1, 21):
            now_s[0] += 0.125
            display.moving(Moving(moved_bytes * tenth, None, None, 0.05))
    assert live.getvalue().splitlines()[3:] == ["second 1: 16 Mbit/s, RTT 50 ms", "second 2: 16 Mbit/s, RTT 50 ms"]
