"""What hosts did while a factor limited: inside its intervals against the rest of the transfers' time."""

import json
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from tests.analyze.pages import words
from tests.analyze.test_run_variation import (
    DATA_AT_S,
    DATA_LASTS_S,
    PAIR_S,
    SECOND,
    START_NS,
    Campaign,
)
from vmtrace.analyze.reports.run.document import document
from vmtrace.analyze.reports.run.page.variation import intervals_part
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.findings import variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines, interval_sentence
from vmtrace.analyze.reports.run.variation.intervals import IntervalFinding, interval_findings
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

STALL = (1.0, 3.0)
"""Seconds of each data transfer, of four, in which a host stands still."""


class Stalls(Campaign):
    """Data transfers that are held up from second 1 to 3 of 4; the host's counters are told second by second."""

    stall = STALL
    every = 1
    """One of so many data transfers has a stall."""
    held = "host_stall"
    side = "sender"
    ahead_s = 0.0

    def seconds(self, inside: Any, outside: Any) -> Any:
        """For each second of the run the one level within the stalls and the other elsewhere."""
        there = np.zeros(self.pairs * PAIR_S, np.bool_)
        for number in range(self.pairs):
            at_s = number * PAIR_S + DATA_AT_S
            there[at_s + int(STALL[0]) : at_s + int(STALL[1])] = True
        return np.where(there, inside, outside)

    def counters(self, steal: Any, user: Any) -> None:
        """The sender's counters, a share for each second."""
        folder = self.made.folder / "host"
        folder.mkdir(exist_ok=True)
        totals = [np.concatenate([[0.0], np.cumsum(one)]) for one in (user, steal, 1 - steal - user)]
        rows = "".join(
            f"{START_NS + second * SECOND},{','.join(f'{total[second]:.6f}' for total in totals)}\n"
            for second in range(len(steal) + 1)
        )
        (folder / "sender.csv").write_text(f"# interval_s: 1.0\ntime_ns,cpu_user_s,cpu_steal_s,cpu_idle_s\n{rows}")

    def results(self) -> RunResults:
        found = super().results()
        transfers = []
        for one in found.transfers:
            if one.transfer.role == "data":
                begin = one.transfer.start_ns + round(self.ahead_s * SECOND)
                cuts = [begin + round(part * SECOND) for part in (0, *self.stall, DATA_LASTS_S)]
                held = self.held if one.pair.sequence % self.every == 0 else "congestion_window"
                names = ("congestion_window", held, "congestion_window")
                rows = [[self.side, name, *ends] for name, *ends in zip(names, cuts, cuts[1:], strict=False)]
                limits = {self.held: [2.0, 1e6], "congestion_window": [2.0, 0.0]}
                measures = replace(
                    one.measures, limit_intervals=json.dumps(rows), limits=json.dumps(limits), captured_at="data sender"
                )
                transfers.append(replace(one, measures=measures))
            else:
                transfers.append(one)
        return replace(found, transfers=tuple(transfers))

    def asked(self, factor: str = "host_stall") -> dict[str, IntervalFinding]:
        return {one.metric.name: one for one in interval_findings(self.results()) if one.factor == factor}


@pytest.fixture
def stalls(new_run: Any) -> Stalls:
    made = Stalls(new_run(), pairs=30)
    made.save()
    return made


def noise(stalls: Stalls, most: float) -> Any:
    return stalls.random.uniform(0, most, stalls.pairs * PAIR_S)


def test_steal_that_is_there_in_the_stalls_alone_goes_with_them(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01) + noise(stalls, 0.02), noise(stalls, 0.05))
    steal = stalls.asked()["sender_cpu_steal"]
    assert steal.judgement == "varies_with"
    assert (steal.intervals, steal.transfers, steal.periods) == (30, 30, 120)
    assert (steal.coverage, steal.weight) == (1.0, 1.0)
    assert steal.inside == pytest.approx(0.41, abs=0.005)
    assert steal.outside == pytest.approx(0.02, abs=0.005)
    assert steal.difference.low is not None
    assert steal.difference.high is not None
    assert steal.difference.low < 0.39 < steal.difference.high
    assert steal.difference.high - steal.difference.low < 0.02
    assert interval_sentence(steal).startswith(
        "steal of the sender was 40.9 % during a host stall and 2 % outside of it (+38.9 ["
    )
    assert interval_sentence(steal).endswith("points): it goes with it")


