"""What a table calls the cause of a connection: names of the field."""

import pytest

from vmtrace.analyze.words.human_causes import factor_name, why
from vmtrace.analyze.words.units import ABSENT


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("Losses kept the congestion window small", "loss"),
        ("ECN congestion marks (3) kept", "ECN marks"),
        ("The congestion window grew slowly: x", "slow window growth"),
        (None, "congestion window"),
    ],
)
def test_what_kept_a_congestion_window_small_is_named(sentence: str | None, name: str) -> None:
    assert factor_name("congestion_window", sentence) == name


def test_narrow_columns_have_short_names() -> None:
    row = {"verdict_factor": "bottleneck_bandwidth", "verdict_confidence": 0.7}
    assert why(row) == "link full"
    assert why(row | {"verdict_confidence": 0.59}) == "link full?"
    assert why({"verdict_factor": None}) == ABSENT
