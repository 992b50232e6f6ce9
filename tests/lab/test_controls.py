"""Names of congestion controls: what is counted of them, and transfers by the kernel's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import vmtrace
from tests import golden_texts
from tests.cut import cut
from tests.lab_runs import lab_run
from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.control_runs import CONTROLS, Controlled, draw
from vmtrace.lab.accuracy.controls import Measured, sections, told_of
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.transfer import Transfer


def transfer(control: str) -> Controlled:
    return Controlled("made", "random loss", control, "", lambda _: None)


def test_unknown_and_null_are_no_names_and_only_a_sure_wrong_name_is_bad() -> None:
    measured = Measured(
        [
            told_of(transfer("reno"), {"name": "reno", "confidence": 0.9, "candidates": ["reno"]}),
            told_of(transfer("reno"), {"name": "unknown", "confidence": None, "candidates": []}),
            told_of(transfer("bbr"), None),
            told_of(transfer("bbr"), {"name": "cubic", "confidence": 0.7, "candidates": ["cubic"]}),
        ]
    )
    assert measured.wrong_and_sure == []
    lines = sections(measured)
    assert lines[1] == "1 of 2 names right; 0 wrong above 0.8."
    golden_texts.check("unknown-and-null-are-no-names-and-only-a-sure-wrong-name-is-bad", "\n".join(lines))
    measured.told.append(told_of(transfer("bbr"), {"name": "reno", "confidence": 0.81, "candidates": ["reno"]}))
    assert len(measured.wrong_and_sure) == 1


def test_each_congestion_control_is_drawn_for_each_kind_of_path() -> None:
    drawn = draw(3, 2)
    assert len({one.name for one in drawn}) == len(drawn)
    kinds = {one.kind for one in drawn}
    assert {(one.kind, one.control) for one in drawn} == {(kind, control) for kind in kinds for control in CONTROLS}


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("control", cut(CONTROLS, 0))
def test_a_kernels_congestion_control_is_named_at_the_sender_and_nowhere_else(tmp_path: Path, control: str) -> None:
    back = Impairments(delay_s=0.02)
    way = Impairments(delay_s=0.02, rate_bps=15e6, queue_bytes=40_000)
    host = HostSettings(control)
    scenario = Scenario("named", "a short queue", Transfer(payload_bytes=1 << 34, seconds=12.0), way, back, host, host)
    done = lab_run(scenario, tmp_path, attempts=3, good_enough=gap_runs.no_false_stall)
    found = vmtrace.read(done.sender_pcap).json()["connections"][0]["client_to_server"]["congestion_control"]
    assert found is not None
    # A machine that is too busy may spoil some of the losses: what is told of the rest is right or left open.
    assert found["name"] in (control, "unknown")
    if done.good:
        assert (found["name"], found["candidates"][0]) == (control, control)
        assert found["confidence"] > 0.8
    far = vmtrace.read(done.receiver_pcap).json()["connections"][0]["client_to_server"]
    assert far["congestion_control"] is None
