"""What was found of a run's throughput, in sentences."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from vmtrace.analyze.read.records.run import Role
from vmtrace.analyze.read.side.metrics import Metric
from vmtrace.analyze.read.side.overlap import ENOUGH
from vmtrace.analyze.reports.run.variation.findings import SMALL_EFFECT, Finding, Judgement, Variation
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.stats.spread import Spread
from vmtrace.analyze.words.units import ABSENT, printable, ratio, seconds, share
from vmtrace.formats.quantities import plural

ORDER: tuple[Judgement, ...] = (
    "varies_with", "consistent_with", "undecided", "rises_with", "not_the_cause", "too_few", "not_measured",
)  # fmt: skip
HEADINGS: dict[Judgement, str] = {
    "varies_with": "varies with",
    "consistent_with": "consistent with",
    "undecided": "undecided",
    "rises_with": "goes with higher throughput",
    "not_the_cause": "ruled out",
    "too_few": "too few transfers",
    "not_measured": "not measured",
}
_WEAK = 0.3


def spread_sentence(role: Role, found: Spread) -> str:
    """Is throughput unstable?"""
    variation = found.coefficient_of_variation
    if variation.value is None:
        return f"{role} throughput: too few transfers of each index to say whether it is steady"
    number = f"coefficient of variation {_variation(variation.value)}{_interval(variation)}"
    of = f"{plural(variation.n, 'transfer')}, within each index"
    verdict = {
        "steady": "is steady",
        "unstable": "is unstable",
        "undecided": "is neither clearly steady nor clearly unstable",
        "too_few": "has too few transfers to tell whether it is stable",
    }[found.judgement]
    return f"{role} throughput {verdict}: {number}, {of}"


def _variation(value: float) -> str:
    """What may be more than the whole: a share would stop there."""
    return share(value) if value < 1 else ratio(value)


def sentence(found: Finding) -> str:
    """One metric's answer."""
    label = printable(found.metric.full_label)
    if found.judgement in ("not_measured", "too_few"):
        return f"{label}: {found.reason or 'too few transfers'}"
    if found.judgement == "not_the_cause":
        return _not_the_cause(found, label)
    if found.judgement == "undecided" and found.levels.constant:
        always = f"{label} was {level(found.metric, found.levels.most)} throughout"
        return f"{always}: it explains no difference between transfers, and may slow them all"
    if found.judgement == "undecided":
        return f"{label} ({_levels(found)}): no relation shown{_not_excluded(found)}"
    if found.judgement == "rises_with":
        return (
            f"{label} goes with higher {found.role} throughput ({_correlation(found)}): it is no reason for a low one"
        )
    how = _lower(found, label) + _lag(found)
    return how if found.judgement == "varies_with" else f"{how}: consistent with it, no more ({_why_no_more(found)})"


def answer(found: Variation, role: Role) -> Iterator[tuple[str, list[str]]]:
    """The answer of a role for people: headings with their sentences; what says little as names on one line."""
    for judgement in ORDER:
        chosen = [one for one in found.of(role) if one.judgement == judgement]
        chosen.sort(key=lambda one: -abs(_spearman(one) or 0.0))
        if not chosen:
            continue
        yield HEADINGS[judgement], list(_lines(judgement, chosen))


def _lines(judgement: Judgement, chosen: list[Finding]) -> Iterator[str]:
    if judgement in ("undecided", "rises_with", "too_few"):
        yield names(chosen)
        return
    nothing = [one for one in chosen if judgement == "not_the_cause" and one.levels.most == one.levels.least == 0]
    yield from (sentence(one) for one in chosen if one not in nothing)
    if nothing:
        yield f"always zero: {names(nothing)}"


def names(findings: list[Finding]) -> str:
    """Names of the findings' metrics."""
    return metric_names(one.metric for one in findings)


def metric_names(metrics: Iterable[Metric]) -> str:
    """Names of metrics, the same one of several places once: `steal (sender, receiver)`."""
    places: dict[str, list[str]] = {}
    for one in metrics:
        where = places.setdefault(printable(one.label), [])
        where += [printable(one.place)] if one.place else []
    return ", ".join(f"{label} ({', '.join(where)})" if where else label for label, where in places.items())


def level(metric: Metric, value: float | None) -> str:
    """A value of a metric with its unit."""
    if value is None:
        return ABSENT
    if metric.unit == "share":
        return share(value)
    if metric.unit == "s":
        return seconds(value)
    return f"{value:.3g}" + (" per s" if metric.unit == "per_s" else "")


def _not_the_cause(found: Finding, label: str) -> str:
    levels = found.levels
    if levels.constant:
        return (
            f"{label} was {level(found.metric, levels.most)} throughout: {found.role} throughput does not vary with it"
        )
    harmless = found.metric.harmless
    if harmless is not None and levels.p95 is not None and levels.p95 <= harmless:
        stable = "stable and low" if _stable(found) else "low"
        return f"{label} was {stable} ({_levels(found)}): not the cause{_as_means(found)}"
    return f"{found.role} throughput hardly changes with {label} ({_effect(found)}): not the cause{_as_means(found)}"


