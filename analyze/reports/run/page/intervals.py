"""The part of a report's page on what hosts and CloudWatch show while a factor limited."""

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines
from vmtrace.analyze.reports.run.variation.intervals import FEWEST_INTERVALS, IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import HEADINGS, level
from vmtrace.analyze.tables.table import Column, shown
from vmtrace.analyze.words.factors import IN_WORDS
from vmtrace.analyze.words.units import count, printable, seconds, share


def intervals_part(run: RunResults) -> tuple[Block, ...]:
    """Sentences on what goes with a factor and what does not, and the numbers."""
    found = interval_findings(run)
    if not found:
        few = f"no factor limited {FEWEST_INTERVALS} transfers"
        return (Text(f"Nothing to compare: {few}, or there are no metrics besides the packets."),)
    said = Lines(tuple(line.strip() for line in interval_lines(run) if line))
    return said, Fold("All numbers", (shown(_COLUMNS, found),))


_COLUMNS: tuple[Column[IntervalFinding], ...] = (
    Column("while limited by", lambda one: IN_WORDS.get(one.factor, one.factor), left=True),
    Column("metric", lambda one: printable(one.metric.full_label), left=True),
    Column("answer", lambda one: HEADINGS[one.judgement], left=True),
    Column("intervals", lambda one: count(one.intervals)),
    Column("transfers", lambda one: count(one.transfers)),
    Column("periods", lambda one: count(one.periods)),
    Column("inside", lambda one: level(one.metric, one.inside)),
    Column("outside", lambda one: level(one.metric, one.outside)),
    Column("inside less outside", lambda one: estimate_text(one.difference)),
    Column("p95 inside", lambda one: level(one.metric, one.p95_inside)),
    Column("period", lambda one: seconds(one.period_s)),
    Column("coverage", lambda one: share(one.coverage)),
    Column("weight", lambda one: share(one.weight)),
    Column("lag", lambda one: seconds(one.lag_s)),
    Column("Spearman", lambda one: number_text(one.spearman)),
    Column("p, corrected", lambda one: number_text(one.p_adjusted)),
)
