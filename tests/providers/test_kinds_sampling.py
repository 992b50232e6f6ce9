"""Probes, availability and locations against a service in memory: what is asked for, logged, removed, resumed."""

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import kstest

from tests.providers.campaigns import START_NS, JumpingClock, lines, run
from tests.providers.fakes import FakeService, Memory
from vmtrace.providers.budget import Limits
from vmtrace.providers.errors import ErrorKind, ProvidersError, ServiceError, UsageError
from vmtrace.providers.kinds.sampling_plan import (
    GARFINKEL2007_PROBES,
    PALANKAR2008_AVAILABILITY,
    PALANKAR2008_LOCATIONS,
    SamplingPlan,
)
from vmtrace.providers.plan import Plan, Workload

SIMULATED = replace(GARFINKEL2007_PROBES, sizes_bytes=(1, 1000), duration_s=40 * 120.0, at_once=1)


def test_a_probe_writes_new_objects_and_reads_others_of_the_stock(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", SIMULATED, JumpingClock())
    assert (end.status, end.error) == ("complete", None)
    found = lines(tmp_path / "run", "requests")
    by_probe = Counter((one["probe"], one["direction"]) for one in found)
    assert set(by_probe.values()) == {2}
    assert {len({one["bytes"] for one in found if one["probe"] == probe}) for probe, _ in by_probe} == {1}
    written = [one["name"] for one in found if one["direction"] == "upload"]
    assert len(set(written)) == len(written)
    read = {one["name"] for one in found if one["direction"] == "download"}
    assert read.isdisjoint(written)
    assert len({name for name in read if "/1000/" in name}) == 2
    assert {one["outcome"] for one in found} == {"done"}


def test_everything_is_removed_at_the_end(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", SIMULATED, JumpingClock())
    assert memory.containers == {}
    assert end.state["left_behind"] == []
    assert not (tmp_path / "run/files").exists()


def test_probes_begin_at_exponential_intervals(memory: Memory, tmp_path: Path) -> None:
    plan = replace(SIMULATED, duration_s=300 * 120.0, sizes_bytes=(1,))
    run(tmp_path / "run", plan, JumpingClock())
    due = sorted({one["due_ns"] for one in lines(tmp_path / "run", "requests")})
    intervals = [(later - earlier) / 1e9 for earlier, later in pairwise([START_NS, *due])]
    assert len(intervals) > 200
    assert kstest(intervals, "expon", args=(0, 120.0)).pvalue > 0.01


def test_a_probe_that_cannot_begin_on_time_is_late_and_moves_no_other(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = JumpingClock()

    def slow(self: FakeService, reference: str, sink: Any) -> int:
        clock.passed(100.0)
        sink.write(self._objects[reference])
        return 0

    monkeypatch.setattr(FakeService, "download", slow)
    plan = replace(SIMULATED, sizes_bytes=(1,), mean_interval_s=None, every_s=150.0, duration_s=1500.0)
    run(tmp_path / "run", plan, clock)
    found = lines(tmp_path / "run", "requests")
    probes = {one["probe"]: one for one in found}
    assert len(probes) == 10
    assert [one["due_ns"] for one in probes.values()] == [probes[1]["due_ns"] + n * 150 * 10**9 for n in range(10)]
    assert [round(one["late_s"]) for one in probes.values()] == [50 * n for n in range(10)]


def test_what_is_shown_and_noted_while_waiting_makes_no_probe_late(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = JumpingClock()
    monkeypatch.setattr("vmtrace.providers.kinds.accounts.Accounts.look", lambda *_, **__: clock.passed(0.02))
    plan = replace(SIMULATED, sizes_bytes=(1,), mean_interval_s=None, every_s=1.0, duration_s=30.0)
    run(tmp_path / "run", plan, clock)
    late_s = [one["late_s"] for one in lines(tmp_path / "run", "requests")]
    assert len(late_s) == 30 * 4
    assert max(late_s) == 0.0


def test_locations_go_through_all_sizes_and_availability_reads_one_object(memory: Memory, tmp_path: Path) -> None:
    small = replace(PALANKAR2008_LOCATIONS, sizes_bytes=(1, 1000), at_once=1)
    run(tmp_path / "locations", small, JumpingClock(), location="Tampa")
    found = lines(tmp_path / "locations", "requests")
    kinds = Counter((one["bytes"], one["direction"]) for one in found)
    assert kinds == {(size, way): 28 for size in (1, 1000) for way in ("upload", "download")}
    assert json.loads((tmp_path / "locations/run.json").read_text())["location"] == "Tampa"
    plan = replace(PALANKAR2008_AVAILABILITY, sizes_bytes=(10,), at_once=1, duration_s=86_400.0)
    run(tmp_path / "availability", plan, JumpingClock())
    found = lines(tmp_path / "availability", "requests")
    assert (len(found), len({one["name"] for one in found})) == (96, 1)
    assert {one["direction"] for one in found} == {"download"}


def test_an_object_of_the_stock_that_disappeared_is_made_anew_and_counted(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[str] = []

    def download(self: FakeService, reference: str, sink: Any) -> int:
        if not taken:
            taken.append(reference)
            del self._objects[reference]
        if reference not in self._objects:
            raise ServiceError(ErrorKind.NO_SUCH_OBJECT, reference)
        sink.write(self._objects[reference])
        return 0

    monkeypatch.setattr(FakeService, "download", download)
    end = run(tmp_path / "run", replace(SIMULATED, sizes_bytes=(1,)), JumpingClock())
    found = lines(tmp_path / "run", "requests")
    assert [one["error_kind"] for one in found if one["outcome"] != "done"] == ["no_such_object"]
    assert end.state["stock_replaced"] == 1
    assert memory.containers == {}


def test_wrong_digests_are_write_errors_and_read_errors(memory: Memory, tmp_path: Path) -> None:
    memory.wrong_digest.add("1-0000002/1/1")
    memory.corrupt.add("stock/1/1")
    run(tmp_path / "run", replace(SIMULATED, sizes_bytes=(1,), duration_s=1200.0), JumpingClock())
    wrong = {(one["direction"], one["outcome"]) for one in lines(tmp_path / "run", "requests") if one["error"]}
    assert wrong == {("upload", "write_error"), ("download", "read_error")}


def test_what_will_not_get_better_ends_the_run(memory: Memory, tmp_path: Path) -> None:
    memory.faults["1-0000003/1/1"] = ServiceError(ErrorKind.EXPIRED_TOKEN, "expired")
    end = run(tmp_path / "run", replace(SIMULATED, sizes_bytes=(1,)), JumpingClock())
    assert (end.status, end.state["error_kind"]) == ("failed", "expired_token")
    assert {one["probe"] for one in lines(tmp_path / "run", "requests")} == {1, 2, 3}
    assert memory.containers == {}


def test_no_probe_begins_that_the_budget_has_no_room_for(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", replace(SIMULATED, sizes_bytes=(1000,)), JumpingClock(), limits=Limits(max_bytes=3999))
    assert (end.status, lines(tmp_path / "run", "requests")) == ("budget", [])
    assert memory.containers == {}


def interrupted(memory: Memory, out: Path, plan: SamplingPlan, clock: JumpingClock) -> None:
    memory.faults["1-0000005/1/2"] = KeyboardInterrupt
    assert run(out, plan, clock).status == "interrupted"
    memory.faults.clear()


def test_a_run_that_was_interrupted_goes_on_where_it_was(memory: Memory, tmp_path: Path) -> None:
    out, clock, plan = tmp_path / "run", JumpingClock(), replace(SIMULATED, sizes_bytes=(1,))
    interrupted(memory, out, plan, clock)
    before = lines(out, "requests")
    assert max(one["probe"] for one in before) in {4, 5}
    end = run(out, plan, clock, resume=True)
    assert (end.status, end.state["sessions"]) == ("complete", 2)
    after = lines(out, "requests")
    assert after[: len(before)] == before
    more = after[len(before) :]
    assert min(one["probe"] for one in more) == max(one["probe"] for one in before) + 1
    assert {one["session"] for one in more} == {2}
    assert max(one["due_ns"] for one in after) < START_NS + plan.duration_s * 1e9
    assert memory.containers == {}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"plan": replace(SIMULATED, sizes_bytes=(2,))}, "another plan"),
        ({"endpoint_url": "http://127.0.0.1:10"}, "another endpoint_told"),
    ],
)
def test_a_run_is_resumed_with_the_options_it_was_begun_with(
    memory: Memory, tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    plan = replace(SIMULATED, sizes_bytes=(1,))
    interrupted(memory, tmp_path / "run", plan, JumpingClock())
    with pytest.raises(UsageError, match=told):
        run(tmp_path / "run", **{"plan": plan, "clock": JumpingClock(), "resume": True, **change})


def test_what_cannot_be_resumed_is_refused(memory: Memory, tmp_path: Path) -> None:
    plan = replace(SIMULATED, sizes_bytes=(1,))
    with pytest.raises(ProvidersError, match="no run is there"):
        run(tmp_path / "none", plan, resume=True)
    run(tmp_path / "run", plan, JumpingClock())
    with pytest.raises(ProvidersError, match="this run is complete"):
        run(tmp_path / "run", plan, resume=True)
    benchmark = Plan("p", (Workload("one", 1, 10),))
    run(tmp_path / "benchmark", benchmark)
    with pytest.raises(UsageError, match="a benchmark cannot be resumed"):
        run(tmp_path / "benchmark", benchmark, resume=True)


def test_probes_that_overlap_run_side_by_side(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    def slow(self: FakeService, reference: str, sink: Any) -> int:
        time.sleep(0.2)
        sink.write(self._objects[reference])
        return 0

    monkeypatch.setattr(FakeService, "download", slow)
    plan = replace(
        SIMULATED,
        sizes_bytes=(1,),
        mean_interval_s=None,
        every_s=0.25,
        duration_s=2.0,
        directions=("download",),
        at_once=4,
    )
    end = run(tmp_path / "run", plan)
    assert end.status == "complete"
    found = lines(tmp_path / "run", "requests")
    assert len(found) == 16
    starts = {one["probe"]: one for one in reversed(found)}
    assert max(one["late_s"] for one in starts.values()) < 0.2
