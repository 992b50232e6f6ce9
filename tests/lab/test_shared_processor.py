"""A processor that programs share: what is left to them, and that they really wait for it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from vmtrace.lab import cpu_quota
from vmtrace.lab.campaign.starved import is_right, world
from vmtrace.lab.shared_processor import SharedProcessor, shared

BURN = "import time; ends = time.monotonic() + 90\nwhile time.monotonic() < ends: pass"


@pytest.mark.parametrize(
    ("settings", "share"),
    [
        (SharedProcessor(), 1.0),
        (SharedProcessor(neighbours=3), 0.25),
        (SharedProcessor(neighbours=1, weight=64), 64 / 1088),
        (SharedProcessor(neighbours=3, quota=0.1), 0.1),
    ],
)
def test_what_is_left_is_by_weight_or_by_the_quota(settings: SharedProcessor, share: float) -> None:
    assert settings.share == pytest.approx(share)
    assert f"{share:.0%} of a processor" in settings.words()


@pytest.mark.root
def test_a_process_that_shares_waits_for_its_processor() -> None:
    reason = cpu_quota.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    with subprocess.Popen([sys.executable, "-c", BURN]) as process:
        try:
            with shared(SharedProcessor(neighbours=2, weight=64), process.pid) as group:
                assert str(process.pid) in (group / "cgroup.procs").read_text().split()
                before = schedule(process.pid)
                ends_s = time.monotonic() + 60
                while (after := schedule(process.pid))[1] - before[1] < 0.5 and time.monotonic() < ends_s:
                    time.sleep(0.1)
        finally:
            process.kill()
    assert not group.exists()
    ran_s, waited_s = after[0] - before[0], after[1] - before[1]
    assert waited_s >= 0.5
    assert ran_s < waited_s, "a thirtieth of the processor is left to it"


def schedule(process_id: int) -> tuple[float, float]:
    ran_ns, waited_ns, _ = Path(f"/proc/{process_id}/schedstat").read_text().split()
    return int(ran_ns) / 1e9, int(waited_ns) / 1e9


def test_a_seed_is_one_world_and_all_causes_have_their_turn() -> None:
    assert [world(seed) for seed in range(20)] == [world(seed) for seed in range(20)]
    assert {world(seed).cause for seed in range(20)} == {"frozen", "shared", "path"}


@pytest.mark.parametrize(
    ("seed", "factor", "sentence", "right"),
    [
        (0, "host_stall", "", True),
        (0, "application", "It lacked a processor", False),
        (1, "host_stall", "A host stall. It lacked a processor, as a host", True),
        (1, "application", "The application. It lacked a processor, as a host", False),
        (1, "host_stall", "A host stall.", False),
        (2, "loss_recovery", "Losses.", True),
        (2, "loss_recovery", "Losses. It lacked a processor", False),
        (2, "host_stall", "", False),
    ],
)
def test_a_verdict_must_say_what_was_planted(seed: int, factor: str, sentence: str, right: bool) -> None:
    assert is_right(world(seed), {"factor": factor, "sentence": sentence}) == right