def _stable(found: Finding) -> bool:
    """The metric's whole range is no more than the change that is called none."""
    least, most = found.levels.least, found.levels.most
    return found.metric.unit == "share" and least is not None and most is not None and most - least <= SMALL_EFFECT


def _lower(found: Finding, label: str) -> str:
    effect = found.effect
    if effect is not None and effect.lower.low is not None and effect.lower.low > 0:
        return f"{found.role} throughput was {_effect(found)} while {label} {_beyond(found)}"
    falls = "falls as" if found.metric.harm == "high" else "rises with"
    end = " rises" if found.metric.harm == "high" else ""
    weakly = "weakly " if abs(_spearman(found) or 0.0) < _WEAK else ""
    return f"{found.role} throughput {weakly}{falls} {label}{end} ({_correlation(found)})"


def _effect(found: Finding) -> str:
    """`41 % lower [30, 50 %]`."""
    effect = found.effect
    if effect is None or effect.lower.value is None:
        return "no effect known"
    lower = effect.lower
    word = "lower" if lower.value is None or lower.value >= 0 else "higher"
    sign = 1 if word == "lower" else -1
    ends = sorted(sign * 100 * end for end in (lower.low or 0.0, lower.high or 0.0))
    return f"{abs(100 * (lower.value or 0.0)):.0f} % {word} [{ends[0]:.0f}, {ends[1]:.0f}]"


def _beyond(found: Finding) -> str:
    effect = found.effect
    if effect is None or effect.threshold is None:
        return ""
    if effect.threshold == 0 and found.metric.harm == "high":
        return f"was not 0 ({effect.transfers_beyond:,} of {plural(effect.lower.n, 'transfer')})"
    word = "was at most" if found.metric.harm == "low" else "exceeded"
    there = f"{effect.transfers_beyond:,} of {plural(effect.lower.n, 'transfer')}"
    return f"{word} {level(found.metric, effect.threshold)} ({there})"


def _levels(found: Finding) -> str:
    levels, metric = found.levels, found.metric
    return f"p95 {level(metric, levels.p95)}, range {level(metric, levels.least)} to {level(metric, levels.most)}"


def _correlation(found: Finding) -> str:
    if found.association is None or found.association.spearman.value is None:
        return "correlation not known"
    spearman = found.association.spearman
    return (
        f"Spearman {spearman.value:+.2f} [{spearman.low:+.2f}, {spearman.high:+.2f}], {plural(spearman.n, 'transfer')}"
    )


def _spearman(found: Finding) -> float | None:
    return found.association.spearman.value if found.association else None


def _lag(found: Finding) -> str:
    lag_s = found.lag_s
    if not lag_s:
        return ""
    return f", {seconds(abs(lag_s))} {'later' if lag_s > 0 else 'earlier'}"


def _why_no_more(found: Finding) -> str:
    return doubts(found, ("a transfer", "a transfer is"), "the transfers that it would explain")


class Joined(Protocol):
    """How well a metric's values cover what they were joined to; see `Finding`."""

    @property
    def period_s(self) -> float | None:
        """Between two values."""

    @property
    def coverage(self) -> float | None:
        """Share of the time that has values."""

    @property
    def weight(self) -> float | None:
        """Share of the values' time that lies in it."""

    @property
    def lag_s(self) -> float | None:
        """By how much the metric came before."""


def doubts(found: Joined, of: tuple[str, str], comes_after: str) -> str:
    """What keeps a relation from being more than consistent: means over too long a time, too few values, the order.

    `of` is what the metric was joined to, in the singular or plural that "has values" and "... is" want.
    """
    holder, holds = of
    reasons = []
    if found.weight is not None and found.weight < ENOUGH:
        reasons.append(f"its values are means over {seconds(found.period_s)}, of which {holds} {share(found.weight)}")
    if found.coverage is not None and found.coverage < ENOUGH:
        reasons.append(f"only {share(found.coverage)} of {holder} has values")
    if found.lag_s is not None and found.lag_s < 0:
        reasons.append(f"it comes after {comes_after}")
    return " and ".join(reasons)


def _as_means(found: Finding) -> str:
    """What a low mean over much longer than a transfer cannot exclude."""
    if found.weight is None or found.weight >= ENOUGH:
        return ""
    return f", as far as means over {seconds(found.period_s)} tell"


def _not_excluded(found: Finding) -> str:
    effect = found.effect
    if effect is None or effect.lower.high is None or effect.lower.high <= 0:
        return f" in {plural(found.levels.transfers, 'transfer')}"
    return f", up to {100 * effect.lower.high:.0f} % lower throughput cannot be excluded"


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"