def test_a_counter_that_was_there_for_one_stall_alone_and_0_acquits_nobody(stalls: Stalls) -> None:
    stalls.counters(np.zeros(PAIR_S), 0.8 + stalls.random.uniform(0, 0.05, PAIR_S))
    steal = stalls.asked()["sender_cpu_steal"]
    assert (steal.inside, steal.difference.n, steal.transfers) == (0, 1, 30)
    assert steal.judgement == "too_few"
    assert "values in the intervals of 1 transfer, 5 are needed" in interval_sentence(steal)


def test_over_whole_transfers_the_same_steal_explains_nothing_because_all_have_it(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01), noise(stalls, 0.05))
    (found,) = (
        one for one in variation(stalls.results()).findings
        if one.metric.name == "sender_cpu_steal" and one.role == "data"
    )  # fmt: skip
    assert found.judgement not in ("varies_with", "consistent_with")
    assert stalls.asked()["sender_cpu_steal"].judgement == "varies_with"


def test_a_cpu_that_is_low_during_the_stalls_is_not_the_cause(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01), 0.03 + noise(stalls, 0.04))
    cpu = stalls.asked()["sender_cpu"]
    assert cpu.judgement == "not_the_cause"
    assert interval_sentence(cpu).endswith("%), not the cause")
    assert "low (p95 " in interval_sentence(cpu)


def test_a_cpu_that_is_as_busy_outside_is_not_what_sets_the_stalls_apart(stalls: Stalls) -> None:
    stalls.counters(np.zeros(300), 0.8 + noise(stalls, 0.05))
    found = stalls.asked()
    assert interval_sentence(found["sender_cpu"]).endswith("hardly different, so not what sets these intervals apart")
    assert interval_sentence(found["sender_cpu_steal"]).endswith("was 0 during a host stall: not the cause")


def test_work_that_stops_in_the_stalls_is_on_the_harmless_side(stalls: Stalls) -> None:
    stalls.counters(np.zeros(300), stalls.seconds(0.1, 0.9) + noise(stalls, 0.05))
    cpu = stalls.asked()["sender_cpu"]
    assert cpu.judgement == "rises_with"
    assert interval_sentence(cpu).endswith("on the harmless side")


def test_stalls_much_shorter_than_a_period_are_consistent_and_no_more(stalls: Stalls) -> None:
    stalls.stall = (1.0, 1.2)
    level = stalls.seconds(0.0, 0.0)
    level[[number * PAIR_S + DATA_AT_S + 1 for number in range(stalls.pairs)]] = 0.2
    stalls.counters(level, noise(stalls, 0.05))
    found = stalls.asked()
    steal = found["sender_cpu_steal"]
    assert steal.weight == pytest.approx(0.2)
    assert steal.judgement == "consistent_with"
    assert "its values are means over 1.00 s, of which the intervals are 20.0 %" in interval_sentence(steal)
    cpu = found["sender_cpu"]
    assert cpu.p95_inside is not None
    assert cpu.most_inside == pytest.approx(5 * cpu.p95_inside), "all of it may have been in a fifth of the period"
    assert "in the intervals alone" in interval_sentence(found["sender_cpu"])


def test_cloudwatch_s_points_are_joined_to_intervals_too_and_say_little_of_short_ones(stalls: Stalls) -> None:
    stalls.every = 2
    stalls.cloudwatch(PAIR_S, [90 + number % 3 if number % 2 else 10 + number % 3 for number in range(30)])
    found = stalls.asked()["cloudwatch_CPUUtilization"]
    assert (found.transfers, found.periods) == (15, 30)
    assert found.weight == pytest.approx(0.2)
    assert found.inside == pytest.approx(0.91, abs=0.01)
    assert found.judgement == "consistent_with"
    assert "means over 10.0 s, of which the intervals are 20.0 %" in interval_sentence(found)


def test_a_low_cpuutilization_during_stalls_is_reported_as_far_as_its_period_allows(stalls: Stalls) -> None:
    stalls.cloudwatch(PAIR_S, [4 + number % 3 for number in range(30)])
    found = stalls.asked()["cloudwatch_CPUUtilization"]
    assert found.judgement == "not_the_cause"
    assert "at most 30.0 % in the intervals alone), not the cause" in interval_sentence(found)


def test_what_a_short_stall_can_hide_in_a_long_period_is_not_called_low(stalls: Stalls) -> None:
    stalls.stall = (1.0, 1.05)
    stalls.counters(np.zeros(300), stalls.seconds(0.1, 0.0) + noise(stalls, 0.05))
    cpu = stalls.asked()["sender_cpu"]
    assert cpu.most_inside == 1.0
    assert cpu.judgement != "not_the_cause"


