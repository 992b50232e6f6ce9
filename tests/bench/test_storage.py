"""The bench of `vmtrace storage run` compares like with like, and finds what it promises about."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bench import storage
from bench.storage import Compared, Turn
from vmtrace.lab.services.service import Service
from vmtrace.providers.plan import Workload


def compared(plain_s: float, recorded_s: float, dropped: int = 0) -> Compared:
    return Compared("s3", "w", (Turn(plain_s, 0.5),) * 3, (Turn(recorded_s, 0.6, dropped),) * 3)


def test_the_ratio_is_that_of_the_medians() -> None:
    plain, recorded = (tuple(Turn(took_s, 0.1) for took_s in times) for times in ((1.0, 2.0, 3.0), (1.0, 2.2, 9.0)))
    pairs = Compared("s3", "w", plain, recorded)
    assert pairs.ratio == pytest.approx(1.1)


def test_too_much_overhead_and_lost_packets_break_the_promises() -> None:
    found = [compared(1.0, 1.04), compared(1.0, 1.06, 2)]
    assert [promise.kept for promise in storage.promises(found)] == [True, False, False]
    assert "| s3 | w | 1.000 | 1.060 | 1.060 | 0.500 | 0.600 | 6 |" in storage.table([compared(1.0, 1.06, 2)])


@pytest.mark.root
@pytest.mark.untimed
def test_the_same_files_go_both_ways_and_nothing_is_left(
    swift_service: Service, client_of: Callable[[Service], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    one = storage.compare("swift", swift_service, Workload("3x1kB", 3, 1000), 1, tmp_path / "bench")
    assert len(one.plain) == len(one.recorded) == 1
    assert one.ratio > 0
    assert one.dropped == 0
