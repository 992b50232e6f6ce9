"""The first screen of a report on runs: why it was slow in a sentence, throughput over time, a bar of causes.

What could not be measured is one line, its list behind a fold.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Lines, Shares, Text, summary
from vmtrace.analyze.pages.causes import cause_shares
from vmtrace.analyze.read.records.run import ROLES, Role
from vmtrace.analyze.reports.run.charts.by_cause import MOST_PANELS, cause_of
from vmtrace.analyze.reports.run.human import baseline_lines, trouble
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.variation.findings import Finding, variation
from vmtrace.analyze.reports.run.variation.words import metric_names
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.reports.run.verdict.words import confidence_words
from vmtrace.analyze.stats.association import FEWEST
from vmtrace.analyze.words.factors import in_words
from vmtrace.analyze.words.outcomes import CLAUSES
from vmtrace.analyze.words.units import printable, si
from vmtrace.formats.quantities import plural

_HEIGHT = 210
_ROLES_SAID: dict[Role, str] = {"data": "data transfers", "probe": "probes"}


def answer(runs: Sequence[RunResults], lead: Chart | None) -> tuple[Block, ...]:
    """The blocks of the first screen; `lead` is the figure of throughput over time."""
    several = len(runs) > 1
    figure = (Figures((lead,), height=_HEIGHT // (1 + several)),) if lead else ()
    said = _of_several(runs) if several else _of_one(runs[0])
    bars = [cause_bar(run.name, run.transfers) for run in runs] if len(runs) <= MOST_PANELS else []
    if not several:
        bars = [cause_bar("", runs[0].transfers)]
    elif not bars:
        bars = [cause_bar("all runs", [one for run in runs for one in run.transfers])]
    return (*_outcomes(runs), *said, *figure, *bars, *unmeasured(runs), *_troubles(runs))


def _outcomes(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    """What became of connections that did not move their data or end well: before why the others were slow."""
    found: dict[str, list[str]] = {}
    for run in runs:
        for one in run.transfers:
            for kind, sentence in json.loads(one.measures.outcomes or "[]"):
                where = f"pair {one.pair.sequence}, {one.transfer.role}: {printable(sentence)}"
                found.setdefault(kind, []).append(f"{printable(run.name)}, {where}" if len(runs) > 1 else where)
    lines = [
        f"{plural(len(said), 'connection')} {CLAUSES.get(kind, printable(kind))}. The first: {said[0]}"
        if len(said) > 1
        else said[0]
        for kind, said in sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    return (Lines(tuple(lines), "What became of connections"),) if lines else ()


def first_sentence(text: str) -> tuple[str, str]:
    """The first sentence, and the rest. Numbers have no space behind their point."""
    first, _, rest = re.sub(r"\. (?=[A-Z])", ".\n", text, count=1).partition("\n")
    return first, rest


def _of_one(run: RunResults) -> tuple[Block, ...]:
    found = run_verdict(run)
    first, rest = first_sentence(found.sentence)
    more = " ".join(part for part in (rest, confidence_words(found).strip(" ()").capitalize()) if part)
    said = (throughput_line(run), f"{printable(more)}.".replace("..", ".") if more else "")
    return (Text(printable(first), "sentence"), *(Text(one) for one in said if one))


def throughput_line(run: RunResults) -> str:
    """How fast the transfers were, by what they are for; empty where none was measured."""
    parts = []
    for role, said in _ROLES_SAID.items():
        values = goodput_bps(run.of(role))
        rates = np.sort(values[np.isfinite(values)])
        if len(rates):
            spread = f" ({si(rates[0], 'bit/s')} to {si(rates[-1], 'bit/s')})" if len(rates) > 1 else ""
            parts.append(f"{said} {si(float(np.median(rates)), 'bit/s')}{spread}")
    return f"Median throughput: {', '.join(parts)}." if parts else ""


def _of_several(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    verdicts = [(run, run_verdict(run)) for run in runs]
    number = Counter(found.factor for _, found in verdicts if found.factor and not found.is_open)
    parts = [f"{in_words([factor])} limited {count:,} of {len(runs):,} runs" for factor, count in number.most_common(3)]
    silent = sum(not found.judged for _, found in verdicts)
    parts += [f"{plural(silent, 'run')} cannot be judged"] if parts and silent else []
    first = "; ".join(parts) or f"What limited these {len(runs):,} runs is undecided"
    said = Text(f"{first[0].upper()}{first[1:]}.", "sentence")
    if len(runs) > MOST_PANELS:
        return (said,)
    lines = [f"{run.name}: {first_sentence(found.sentence)[0]} {throughput_line(run)}" for run, found in verdicts]
    return said, Lines(tuple(map(printable, lines)))


def cause_bar(name: str, transfers: Sequence[MeasuredTransfer]) -> Shares:
    """The time of all transfers by the factor of their verdicts."""
    time_s, number = dict[str, float](), Counter[str]()
    for one in transfers:
        cause = cause_of(one)
        time_s[cause] = time_s.get(cause, 0.0) + max(one.transfer.duration_s, 0.0)
        number[cause] += 1
    label = f"{printable(name)}: what limited the transfers" if name else "What limited the transfers"
    return cause_shares(label, time_s, lambda cause: f" of the time, {plural(number[cause], 'transfer')}")


def unmeasured(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    """One line for all possible causes that no answer can be given on, with their names behind it."""
    missing = [
        (run, role, one)
        for run in runs[:MOST_PANELS]
        for role in ROLES
        for one in variation(run).of(role)
        if one.judgement in ("too_few", "not_measured")
    ]
    if not missing:
        return ()
    # What was asked of too few transfers has an association without a number; what was not measured has none.
    few = _metrics(one for _, _, one in missing if one.association is not None)
    none = _metrics(one for _, _, one in missing if one.association is None) - few
    said = [f"{plural(len(few), 'possible cause')} {_needs(few)} {FEWEST} or more transfers"] if few else []
    was = "was" if len(none) == 1 else "were"
    said += [f"{plural(len(none), 'possible cause')} {was} not measured"] if none else []
    return (Fold("; ".join(said), tuple(_reasons(runs, missing)), id="unmeasured"),)


def _needs(few: set[str]) -> str:
    return "needs" if len(few) == 1 else "need"


def _metrics(findings: Iterable[Finding]) -> set[str]:
    return {f"{one.metric.name} {one.metric.dimensions}" for one in findings}


def _reasons(runs: Sequence[RunResults], missing: Sequence[tuple[RunResults, str, Finding]]) -> list[Lines]:
    """The names, by why there is no answer; once where it is the same for probes and data transfers."""
    groups: dict[tuple[str, str, str], list[Finding]] = {}
    for run, role, one in missing:
        groups.setdefault((run.name if len(runs) > 1 else "", one.reason or "too few transfers", role), []).append(one)
    merged: dict[tuple[str, str, str], list[str]] = {}
    for (name, why, role), found in groups.items():
        merged.setdefault((name, why, metric_names(one.metric for one in found)), []).append(role)
    return [
        Lines((names,), title=f"{f'{printable(name)}, ' if name else ''}{' and '.join(roles)}: {printable(why)}")
        for (name, why, names), roles in merged.items()
    ]


def _first_and_more(names: Sequence[str]) -> str:
    """`run-8 and 124 more runs`."""
    return names[0] if len(names) == 1 else f"{names[0]} and {plural(len(names) - 1, 'more run')}"


def _troubles(runs: Sequence[RunResults]) -> tuple[Block, ...]:
    """What makes the numbers less than the whole, and the baseline."""
    named = len(runs) > 1
    found: dict[str, list[str]] = {}
    for run in runs:
        for line in trouble(run):
            found.setdefault(line, []).append(printable(run.name))
    lines = tuple(f"{_first_and_more(names)}: {line}" if named else line for line, names in found.items())
    plain = tuple(line for run in runs[:1] for line in baseline_lines(run)) if not named else ()
    return summary("", lines, plain)
