"""What proves the verdict on a run, what would help, each factor's share, and what limited the transfers."""

from collections.abc import Sequence

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text
from vmtrace.analyze.pages.texts import estimate_text, number_text
from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.limits import LimitRow, limit_rows, limit_sentences
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.variation.findings import variation
from vmtrace.analyze.reports.run.variation.words import spread_sentence
from vmtrace.analyze.reports.run.verdict.evidence import Evidence
from vmtrace.analyze.reports.run.verdict.findings import finding_lines
from vmtrace.analyze.reports.run.verdict.of_run import FactorShare, Predicted, RunVerdict, run_verdicts
from vmtrace.analyze.reports.run.verdict.of_set import FactorChange, verdict_changes
from vmtrace.analyze.reports.run.verdict.words import confidence_words, place
from vmtrace.analyze.tables.table import Column, Table, shown
from vmtrace.analyze.words.factors import IN_WORDS
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import count, printable, seconds, share, si
from vmtrace.formats.quantities import plural

_NAMES = {"all": "All transfers", "probe": "Probes", "data": "Data transfers"}


def changes_part(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    """Several runs: what is different about what limited them; nothing for one alone."""
    changes = verdict_changes(runs)
    if not changes:
        return ()
    columns: tuple[Column[tuple[str, FactorChange]], ...] = (
        Column("against the first", lambda one: printable(one[0]), left=True),
        Column("transfers", lambda one: one[1].role, left=True),
        Column("factor", lambda one: IN_WORDS.get(one[1].factor, one[1].factor), left=True),
        Column("share of time [percentage points]", lambda one: estimate_text(one[1].difference, 100)),
        Column("p, corrected", lambda one: number_text(one[1].p_adjusted)),
        Column("change", lambda one: one[1].change or ""),
    )
    numbers = shown(columns, ((one.after, row) for one in changes for row in one.factors))
    return Lines(tuple(one.sentence for one in changes)), numbers


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
    now_bps = found.goodput_bps
    columns: tuple[Column[Predicted], ...] = (
        Column("what if", lambda one: one.change, left=True),
        Column("throughput of the run", lambda one: si(one.goodput_bps, "bit/s")),
        Column("between", lambda one: si(one.low_bps, "bit/s")),
        Column("and", lambda one: si(one.high_bps, "bit/s")),
        Column("times as fast", lambda one: number_text(one.goodput_bps / now_bps if now_bps else None)),
        Column("transfers faster", lambda one: count(one.transfers)),
    )
    now = f"It reached {si(now_bps, 'bit/s')}, bytes over time of all transfers."
    return Text(now), shown(columns, found.what_if)


_EVIDENCE: tuple[Column[Evidence], ...] = (
    Column("evidence", lambda piece: piece.text, left=True),
    Column("in", place, left=True),
    Column("display filter for that capture", lambda piece: piece.display_filter, left=True),
)
_FACTORS: tuple[Column[FactorShare], ...] = (
    Column("factor", lambda row: IN_WORDS.get(row.factor, row.factor), left=True),
    Column("verdict in", lambda row: count(row.verdict_in)),
    Column("their share of time", lambda row: share(row.verdict_time_share)),
    Column("share of all time", lambda row: share(row.time_share)),
    Column("lost", lambda row: si(row.lost_bytes, "B")),
    Column("share of the shortfall", lambda row: share(row.lost_share)),
)


def _evidence(found: RunVerdict) -> tuple[Table, ...]:
    return (shown(_EVIDENCE, found.evidence),) if found.evidence else ()


def _factors(found: RunVerdict) -> Fold:
    judged = f"{plural(found.judged, 'transfer')} judged, {count(found.left_open)} undecided"
    return Fold(f"All factors: {judged}", (shown(_FACTORS, found.factors),))


def limits_part(run: RunResults) -> tuple[Block, ...]:
    """A sentence for each role, and time and loss by factor."""
    rows = limit_rows(run)
    if not rows:
        return (Text("No transfer has enough packets in a capture to judge what limited it."),)
    return (*map(Text, limit_sentences(rows, run.transfers)), shown(_COLUMNS, rows))


_COLUMNS: tuple[Column[LimitRow], ...] = (
    Column("transfers", lambda row: row.role, left=True),
    Column("factor", lambda row: factor_name(row.factor), left=True),
    Column("verdict in", lambda row: count(row.first_in)),
    Column("of", lambda row: count(row.judged)),
    Column("time", lambda row: seconds(row.time_s)),
    Column("share of time", lambda row: share(row.time_share)),
    Column("shortfall", lambda row: si(row.lost_bytes, "B")),
    Column("share of the shortfall", lambda row: share(row.lost_share)),
)