def test_too_few_transfers_with_the_factor_are_not_asked(new_run: Any) -> None:
    few = Stalls(new_run(), pairs=4)
    few.save()
    few.counters(few.seconds(0.4, 0.0), np.zeros(40))
    assert few.asked() == {}
    assert "no factor limited 5 transfers" in words(intervals_part(few.results()))
    assert list(interval_lines(few.results())) == []


def test_counters_of_another_time_are_not_measured(stalls: Stalls) -> None:
    stalls.host(cpu_steal=np.full(30, 0.3), moved_s=86_400)
    steal = stalls.asked()["sender_cpu_steal"]
    assert (steal.judgement, steal.inside) == ("not_measured", None)
    assert interval_sentence(steal).endswith("none of its periods with a value meets these intervals")


def test_intervals_of_the_receivers_capture_are_put_on_the_senders_clock_or_left_out(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01), noise(stalls, 0.05))
    stalls.side, stalls.ahead_s = "receiver", 3600.0
    assert stalls.asked() == {}
    stalls.made.record["clock"] = {"offset_s": 3600.0, "error_s": 0.001}
    stalls.made.save()
    assert stalls.asked()["sender_cpu_steal"].judgement == "varies_with"


def test_chance_names_nothing(new_run: Any) -> None:
    for number in range(4):
        chance = Stalls(new_run(f"run{number}"), pairs=20)
        chance.random = np.random.default_rng(number)
        chance.save()
        chance.counters(noise(chance, 0.4), noise(chance, 0.4))
        for factor in ("host_stall", "congestion_window"):
            assert not {"varies_with", "consistent_with"} & {one.judgement for one in chance.asked(factor).values()}


def test_answer_page_and_json_tell_what_goes_with_the_stalls_and_what_does_not(stalls: Stalls) -> None:
    stalls.counters(stalls.seconds(0.4, 0.01), 0.03 + noise(stalls, 0.04))
    run = stalls.results()
    lines = list(interval_lines(run))
    assert "while a host stall limited (30 intervals in 30 transfers):" in lines
    assert any("it goes with it" in line for line in lines)
    assert any("CPU of the sender" in line and "not the cause" in line for line in lines)
    assert "steal of the sender" in words(intervals_part(run))
    content = json.loads(as_bytes(document([run], [run.choose(None)])))
    jsonschema.validate(content, load("vmtrace.run_report.1"))
    rows = {(row["factor"], row["metric"]): row for row in content["runs"][0]["limit_influences"]}
    assert rows["host_stall", "sender_cpu_steal"]["judgement"] == "varies_with"


def test_a_factor_that_takes_much_time_of_slow_transfers_is_what_throughput_varies_with(campaign: Any) -> None:
    share = campaign.levels(0.0, 0.5)
    campaign.throughput[share > 0.1] *= 0.5
    campaign.save()
    found = campaign.results()
    transfers = []
    for one in found.transfers:
        held = float(share[one.pair.sequence - 1])
        limits = json.dumps({"loss_recovery": [held, 1.0], "congestion_window": [1 - held, 1.0]})
        transfers.append(replace(one, measures=replace(one.measures, limits=limits)))
    run = replace(found, transfers=tuple(transfers))
    by_name = {one.metric.name: one for one in variation(run).findings if one.role == "data"}
    assert by_name["limited_by_loss_recovery"].judgement == "varies_with"
    assert by_name["limited_by_congestion_window"].judgement == "rises_with"
    assert by_name["limited_by_host_stall"].judgement == "not_the_cause"
    assert "limited_by" not in by_name


@pytest.mark.parametrize(("open_s", "judgement"), [(0.0, "not_the_cause"), (0.2, "not_measured")])
def test_where_stops_are_left_open_it_is_not_said_that_no_host_stalled(
    campaign: Any, open_s: float, judgement: str
) -> None:
    campaign.save()
    found = campaign.results()
    limits = json.dumps({"unknown": [open_s, 1.0], "congestion_window": [1 - open_s, 1.0]})
    transfers = [replace(one, measures=replace(one.measures, limits=limits)) for one in found.transfers]
    findings = variation(replace(found, transfers=tuple(transfers))).findings
    stalled = next(one for one in findings if one.role == "data" and one.metric.name == "limited_by_host_stall")
    assert stalled.judgement == judgement


def test_without_captures_one_line_says_that_factors_are_not_known(campaign: Any) -> None:
    campaign.save()
    names = [one.metric.name for one in variation(campaign.results()).findings if one.role == "data"]
    assert [name for name in names if name.startswith("limited_by")] == ["limited_by"]


@pytest.fixture
def campaign(new_run: Any) -> Campaign:
    return Campaign(new_run())
