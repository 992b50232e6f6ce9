"""A surge against a service in memory: steps, threads, what is left, and a start that hosts agree on."""

import json
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.providers.campaigns import lines, run
from tests.providers.fakes import FakeService, Memory
from vmtrace.commands.values import instant_ns
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.kinds.surge_plan import GARFINKEL2007_SURGE, SurgePlan

SHORT = replace(GARFINKEL2007_SURGE, threads=(1, 3), step_s=0.4, size_bytes=1000, duration_s=1.6)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests take a while, or there would be thousands of them."""

    def download(self: FakeService, reference: str, sink: Any) -> int:
        time.sleep(0.02)
        sink.write(self._objects[reference])
        return 0

    monkeypatch.setattr(FakeService, "download", download)


def test_the_study_s_plan_has_six_steps_of_ten_minutes_in_each_direction() -> None:
    steps = list(GARFINKEL2007_SURGE.steps())
    assert len(steps) == 66
    assert [(one.threads, one.direction) for one in steps[:7]] == [
        (1, "download"), (2, "download"), (3, "download"), (4, "download"), (5, "download"), (6, "download"),
        (1, "upload"),
    ]  # fmt: skip
    assert [one.start_s for one in steps[:3]] == [0, 600, 1200]
    assert steps[12].round == 2


def test_every_step_has_its_threads_and_every_request_its_step(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", SHORT)
    assert (end.status, end.error) == ("complete", None)
    steps = lines(tmp_path / "run", "steps")
    assert [(one["threads"], one["direction"]) for one in steps] == [
        (1, "download"), (3, "download"), (1, "upload"), (3, "upload"),
    ]  # fmt: skip
    found = lines(tmp_path / "run", "requests")
    threads = {step: {one["thread"] for one in found if one["step"] == step} for step in (1, 2, 3, 4)}
    assert threads == {1: {1}, 2: {1, 2, 3}, 3: {1}, 4: {1, 2, 3}}
    within = Counter(
        steps[one["step"] - 1]["start_ns"] - 5e6 <= one["start_ns"] <= steps[one["step"] - 1]["end_ns"] + 5e7
        for one in found
    )
    assert within[True] >= 0.98 * len(found)
    assert all(one["cost"]["process_share"] >= 0 for one in steps)
    assert memory.containers == {}
    assert end.state["left_behind"] == []


def test_the_offset_of_the_clock_is_noted(memory: Memory, tmp_path: Path) -> None:
    state = run(tmp_path / "run", replace(SHORT, duration_s=0.4)).state
    assert set(state["clock"]) == {"source", "synchronised", "offset_s", "error_s"}
    assert set(state["clock_end"]) == set(state["clock"])


def test_two_hosts_with_the_same_start_are_in_step(memory: Memory, tmp_path: Path) -> None:
    start_ns = time.time_ns() + 2_500_000_000
    run(tmp_path / "run", replace(SHORT, duration_s=0.8), start_at_ns=start_ns)
    state = json.loads((tmp_path / "run/run.json").read_text())
    assert state["surge_start_ns"] == start_ns
    first, second = lines(tmp_path / "run", "steps")
    assert 0 <= first["start_ns"] - start_ns < 3e8
    assert 0 <= second["start_ns"] - start_ns - 4e8 < 3e8


def test_a_start_in_the_past_is_refused(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", SHORT, start_at_ns=time.time_ns() - 10**9)
    assert end.status == "failed"
    assert end.error is not None
    assert re.search(r"--start-at: that was [\d.]+ s ago by this host's clock: name a time to come", end.error)


def test_failures_are_logged_and_a_hopeless_one_ends_the_surge(memory: Memory, tmp_path: Path) -> None:
    memory.faults["upload"] = ServiceError(ErrorKind.QUOTA, "full")
    end = run(tmp_path / "run", replace(SHORT, directions=("upload",)))
    assert (end.status, end.state["error_kind"]) == ("failed", "quota")


def test_scaled_and_quick_plans_keep_their_steps() -> None:
    assert SurgePlan.scaled(GARFINKEL2007_SURGE, 0.01).step_s == 6.0
    quick = GARFINKEL2007_SURGE.quick()
    assert (len(list(quick.steps())), quick.size_bytes) == (12, 1_000_000)


def test_a_start_without_a_time_zone_is_wrong_usage() -> None:
    assert instant_ns("1970-01-02T00:00Z", zone_needed=True) == 86_400 * 10**9
    assert instant_ns("1970-01-02T00:00") == 86_400 * 10**9
    with pytest.raises(ValueError, match="add the time zone"):
        instant_ns("2030-01-01T12:00", zone_needed=True)
