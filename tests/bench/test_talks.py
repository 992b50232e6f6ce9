"""Talks that are made packet by packet come in order of time and have both directions."""

from collections.abc import Iterator

import pytest

from bench.talks import both_ways, http


@pytest.mark.parametrize("frames", [http(3, 4), both_ways(3, 4)], ids=["http", "both-ways"])
def test_a_talk_is_in_order_of_time(frames: Iterator[tuple[int, bytes]]) -> None:
    made = list(frames)
    assert len(made) > 12
    assert [one[0] for one in made] == sorted(one[0] for one in made)
