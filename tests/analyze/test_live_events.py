"""What changes between snapshots: each connection, flow and lookup once, findings as they come, change and go.

Subjects: `analyze/reports/live/events.py`, `analyze/reports/live/window.py`, `analyze/reports/live/screen.py`,
`analyze/reports/live/stream.py`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from vmtrace.analyze.reports.live.events import Events
from vmtrace.analyze.reports.live.screen import line, screen
from vmtrace.analyze.reports.live.stream import LONGEST_S, Pace, Snapshot
from vmtrace.analyze.reports.live.window import Window
from vmtrace.analyze.trace import Trace, read

SAMPLES = Path(__file__).parents[2] / "samples"


def cut(name: str, part: float) -> Trace:
    """The beginning of a sample, up to the record that lies there."""
    content = (SAMPLES / name).read_bytes()
    end = 24
    while end < part * len(content):
        end += 16 + int.from_bytes(content[end + 8 : end + 12], "little")
    return read(content[:end])


def of(trace: Trace) -> Snapshot:
    return Snapshot(trace, frozenset(), 0, 0.0)


def test_each_connection_comes_once_when_it_is_over() -> None:
    now_s = [0.0]
    events, window, given = Events(600.0, clock=lambda: now_s[0]), Window(), list[int]()
    for part, at_s in ((0.1, 1.0), (0.8, 2.0), (0.999, 8.0), (1.0, 9.0), (1.0, 13.0), (1.0, 14.1), (1.0, 30.0)):
        snapshot, now_s[0] = of(cut("lossy-sender.pcap", part)), at_s
        window.take(snapshot)
        records = list(events.of(snapshot, window))
        assert [one["record"] for one in records].count("status") == 1
        given += [one["id"] for one in records if one["record"] == "connection"]
        assert (given == []) == (at_s < 14)
    assert given == [1]
    assert "connection" not in [one["record"] for one in events.rest(cut("lossy-sender.pcap", 1.0))]


def test_an_open_connection_comes_at_the_end_or_when_it_is_forgotten() -> None:
    events, window = Events(600.0), Window()
    trace = cut("lossy-sender.pcap", 0.5)
    window.take(of(trace))
    assert not any(one["record"] == "connection" for one in events.of(of(trace), window))
    leaving = Snapshot(trace, frozenset({1}), 0, 0.0)
    assert [one["id"] for one in events.of(leaving, window) if one["record"] == "connection"] == [1]
    assert not any(one["record"] == "connection" for one in events.rest(trace))


def test_findings_are_new_then_changed_and_at_last_gone() -> None:
    events, window, states = Events(600.0), Window(), list[str]()
    for trace in (cut("lossy-sender.pcap", 0.4), cut("lossy-sender.pcap", 1.0), cut("lossy-sender.pcap", 0.02)):
        window.take(of(trace))
        found = [one for one in events.of(of(trace), window) if one["record"] == "finding"]
        states += [one["state"] for one in found if one["kind"] == "congestion_window"]
    assert states[0] == "new"
    assert states[-1] == "gone"
    assert set(states[1:-1]) <= {"changed"}


def test_the_last_seconds_are_the_difference_of_two_snapshots() -> None:
    window, before, after = Window(), cut("lossy-sender.pcap", 0.3), cut("lossy-sender.pcap", 1.0)
    window.take(of(before))
    assert window.last() is None
    window.take(of(after))
    figures = window.last()
    assert figures is not None
    [early], [late] = before.json()["inputs"], after.json()["inputs"]
    span_s = (late["end_ns"] - early["end_ns"]) / 1e9
    assert figures.span_s == pytest.approx(span_s)
    assert figures.packets == late["packets"] - early["packets"]
    assert figures.rate_bps == pytest.approx(8 * (late["wire_bytes"] - early["wire_bytes"]) / span_s)
    assert sum(share for _, share in figures.causes) == pytest.approx(1.0)
    assert figures.retransmitted is not None
    assert 0 < figures.retransmitted < 0.1


def test_what_was_forgotten_takes_nothing_from_the_last_seconds() -> None:
    window, trace = Window(), cut("lossy-sender.pcap", 1.0)
    window.take(Snapshot(trace, frozenset({1}), 0, 0.0))
    window.take(Snapshot(read(trace_of_nothing()), frozenset(), 1, 0.0))
    window.take(of(trace))
    figures = window.last()
    assert figures is None or figures.retransmitted is None or figures.retransmitted >= 0


def trace_of_nothing() -> bytes:
    return (SAMPLES / "lossy-sender.pcap").read_bytes()[:24]


@pytest.mark.parametrize(("height", "width"), [(40, 160), (12, 60), (5, 20)])
def test_a_screen_keeps_to_the_terminal(height: int, width: int) -> None:
    window, trace = Window(), cut("lossy-sender.pcap", 1.0)
    window.take(of(trace))
    lines = screen("eth0", of(trace), window, height, width)
    assert len(lines) <= height
    assert all(len(one) <= width for one in lines)
    assert lines[0].startswith("eth0  ")
    assert "Losses kept the congestion window small" in line(of(trace), window)


def test_snapshots_that_take_long_come_less_often_but_not_later_than_promised() -> None:
    now_s = [100.0]
    pace = Pace(2.0, clock=lambda: now_s[0])
    dues = [pace.is_due]
    for took_s, due_s in ((0.01, 2.0), (0.5, 5.0), (3.0, LONGEST_S - 3.0)):
        pace.made(took_s)
        for later_s in (due_s - 0.001, 0.002):
            now_s[0] += later_s
            dues.append(pace.is_due)
    assert dues == [True, *(False, True) * 3]


def test_a_finding_about_what_was_forgotten_is_over_and_not_gone() -> None:
    events, window = Events(600.0), Window()
    whole = cut("lossy-sender.pcap", 1.0)
    given = {one["kind"] for one in events.of(of(whole), window) if one["record"] == "finding" and one["connections"]}
    left = [one for one in events.rest(read(trace_of_nothing())) if one["record"] == "finding"]
    assert {one["kind"] for one in left if one["state"] == "over"} == given
    assert all(not one["connections"] for one in left if one["state"] == "gone")


def test_a_finding_whose_first_connection_was_forgotten_is_the_same_one(monkeypatch: pytest.MonkeyPatch) -> None:
    events, window, trace = Events(600.0), Window(), cut("short-connections.pcap.gz", 1.0)
    kinds = [one.kind for one in trace.findings if len(one.connections) > 2]
    assert kinds
    list(events.of(of(trace), window))
    later = [replace(one, connections=one.connections[1:]) for one in trace.findings]
    monkeypatch.setattr(type(trace), "findings", property(lambda _: later))
    states = [
        one["state"] for one in events.of(of(trace), window) if one["record"] == "finding" and one["kind"] in kinds
    ]
    assert set(states) == {"changed"}
