"""The parts of a report's page on what throughput varies with, and on what hosts show while a factor limited."""

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text
from vmtrace.analyze.pages.texts import estimate_text, index_name, number_text
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.human import two_sides_lines
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.two_sides.table import TwoSidesRow, two_sides_rows
from vmtrace.analyze.reports.run.variation.findings import Finding, Judgement, variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines
from vmtrace.analyze.reports.run.variation.intervals import FEWEST_INTERVALS, IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import HEADINGS, answer, level, spread_sentence
from vmtrace.analyze.tables.table import Column, shown
from vmtrace.analyze.words.factors import IN_WORDS
from vmtrace.analyze.words.units import ABSENT, count, printable, seconds, share

_NO_ANSWER: tuple[Judgement, ...] = ("too_few", "not_measured")
"""What one line of the first screen is about."""


def variation_part(run: RunResults) -> tuple[Block, ...]:
    """The answer of each role in sentences, and the numbers behind them."""
    found = variation(run)
    parts = list[Block]()
    without = {HEADINGS[judgement] for judgement in _NO_ANSWER}
    for role in ROLES:
        parts.append(Text(f"{spread_sentence(role, found.overall(role))}."))
        parts += [Lines(tuple(sentences), title=said) for said, sentences in answer(found, role) if said not in without]
    return (*parts, Fold("All numbers", (shown(_FINDINGS, found.findings),)))


_FINDINGS: tuple[Column[Finding], ...] = (
    Column("throughput of", lambda one: one.role, left=True),
    Column("metric", lambda one: printable(one.metric.full_label), left=True),
    Column("answer", lambda one: HEADINGS[one.judgement], left=True),
    Column("n", lambda one: count(one.levels.transfers)),
    Column("least", lambda one: level(one.metric, one.levels.least)),
    Column("median", lambda one: level(one.metric, one.levels.median)),
    Column("p95", lambda one: level(one.metric, one.levels.p95)),
    Column("most", lambda one: level(one.metric, one.levels.most)),
    Column("period", lambda one: seconds(one.period_s)),
    Column("coverage", lambda one: share(one.coverage)),
    Column("weight", lambda one: share(one.weight)),
    Column("lag", lambda one: seconds(one.lag_s) if _is_tested(one) else ABSENT),
    Column("Spearman", lambda one: estimate_text(one.association.spearman) if one.association else ABSENT),
    Column("Pearson", lambda one: estimate_text(one.association.pearson) if one.association else ABSENT),
    Column("p, corrected", lambda one: number_text(one.p_adjusted)),
    Column("beyond", lambda one: level(one.metric, one.effect.threshold) if one.effect else ABSENT),
    Column("transfers beyond", lambda one: count(one.effect.transfers_beyond) if one.effect else ABSENT),
    Column("throughput lower [%]", lambda one: estimate_text(one.effect.lower, 100) if one.effect else ABSENT),
)


def _is_tested(one: Finding) -> bool:
    return one.association is not None and one.association.p_value is not None


def two_sides_part(run: RunResults) -> tuple[Block, ...]:
    """Exact loss, delays and located pauses by index, or that there are none."""
    rows = two_sides_rows(run)
    lines = tuple(two_sides_lines(run))
    if not rows:
        return (Lines(lines),) if lines else (Text("No transfer was captured on both sides."),)
    return Lines(lines), shown(_TWO_SIDES, rows, total=lambda row: row.index is None)


_TWO_SIDES: tuple[Column[TwoSidesRow], ...] = (
    Column("index", lambda row: index_name(row.index), left=True),
    Column("transfer", lambda row: row.role),
    Column("matched", lambda row: count(row.transfers)),
    Column("not matched", lambda row: count(row.not_matched)),
    Column("data segments", lambda row: count(row.data_segments)),
    Column("lost", lambda row: count(row.lost_segments)),
    Column("mean loss [%]", lambda row: estimate_text(row.mean_loss_rate, 100)),
    Column("median one-way delay [ms]", lambda row: estimate_text(row.median_one_way_delay_s, 1e3)),
    Column("above the least [ms]", lambda row: estimate_text(row.median_queueing_delay_s, 1e3)),
    Column("pauses at sender", lambda row: count(row.gaps_at_sender)),
    Column("on path", lambda row: count(row.gaps_on_path)),
    Column("at receiver", lambda row: count(row.gaps_at_receiver)),
    Column("path or receiver", lambda row: count(row.gaps_path_or_receiver)),
    Column("not located", lambda row: count(row.gaps_unlocated)),
)


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
