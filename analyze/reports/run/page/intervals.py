"""The part of a report's page on what hosts and CloudWatch show while a factor limited."""

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text, table
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines
from vmtrace.analyze.reports.run.variation.intervals import FEWEST_INTERVALS, IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import HEADINGS, level
from vmtrace.analyze.words.factors import IN_WORDS
from vmtrace.analyze.words.units import count, printable, seconds, share


def intervals_part(run: RunResults) -> tuple[Block, ...]:
    """Sentences on what goes with a factor and what does not, and the numbers."""
    found = interval_findings(run)
    if not found:
        few = f"no factor limited {FEWEST_INTERVALS} transfers"
        return (Text(f"Nothing to compare: {few}, or there are no metrics besides the packets."),)
    said = Lines(tuple(line.strip() for line in interval_lines(run) if line))
    head = (
        "while limited by", "metric", "answer", "intervals", "transfers", "periods", "inside", "outside",
        "inside less outside", "p95 inside", "period", "coverage", "weight", "lag", "Spearman", "p, corrected",
    )  # fmt: skip
    numbers = table(head, ((_cells(one), False) for one in found), left=(1, 2))
    return said, Fold("All numbers", (numbers,))


def _cells(one: IntervalFinding) -> list[str]:
    return [
        IN_WORDS.get(one.factor, one.factor),
        printable(one.metric.full_label),
        HEADINGS[one.judgement],
        count(one.intervals),
        count(one.transfers),
        count(one.periods),
        *(level(one.metric, value) for value in (one.inside, one.outside)),
        estimate_text(one.difference),
        level(one.metric, one.p95_inside),
        seconds(one.period_s),
        share(one.coverage),
        share(one.weight),
        seconds(one.lag_s),
        number_text(one.spearman),
        number_text(one.p_adjusted),
    ]
