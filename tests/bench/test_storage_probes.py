"""What the bench of probes promises and prints follows from what it measured."""

import pytest

from bench.storage_probes import Overhead, promises, said, table

LATENESS = {
    "probes": 1200,
    "late": 1,
    "late_share": 1 / 1200,
    "late_after_s": 0.1,
    "median_late_s": 0.0004,
    "largest_late_s": 0.12,
}
CHEAP = Overhead("s3", plain_s=(0.010, 0.030, 0.011), probed_s=(0.011, 0.0112, 0.040))


def test_the_ratio_is_that_of_medians() -> None:
    assert CHEAP.ratio == pytest.approx(0.0112 / 0.011)


@pytest.mark.parametrize(
    ("probed_s", "late_share", "kept"), [(0.0112, 1 / 1200, True), (0.012, 0.0, False), (0.011, 0.002, False)]
)
def test_a_promise_is_kept_by_cheap_probes_that_begin_on_time(probed_s: float, late_share: float, kept: bool) -> None:
    found = promises([Overhead("s3", (0.011,), (probed_s,))], LATENESS | {"late_share": late_share})
    assert all(one.kept for one in found) is kept


def test_the_table_and_the_sentence_have_every_number() -> None:
    assert "| s3 | 11.00 | 11.20 | 1.018 |" in table([CHEAP])
    assert "of 1200 probes 1 began more than" in said(LATENESS, 1200)
