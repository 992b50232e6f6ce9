"""What limited a step, from factors, arrivals and costs by hand: each cause in its words, and none that it is not."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vmtrace.analyze.reports.storage.causes import BUSY_SHARE, Cause, cause, ceiling, common, used_up, waited_for
from vmtrace.analyze.reports.storage.step_evidence import BIN_NS, StepEvidence
from vmtrace.analyze.reports.storage.steps import StepCost

IDLE = StepCost(10.0, 2.0, 0.1, 1.0, 0.0, None, None, 1.0, 0.2)
"""Other people use the whole host; this process hardly waits."""
PATH = {"congestion_window": 6.0, "loss_recovery": 2.0, "slow_start": 1.0, "idle": 90.0}


def step(rates_mbps: list[float] | np.ndarray, **seconds: float) -> StepEvidence:
    """Rates of 20 ms each."""
    return finely(np.repeat(rates_mbps, 20_000_000 // BIN_NS), **seconds)


def finely(rates_mbps: list[float] | np.ndarray, **seconds: float) -> StepEvidence:
    """Rates of a bin each."""
    return StepEvidence(Counter(seconds or PATH), np.array(rates_mbps) * 1e6 * BIN_NS / 8e9)


def held(**seconds: float) -> Cause:
    wandering = np.random.default_rng(3).uniform(1, 90, 500)
    return cause([step(wandering, **seconds)], [IDLE], 4)


def bucket(share: float, seed: int = 1) -> StepEvidence:
    """Bins at 40 Mbit/s and, for the rest, anywhere below it."""
    dice = np.random.default_rng(seed)
    at = np.repeat(dice.random(100) < share, 5)
    return step(np.where(at, dice.normal(40, 0.4, 500), dice.uniform(2, 36, 500)))


@pytest.mark.parametrize("share", [0.35, 0.6, 0.95])
def test_a_rate_that_data_comes_at_again_is_named(share: float) -> None:
    found = cause([bucket(share)], [IDLE], 4)
    assert (found.word, round((found.bps or 0) / 1e6)) == ("network", 40)
    assert "Mbit/s: " in found.sentence


def test_a_burst_after_pauses_makes_it_an_allowance() -> None:
    after_pause = [0.0, 0.0, 0.0, 0.0, 95.0, 60.0, *[40.0] * 20]
    found = cause([step(after_pause * 10)], [IDLE], 1)
    assert found.word == "allowance"
    assert found.bps == pytest.approx(40e6)
    assert "more at once after pauses" in found.sentence


@pytest.mark.parametrize("rate_mbps", [15.0, 55.0])
def test_requests_that_rest_for_a_round_trip_alone_show_the_burst(rate_mbps: float) -> None:
    """A megabyte each, 25 ms apart, behind a link of 100 Mbit/s: what a bucket saved up in that time comes at once."""
    pause, steady = [0.0] * 5, [rate_mbps] * round(8 / rate_mbps * 200)
    saved_up = 5 * rate_mbps / (100 - rate_mbps)
    burst = [100.0] * int(saved_up) + [rate_mbps + (100 - rate_mbps) * (saved_up % 1)]
    found = [cause([finely([*pause, *begin, *steady] * 12)], [IDLE], 1) for begin in (burst, [rate_mbps / 2])]
    assert [one.word for one in found] == ["allowance", "network"]
    assert [one.bps for one in found] == pytest.approx([rate_mbps * 1e6] * 2, rel=0.02)


def test_packets_that_were_put_together_on_the_way_are_no_burst() -> None:
    """64 kB come as one, at the end of the time that the link took for them."""
    per_second = 8 * 65_536 / 1e6
    lumps = np.where(np.arange(40) % 4 == 3, 130.0, 90.0) * per_second / (100 * per_second) * 1000
    found = cause([finely([0.0] * 4 + [*lumps] * 1) for _ in range(20)], [IDLE], 1)
    assert (found.word, round((found.bps or 0) / 1e6)) == ("network", 1000)


def test_acknowledgements_that_come_at_once_are_no_burst() -> None:
    """Those that a repair held up do."""
    after_pause = [0.0, 0.0, 0.0, 0.0, 95.0, 60.0, *[40.0] * 20]
    found = cause([replace(step(after_pause * 10), acknowledged=True)], [IDLE], 1)
    assert (found.word, round((found.bps or 0) / 1e6)) == ("network", 40)


def test_rates_that_wander_are_no_ceiling() -> None:
    for seed in range(20):
        assert ceiling([step(np.random.default_rng(seed).uniform(1, 80, 300))]) is None
        assert ceiling([step(np.random.default_rng(seed).lognormal(3, 0.7, 300))]) is None


def test_a_rate_of_a_full_window_is_no_rate_of_the_path() -> None:
    found = cause([step([26.2] * 500, receiver_window=9.0, slow_start=0.5)], [IDLE], 1)
    assert (found.word, found.bps) == ("window", None)


def test_few_bytes_at_the_rate_count_where_other_threads_come_at_it() -> None:
    one = bucket(0.12)
    alone = cause([one], [IDLE], 1)
    others = common([ceiling([bucket(0.8, seed)]) for seed in range(4)])
    assert alone.bps is None
    assert others is not None
    assert cause([one], [IDLE], 1, others).bps == pytest.approx(40e6, rel=0.03)


def test_rates_that_differ_have_nothing_in_common() -> None:
    assert common([ceiling([step([rate] * 100)]) for rate in (10.0, 20.0, 30.0, 40.0)]) is None
    assert common([None, ceiling([step([10.0] * 100)])]) is None


@pytest.mark.parametrize(
    ("seconds", "word"),
    [
        ({"server_wait": 8.0, "congestion_window": 1.0}, "service"),
        ({"client_wait": 8.0, "server_wait": 1.0}, "client"),
        ({"application": 8.0, "server_wait": 1.0}, "application"),
        ({"slow_start": 8.0, "server_wait": 1.0}, "slow start"),
        ({"receiver_window": 3.0, "send_buffer": 3.0, "slow_start": 1.0}, "window"),
        ({"congestion_window": 8.0}, "network"),
        ({"server_wait": 3.0, "client_wait": 3.0, "slow_start": 3.0, "idle": 50.0}, None),
        ({"idle": 50.0}, None),
    ],
)  # fmt: skip
def test_what_held_connections_back_most_is_the_cause(seconds: dict[str, float], word: str | None) -> None:
    found = held(**seconds)
    assert (found.word, found.bps) == (word, None)
    assert ("undecided" in found.sentence) == (word is None)


@pytest.mark.parametrize(("closed_s", "word"), [(5.0, "service"), (0.5, "window")])
def test_a_service_that_does_not_read_closes_its_window(closed_s: float, word: str) -> None:
    wandering = step(np.random.default_rng(3).uniform(1, 90, 500), receiver_window=8.0, client_wait=1.0)
    found = cause([replace(wandering, closed_s=closed_s, acknowledged=True)], [IDLE], 4)
    assert (found.word, "did not read" in found.sentence) == (word, word == "service")


def test_other_people_s_load_is_not_the_processor() -> None:
    for cost in (IDLE, replace(IDLE, run_delay_s=None, process_cpu_s=None)):
        assert (used_up(cost), waited_for(cost, 4)) == (False, False)


@pytest.mark.parametrize(
    ("cost", "workers"),
    [
        (replace(IDLE, process_share=BUSY_SHARE), 4),
        (replace(IDLE, throttled_s=2.0), 4),
        (replace(IDLE, process_cpu_s=3.0, run_delay_s=15.5), 4),
        (replace(IDLE, process_cpu_s=3.0, run_delay_s=6.5), 1),
    ],
    ids=["used up", "held by a quota", "threads wait", "one thread waits"],
)
def test_processors_that_are_used_up_or_waited_for_are(cost: StepCost, workers: int) -> None:
    wandering = step(np.random.default_rng(3).uniform(1, 90, 500), application=8.0, server_wait=1.0)
    found = cause([wandering], [cost], workers)
    assert (found.word, used_up(cost) or waited_for(cost, workers)) == ("cpu", True)
    assert "processors: the process used" in found.sentence


@pytest.mark.parametrize("factor", ["receiver_window", "server_wait", "congestion_window"])
def test_threads_that_wait_are_no_cause_where_packets_show_another(factor: str) -> None:
    waits = replace(IDLE, process_cpu_s=3.0, run_delay_s=17.0)
    shown = held(**{factor: 8.0, "application": 1.0})
    wandering = step(np.random.default_rng(3).uniform(1, 90, 500), **{factor: 8.0, "application": 1.0})
    assert cause([wandering], [waits], 4) == shown


def test_a_rate_held_for_most_of_the_time_is_the_path_s_even_where_threads_wait() -> None:
    waits = replace(IDLE, process_cpu_s=3.0, run_delay_s=17.0)
    assert cause([bucket(0.9)], [waits], 4).bps == pytest.approx(40e6, rel=0.03)


def test_bursts_between_stops_of_a_quota_are_no_rate() -> None:
    """At full rate for a fifth of the time, then stopped."""
    stopped = replace(IDLE, throttled_s=8.0)
    assert cause([step([100.0, 0.0, 0.0, 0.0, 0.0] * 100)], [stopped], 4).word == "cpu"


def test_without_packets_and_counters_nothing_is_named() -> None:
    found = cause([], [], 4)
    assert (found.word, found.sentence) == (None, "undecided: neither packets nor counters name one")


def test_small_objects_that_come_alone_in_their_bins_have_no_rate() -> None:
    alone = [42.0, 0.0, 0.0, 0.0, 0.0] * 100
    assert ceiling([step(alone)]) is None
    assert cause([step(alone, server_wait=8.0, congestion_window=1.0)], [IDLE], 4).word == "service"
