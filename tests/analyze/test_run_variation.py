"""The answer for a run folder whose truth is known: what made its transfers slow, and what did not."""

import re
from typing import Any

import numpy as np
import pytest

from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.read.side.metrics import Metric
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.side_data import receiver_ahead_s, side_data
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.reports.run.variation.findings import Finding, variation
from vmtrace.analyze.reports.run.variation.words import answer, level, sentence, spread_sentence

SECOND = 10**9
START_NS = 1_700_000_000 * SECOND
PAIR_S, DATA_AT_S, DATA_LASTS_S = 10, 4, 4
CLOUD_HEAD = "start_ns,period_s,metric,namespace,dimensions,statistic,value,unit,cumulative,delta,open\n"


class Campaign:
    """Pairs every 10 s; the data transfer lasts from second 4 to 8 of its pair. Each pair has its own level of things.

    `noise` is the spread of throughput that has no reason.
    """

    def __init__(self, made: Any, pairs: int = 60, noise: float = 0.05) -> None:
        self.made, self.pairs = made, pairs
        self.random = np.random.default_rng(7)
        self.throughput = 8e6 * np.exp(noise * self.random.normal(size=pairs))

    def levels(self, low: float, high: float, share: float = 1 / 3) -> Any:
        """For each pair `low` or, for a share of them in no order, `high`."""
        return np.where(self.random.permutation(self.pairs) < share * self.pairs, high, low)

    def save(self) -> None:
        """The lines of `pairs.jsonl`."""
        for number in range(self.pairs):
            line = self.made.pair(number + 1)
            for role, at_s in (("probe", 1), ("data", DATA_AT_S)):
                start_ns = START_NS + (PAIR_S * number + at_s) * SECOND
                goodput_bps = float(self.throughput[number]) if role == "data" else 1e6
                more = {"start_ns": start_ns, "duration_s": DATA_LASTS_S, "goodput_bps": goodput_bps}
                line[role] = self.made.transfer(number + 1, role, goodput_bps) | more
            self.made.add(line)

    def host(self, side: str = "sender", moved_s: float = 0.0, **shares: Any) -> None:
        """A row each second; `cpu_steal=levels` is the share of time during each pair."""
        folder = self.made.folder / "host"
        folder.mkdir(exist_ok=True)
        names = [name for name in ("cpu_user", "cpu_steal") if name in shares]
        totals = dict.fromkeys([*names, "cpu_idle"], 0.0)
        rows = []
        for second in range(self.pairs * PAIR_S + 1):
            cells = ",".join(f"{totals[name]:.6f}" for name in (*names, "cpu_idle"))
            rows.append(f"{START_NS + round((second + moved_s) * SECOND)},{cells}\n")
            pair = min(second // PAIR_S, self.pairs - 1)
            for name in names:
                totals[name] += float(shares[name][pair])
            totals["cpu_idle"] += 1 - sum(float(shares[name][pair]) for name in names)
        header = ",".join(f"{name}_s" for name in (*names, "cpu_idle"))
        (folder / f"{side}.csv").write_text(f"# interval_s: 1.0\ntime_ns,{header}\n{''.join(rows)}")

    def cloudwatch(self, period_s: int, percent: Any) -> None:
        """CPUUtilization, one value for each period."""
        rows = "".join(
            f"{START_NS + number * period_s * SECOND},{period_s},CPUUtilization,NS,,Average,{value},,false,,false\n"
            for number, value in enumerate(percent)
        )
        (self.made.folder / "cloudwatch.csv").write_text(CLOUD_HEAD + rows)

    def results(self) -> RunResults:
        """The run, read and measured."""
        run = read_run(self.made.folder)
        return RunResults(run, tuple(Measuring(run).run()), run.problems)

    def findings(self, role: str = "data") -> dict[str, Finding]:
        """What was found of a role, by metric."""
        return {one.metric.name: one for one in variation(self.results()).findings if one.role == role}


@pytest.fixture
def campaign(new_run: Any) -> Campaign:
    """Sixty pairs whose throughput hardly varies."""
    return Campaign(new_run())


def test_steal_that_halves_throughput_is_named_with_its_effect_and_a_quiet_cpu_is_not(campaign: Campaign) -> None:
    steal = campaign.levels(0.001, 0.2)
    campaign.throughput[steal > 0.1] *= 0.5
    campaign.save()
    campaign.host(cpu_steal=steal, cpu_user=campaign.random.uniform(0.03, 0.06, campaign.pairs))
    found = campaign.findings()
    stolen = found["sender_cpu_steal"]
    assert stolen.judgement == "varies_with"
    assert stolen.effect is not None
    assert stolen.effect.transfers_beyond == 20
    assert stolen.effect.lower.value == pytest.approx(0.5, abs=0.05)
    assert stolen.association is not None
    assert (stolen.association.lag, stolen.coverage, stolen.weight) == (0, 1.0, 1.0)
    assert re.match(r"data throughput was \d\d % lower \[\d\d, \d\d\] while ", sentence(stolen))
    assert sentence(stolen).endswith("while steal of the sender exceeded 10.0 % (20 of 60 transfers)")
    assert found["sender_cpu"].judgement == "not_the_cause", "what was stolen is not what the host did"


def test_a_cpu_that_was_stable_and_low_is_called_that_whatever_throughput_did(campaign: Campaign) -> None:
    campaign.throughput[::3] *= 0.5
    campaign.save()
    campaign.host(cpu_user=campaign.random.uniform(0.03, 0.09, campaign.pairs))
    cpu = campaign.findings()["sender_cpu"]
    assert cpu.judgement == "not_the_cause"
    assert "CPU of the sender was stable and low (p95 " in sentence(cpu)
    assert sentence(cpu).endswith("): not the cause")


def test_load_that_has_nothing_to_do_with_it_is_not_the_cause_if_the_effect_is_known_to_be_small(
    campaign: Campaign,
) -> None:
    campaign.save()
    campaign.host(cpu_user=campaign.levels(0.2, 0.9, share=0.5))
    cpu = campaign.findings()["sender_cpu"]
    assert cpu.judgement == "not_the_cause"
    assert "hardly changes with CPU of the sender" in sentence(cpu)


def test_the_same_load_with_few_and_noisy_transfers_is_undecided_and_says_what_it_cannot_exclude(new_run: Any) -> None:
    noisy = Campaign(new_run(), pairs=14, noise=0.5)
    noisy.save()
    noisy.host(cpu_user=noisy.levels(0.2, 0.9, share=0.5))
    cpu = noisy.findings()["sender_cpu"]
    assert cpu.judgement == "undecided"
    assert "no relation shown" in sentence(cpu)


def test_a_cause_that_comes_a_few_seconds_before_is_found_at_its_lag(campaign: Campaign) -> None:
    steal = campaign.levels(0.0, 0.3)
    campaign.throughput[steal > 0.1] *= 0.5
    campaign.save()
    campaign.host(cpu_steal=steal)
    # Each pair's counters come 8 s early: at the transfer itself (4 to 8 s) are those of the pair behind, but for 2 s.
    campaign.host(cpu_steal=steal, moved_s=-5.0)
    stolen = campaign.findings()["sender_cpu_steal"]
    assert stolen.lag_s == 3.0
    assert stolen.judgement == "varies_with"
    assert "3.00 s later" in sentence(stolen)


def test_what_comes_after_the_transfers_is_no_cause_of_them(campaign: Campaign) -> None:
    steal = campaign.levels(0.0, 0.3)
    campaign.throughput[steal > 0.1] *= 0.5
    campaign.save()
    campaign.host(cpu_steal=steal, moved_s=7.0)
    stolen = campaign.findings()["sender_cpu_steal"]
    assert stolen.lag_s is not None
    assert stolen.lag_s < 0
    assert stolen.judgement == "consistent_with"
    assert "it comes after the transfers" in sentence(stolen)


def test_points_that_are_mostly_about_other_times_are_consistent_and_never_a_cause(campaign: Campaign) -> None:
    busy = campaign.levels(10, 90)
    campaign.throughput[busy > 50] *= 0.5
    campaign.save()
    campaign.cloudwatch(PAIR_S, busy)
    found = campaign.findings()["cloudwatch_CPUUtilization"]
    assert (found.coverage, found.weight) == (1.0, 0.4)
    assert found.judgement == "consistent_with"
    said = sentence(found)
    assert "consistent with it, no more (its values are means over 10.0 s, of which a transfer is 40.0 %)" in said


def test_low_utilisation_over_long_periods_is_not_the_cause_as_far_as_they_tell(campaign: Campaign) -> None:
    campaign.save()
    campaign.cloudwatch(60, [3, 7, 9, 5, 4, 6, 8, 3, 7, 9])
    found = campaign.findings()["cloudwatch_CPUUtilization"]
    assert found.judgement == "not_the_cause"
    assert sentence(found) == (
        "CPUUtilization by CloudWatch was stable and low (p95 9 %, range 3 % to 9 %): not the cause,"
        " as far as means over 60.0 s tell"
    )


def test_work_that_goes_with_high_throughput_is_no_reason_for_a_low_one(campaign: Campaign) -> None:
    busy = campaign.levels(0.4, 0.9)
    campaign.throughput[busy > 0.5] *= 2
    campaign.save()
    campaign.host(cpu_user=busy)
    cpu = campaign.findings()["sender_cpu"]
    assert cpu.judgement == "rises_with"
    assert "it is no reason for a low one" in sentence(cpu)


def test_a_level_that_is_always_bad_explains_no_difference_and_is_not_called_harmless(campaign: Campaign) -> None:
    campaign.throughput[::3] *= 0.5
    campaign.save()
    campaign.host(cpu_user=np.full(campaign.pairs, 1.0), cpu_steal=np.zeros(campaign.pairs))
    found = campaign.findings()
    assert found["sender_cpu"].judgement == "undecided"
    assert sentence(found["sender_cpu"]) == (
        "CPU of the sender was 100 % throughout: it explains no difference between transfers, and may slow them all"
    )
    assert found["sender_cpu_steal"].judgement == "not_the_cause"
    assert sentence(found["sender_cpu_steal"]).startswith("steal of the sender was 0 % throughout")


def test_too_few_transfers_are_too_few(new_run: Any) -> None:
    short = Campaign(new_run(), pairs=8)
    steal = short.levels(0.0, 0.3)
    short.throughput[steal > 0.1] *= 0.5
    short.save()
    short.host(cpu_steal=steal)
    stolen = short.findings()["sender_cpu_steal"]
    assert stolen.judgement == "too_few"
    assert sentence(stolen) == "steal of the sender: 8 transfers with a value, 10 are needed"


def test_what_was_not_recorded_is_named_with_the_reason(campaign: Campaign) -> None:
    campaign.save()
    (campaign.made.folder / "host").mkdir()
    (campaign.made.folder / "host/sender.csv").write_text("nothing\n")
    found = campaign.findings()
    reasons = {name: found[name].reason for name in ("sender_host", "receiver_host", "cloudwatch", "loss_rate")}
    assert reasons == {
        "sender_host": "its files hold none",
        "receiver_host": "not in the run folder",
        "cloudwatch": "not fetched (vmtrace cloudwatch fetch)",
        "loss_rate": "not captured, or not where it would show",
    }
    assert {found[name].judgement for name in reasons} == {"not_measured"}


def test_counters_of_another_time_do_not_meet_the_transfers(campaign: Campaign) -> None:
    campaign.save()
    campaign.host(cpu_steal=campaign.levels(0.0, 0.3), moved_s=86_400)
    stolen = campaign.findings()["sender_cpu_steal"]
    assert (stolen.judgement, stolen.reason) == ("not_measured", "its times and those of the transfers do not meet")


def test_the_receivers_counters_are_put_on_the_senders_clock_or_not_used(campaign: Campaign) -> None:
    steal = campaign.levels(0.0, 0.3)
    campaign.throughput[steal > 0.1] *= 0.5
    campaign.save()
    campaign.host("receiver", moved_s=3600.0, cpu_steal=steal)
    unknown = campaign.results()
    assert receiver_ahead_s(unknown) is None
    (absent,) = (one for one in side_data(unknown).absent if one.name == "receiver_host")
    assert absent.reason == "the offset of its clock is not known, so they cannot be aligned with the transfers"
    campaign.made.record["clock"] = {"offset_s": 3600.0, "error_s": 0.001}
    campaign.made.save()
    stolen = campaign.findings()["receiver_cpu_steal"]
    assert (stolen.judgement, stolen.association and stolen.association.lag) == ("varies_with", 0)


def test_asking_many_questions_of_chance_names_nothing(new_run: Any) -> None:
    for number in range(5):
        chance = Campaign(new_run(f"run{number}"), noise=0.3)
        chance.random = np.random.default_rng(number)
        chance.save()
        chance.host(cpu_user=chance.random.uniform(0, 0.5, 60), cpu_steal=chance.random.uniform(0, 0.5, 60))
        named = [one.judgement for one in chance.findings().values()]
        assert not {"varies_with", "consistent_with"} & set(named)


def test_the_whole_answer_says_how_unstable_it_is_and_then_everything_by_kind(campaign: Campaign) -> None:
    steal = campaign.levels(0.0, 0.2)
    campaign.throughput[steal > 0.1] *= 0.5
    campaign.save()
    campaign.host(cpu_steal=steal, cpu_user=np.full(campaign.pairs, 0.0))
    found = variation(campaign.results())
    said = spread_sentence("data", found.overall("data"))
    assert said.startswith("data throughput is unstable: coefficient of variation ")
    assert said.endswith("60 transfers, within each index")
    assert spread_sentence("probe", found.overall("probe")).startswith("probe throughput is steady: ")
    parts = dict(answer(found, "data"))
    assert next(iter(parts)) == "varies with"
    assert any("steal of the sender" in line for line in parts["varies with"])
    assert "CloudWatch's metrics: not fetched (vmtrace cloudwatch fetch)" in parts["not measured"]


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [("share", 0.071, "7.1 %"), ("s", 0.02, "20.0 ms"), ("per_s", 12.0, "12 per s"), ("count", 576.0, "576"),
     ("share", None, "-")],
)  # fmt: skip
def test_a_level_is_said_with_its_unit(unit: Any, value: float | None, text: str) -> None:
    assert level(Metric("x", "x", "host", unit), value) == text
