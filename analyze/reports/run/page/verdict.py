"""What proves the verdict on a run, what would help, and each factor's share."""

from collections.abc import Sequence

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Table, Text, table
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.findings import variation
from vmtrace.analyze.reports.run.variation.words import spread_sentence
from vmtrace.analyze.reports.run.verdict.findings import finding_lines
from vmtrace.analyze.reports.run.verdict.of_run import FactorShare, RunVerdict, run_verdicts
from vmtrace.analyze.reports.run.verdict.of_set import verdict_changes
from vmtrace.analyze.reports.run.verdict.words import confidence_words, place
from vmtrace.analyze.words.factors import IN_WORDS
from vmtrace.analyze.words.units import count, plural, printable, share, si

_NAMES = {"all": "All transfers", "probe": "Probes", "data": "Data transfers"}


def changes_part(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    """Several runs: what is different about what limited them; nothing for one alone."""
    changes = verdict_changes(runs)
    if not changes:
        return ()
    head = ("against the first", "transfers", "factor", "share of time [percentage points]", "p, corrected", "change")
    rows = [
        (
            [
                printable(one.after),
                row.role,
                IN_WORDS.get(row.factor, row.factor),
                estimate_text(row.difference, 100),
                number_text(row.p_adjusted),
                row.change or "",
            ],
            False,
        )
        for one in changes
        for row in one.factors
    ]
    return (Lines(tuple(one.sentence for one in changes)), table(head, rows, left=(0, 1, 2)))


def run_verdict_part(run: RunResults) -> tuple[Block, ...]:
    """What would help, the evidence, the verdicts on probes and data transfers, and every factor's shares."""
    whole, *parts = run_verdicts(run)
    spread = Lines(tuple(_spread(run)))
    if not whole.judged:
        return (spread,)
    others = Lines(
        tuple(f"{_NAMES[part.scope]}: {part.sentence}{confidence_words(part)}" for part in parts if part.judged)
    )
    return (Lines(tuple(finding_lines(run))), *_what_if(whole), *_evidence(whole), others, spread, _factors(whole))


def _spread(run: RunResults) -> list[str]:
    """Whether throughput is unstable; what it varies with stands further below."""
    found = variation(run)
    said = (spread_sentence(role, found.overall(role)) for role in ROLES)
    return [f"{one[:1].upper()}{one[1:]}." for one in said]


def _what_if(found: RunVerdict) -> tuple[Block, ...]:
    if not found.what_if:
        return ()
    head = ("what if", "throughput of the run", "between", "and", "times as fast", "transfers faster")
    now_bps = found.goodput_bps
    rows = [
        (
            [
                one.change,
                si(one.goodput_bps, "bit/s"),
                si(one.low_bps, "bit/s"),
                si(one.high_bps, "bit/s"),
                number_text(one.goodput_bps / now_bps if now_bps else None),
                count(one.transfers),
            ],
            False,
        )
        for one in found.what_if
    ]
    return Text(f"It reached {si(now_bps, 'bit/s')}, bytes over time of all transfers."), table(head, rows)


def _evidence(found: RunVerdict) -> tuple[Table, ...]:
    if not found.evidence:
        return ()
    head = ("evidence", "in", "display filter for that capture")
    rows = [([piece.text, place(piece), piece.display_filter], False) for piece in found.evidence]
    return (table(head, rows, left=(0, 1, 2)),)


def _factors(found: RunVerdict) -> Fold:
    head = ("factor", "verdict in", "their share of time", "share of all time", "lost", "share of the shortfall")
    numbers = table(head, ((_cells(row), False) for row in found.factors))
    judged = f"{plural(found.judged, 'transfer')} judged, {count(found.left_open)} undecided"
    return Fold(f"All factors: {judged}", (numbers,))


def _cells(row: FactorShare) -> list[str]:
    return [
        IN_WORDS.get(row.factor, row.factor),
        count(row.verdict_in),
        share(row.verdict_time_share),
        share(row.time_share),
        si(row.lost_bytes, "B"),
        share(row.lost_share),
    ]
