"""The part of a report's page that comes first: why the run was slow, what proves it, and what would help."""

from collections.abc import Sequence
from html import escape

from analyze.pages.markup import estimate_text, number_text, table
from analyze.records.run import ROLES
from analyze.run.results import RunResults
from analyze.run.variation.findings import variation
from analyze.run.variation.words import spread_sentence
from analyze.run.verdict.judged import IN_WORDS
from analyze.run.verdict.of_run import FactorShare, RunVerdict, run_verdicts
from analyze.run.verdict.of_set import verdict_changes
from analyze.run.verdict.words import confidence_words, place
from analyze.units import count, plural, printable, share, si


def changes_part(runs: Sequence[RunResults]) -> str:
    """Several runs: what is different about what limited them; nothing for one alone."""
    changes = verdict_changes(runs)
    if not changes:
        return ""
    said = "".join(f"<li>{escape(one.sentence)}</li>" for one in changes)
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
    return f"<h3>What changed</h3><ul>{said}</ul>{table(head, rows, left=(0, 1, 2))}"


_NAMES = {"all": "All transfers", "probe": "Probes", "data": "Data transfers"}


def run_verdict_part(run: RunResults) -> str:
    """The sentence of the run, of probes and data, evidence, what would help, and every factor's shares."""
    whole, *parts = run_verdicts(run)
    if not whole.judged:
        return f'<p class="sentence">{escape(whole.sentence)}</p>{_spread(run)}'
    said = f'<p class="sentence">{escape(whole.sentence)}{escape(confidence_words(whole))}</p>{_spread(run)}'
    others = "".join(
        f"<li>{_NAMES[part.scope]}: {escape(part.sentence)}{escape(confidence_words(part))}</li>" for part in parts
    )
    return f"{said}<ul>{others}</ul>{_what_if(whole)}{_evidence(whole)}{_factors(whole)}"


def _spread(run: RunResults) -> str:
    """Whether throughput is unstable; what it varies with stands further below."""
    found = variation(run)
    said = (spread_sentence(role, found.overall(role)) for role in ROLES)
    return "".join(f"<p>{escape(one[:1].upper() + one[1:])}.</p>" for one in said)


def _what_if(found: RunVerdict) -> str:
    if not found.what_if:
        return ""
    head = ("what if", "throughput of the run", "times as fast", "transfers faster")
    now_bps = found.goodput_bps
    rows = [
        (
            [
                one.change,
                si(one.goodput_bps, "bit/s"),
                number_text(one.goodput_bps / now_bps if now_bps else None),
                count(one.transfers),
            ],
            False,
        )
        for one in found.what_if
    ]
    return f"<p>It reached {escape(si(now_bps, 'bit/s'))}, bytes over time of all transfers.</p>{table(head, rows)}"


def _evidence(found: RunVerdict) -> str:
    if not found.evidence:
        return ""
    head = ("evidence", "in", "display filter for that capture")
    rows = [([piece.text, place(piece), piece.display_filter], False) for piece in found.evidence]
    return table(head, rows, left=(0, 1, 2))


def _factors(found: RunVerdict) -> str:
    head = ("factor", "verdict in", "their share of time", "share of all time", "lost", "share of what was lost")
    numbers = table(head, ((_cells(row), False) for row in found.factors))
    judged = f"{plural(found.judged, 'transfer')} judged, {count(found.left_open)} left open"
    return f"<details><summary>all factors: {escape(judged)}</summary>{numbers}</details>"


def _cells(row: FactorShare) -> list[str]:
    return [
        IN_WORDS.get(row.factor, row.factor),
        count(row.verdict_in),
        share(row.verdict_time_share),
        share(row.time_share),
        si(row.lost_bytes, "B"),
        share(row.lost_share),
    ]
