"""The parts of a report's page on what throughput varies with, and on what both sides' captures say together."""

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text, table
from vmtrace.analyze.pages.texts import estimate_text, index_name, number_text
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.human import two_sides_lines
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.two_sides.table import TwoSidesRow, two_sides_rows
from vmtrace.analyze.reports.run.variation.findings import Finding, Judgement, variation
from vmtrace.analyze.reports.run.variation.words import HEADINGS, answer, level, spread_sentence
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
    head = (
        "throughput of", "metric", "answer", "n", "least", "median", "p95", "most", "period", "coverage", "weight",
        "lag", "Spearman", "Pearson", "p, corrected", "beyond", "transfers beyond", "throughput lower [%]",
    )  # fmt: skip
    rows = ((_finding_cells(one), False) for one in found.findings)
    numbers = table(head, rows, left=(1, 2))
    return (*parts, Fold("All numbers", (numbers,)))


def _finding_cells(one: Finding) -> list[str]:
    association, effect, levels = one.association, one.effect, one.levels
    return [
        one.role,
        printable(one.metric.full_label),
        HEADINGS[one.judgement],
        count(levels.transfers),
        *(level(one.metric, value) for value in (levels.least, levels.median, levels.p95, levels.most)),
        seconds(one.period_s),
        share(one.coverage),
        share(one.weight),
        seconds(one.lag_s) if association and association.p_value is not None else ABSENT,
        estimate_text(association.spearman) if association else ABSENT,
        estimate_text(association.pearson) if association else ABSENT,
        number_text(one.p_adjusted),
        level(one.metric, effect.threshold) if effect else ABSENT,
        count(effect.transfers_beyond) if effect else ABSENT,
        estimate_text(effect.lower, 100) if effect else ABSENT,
    ]


def two_sides_part(run: RunResults) -> tuple[Block, ...]:
    """Exact loss, delays and located pauses by index, or that there are none."""
    rows = two_sides_rows(run)
    if not rows:
        return (Text("No transfer was captured on both sides."),)
    head = (
        "index", "transfer", "matched", "not matched", "data segments", "lost", "mean loss [%]",
        "median one-way delay [ms]", "above the least [ms]", "pauses at sender", "on path", "at receiver",
        "path or receiver", "not located",
    )  # fmt: skip
    numbers = table(head, ((_two_sides_cells(row), row.index is None) for row in rows))
    return Lines(tuple(two_sides_lines(run))), numbers


def _two_sides_cells(row: TwoSidesRow) -> list[str]:
    gaps = (row.gaps_at_sender, row.gaps_on_path, row.gaps_at_receiver, row.gaps_path_or_receiver, row.gaps_unlocated)
    return [
        index_name(row.index),
        row.role,
        count(row.transfers),
        count(row.not_matched),
        count(row.data_segments),
        count(row.lost_segments),
        estimate_text(row.mean_loss_rate, 100),
        estimate_text(row.median_one_way_delay_s, 1e3),
        estimate_text(row.median_queueing_delay_s, 1e3),
        *map(count, gaps),
    ]
