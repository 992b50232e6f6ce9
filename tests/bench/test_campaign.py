"""The bench of a campaign finds what it promises about, on a short one."""

import os
from pathlib import Path

import pytest

from bench import campaign
from bench.campaign import Campaign


def test_growth_is_of_the_last_tenth_over_the_first() -> None:
    assert campaign.growth([5, 100, 100, *[150] * 16, 110, 110]) == pytest.approx(1.1)


def test_a_campaign_that_loses_pairs_or_grows_breaks_its_promises() -> None:
    lost = Campaign(30, 29, 0, 100.0, 2.0, (1, 10, 20), (1, 10, 10))
    assert [promise.kept for promise in campaign.promises(lost)] == [False, False, True, False]


def test_memory_of_a_process_is_known_until_it_ends() -> None:
    assert (campaign.own_kib(os.getpid()) or 0) > 1000
    assert campaign.own_kib(2**22 + 1) is None


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.slow
def test_one_round_finishes_all_pairs_with_flat_memory(tmp_path: Path) -> None:
    done = campaign.campaign(tmp_path, 1, 0.01)
    assert (done.finished, done.planned, done.dropped) == (30, 30, 0)
    assert max(campaign.growth(done.sender_kib), campaign.growth(done.receiver_kib)) < 1.5
