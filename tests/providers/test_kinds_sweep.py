"""A sweep against real S3: steps, sources, merges, what the host paid, and refusals in the service's own words."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.providers.campaigns import lines, run
from tests.providers.fakes import Memory
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers.kinds.sweep_plan import YOON_UPLOAD, Merges

MIB = 1 << 20
SHORT = replace(
    YOON_UPLOAD,
    connections=(1, 3),
    part_sizes_bytes=(5 * MIB,),
    size_bytes=20 * MIB,
    repeat=1,
    merges=Merges((10,), 5 * MIB, 1),
)


def test_the_plan_goes_through_connections_parts_and_sources_and_ends_with_merges() -> None:
    steps = list(YOON_UPLOAD.steps())
    assert len(steps) == 3 * 2 * 3 * 9 + 3 * 4
    assert {one.source for one in steps} == {"disk", "tmpfs"}
    assert {one.connections for one in steps if not one.merge} == {1, 2, 5, 10, 14, 20, 50, 100, 200}
    assert {one.parts for one in steps if one.merge} == {10, 100, 1000, 10_000}


def test_a_service_whose_sdk_knows_no_parts_is_refused(memory: Memory, tmp_path: Path) -> None:
    end = run(tmp_path / "run", SHORT)
    assert end.status == "failed"
    assert end.error is not None
    assert "its SDK does not upload in parts: no sweep plan" in end.error


@pytest.mark.alone
def test_a_sweep_of_s3_has_its_connections_its_parts_and_its_costs(
    swift_service: Server, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    of_others = set(Path("/dev/shm").glob("vmtrace-sweep-*/*/*"))
    end = run(tmp_path / "run", SHORT, provider="s3")
    assert (end.status, end.error) == ("complete", None)
    steps = lines(tmp_path / "run", "steps")
    assert [(one["source"], one["connections"], one["parts"], one["merge"]) for one in steps] == [
        ("disk", 1, 4, False), ("disk", 3, 4, False), ("tmpfs", 1, 4, False), ("tmpfs", 3, 4, False),
        ("disk", 3, 10, True),
    ]  # fmt: skip
    assert [one["connections_used"] for one in steps[:2]] == [1, 3]
    assert all(one["outcome"] == "done" and one["merge_s"] > 0 for one in steps)
    # A cold cache: the file came from the disk, and that in memory did not.
    assert steps[0]["cost"]["disk_read_bytes"] is None or steps[0]["cost"]["disk_read_bytes"] >= 20 * MIB
    assert (steps[2]["cost"]["disk_read_bytes"] or 0) < MIB
    assert not (tmp_path / "run/files").exists()
    assert set(Path("/dev/shm").glob("vmtrace-sweep-*/*/*")) <= of_others
    assert end.state["left_behind"] == []


def test_parts_that_are_too_small_are_reported_as_the_service_says_it(
    swift_service: Server, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    plan = replace(SHORT, part_sizes_bytes=(MIB,), size_bytes=4 * MIB, connections=(2,), sources=("disk",), merges=None)
    end = run(tmp_path / "run", plan, provider="s3")
    (step,) = lines(tmp_path / "run", "steps")
    assert step["outcome"] == "failed"
    assert "smaller than the minimum allowed" in step["error"]
    assert "EntityTooSmall" in step["error"]
    assert end.state["left_behind"] == []


@pytest.mark.parametrize("factor", [0.1, 2.0])
def test_scaling_multiplies_sizes(factor: float) -> None:
    scaled = YOON_UPLOAD.scaled(factor)
    assert scaled.part_sizes_bytes[0] == round(5 * MIB * factor)
    assert scaled.merges is not None
    assert scaled.merges.part_bytes == round(5 * MIB * factor)
