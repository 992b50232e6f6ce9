"""The short answer of a run on the terminal: Table 2, how probe and data go together, and what is missing."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vmtrace.analyze.read.records.run import ROLES
from vmtrace.analyze.reports.run.charts.throughput_pairs import correlation_text
from vmtrace.analyze.reports.run.limits import limit_rows, limit_sentences
from vmtrace.analyze.reports.run.losses.bursts import loss_burst_rows
from vmtrace.analyze.reports.run.prediction import DESCRIPTIONS
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import (
    MetricsRow,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
    run_baseline,
)
from vmtrace.analyze.reports.run.two_sides.table import ClockRow, clock_row, two_sides_rows
from vmtrace.analyze.reports.run.variation.findings import variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_lines
from vmtrace.analyze.reports.run.variation.words import answer, spread_sentence
from vmtrace.analyze.reports.run.verdict.of_set import verdict_changes
from vmtrace.analyze.reports.run.verdict.words import verdict_lines
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.tables.table import Column, Row, Table, shown
from vmtrace.analyze.tables.terminal_table import terminal_table
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share, si
from vmtrace.formats.quantities import plural

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_UNSETTLED = {"running": "still running, or killed", "interrupted": "interrupted", "failed": "failed"}


def show(results: RunResults, console: "Console") -> None:
    """Print the answer for one run."""
    from rich.text import Text

    console.print(Text(heading(results), "bold"), soft_wrap=True)
    for line in trouble(results):
        console.print(Text(f"  {line}", "yellow"), soft_wrap=True)
    for line in baseline_lines(results):
        console.print(Text(f"  {line}"), soft_wrap=True)
    for line in verdict_lines(results):
        console.print(Text("\n".join(wrapped(line, console.width))), soft_wrap=True)
    console.print()
    rows = metrics_rows(results)
    console.print(metrics_on_terminal(rows, console.width))
    if any(by_kernel(row) for row in rows):
        console.print(Text("* no capture: segments that the kernel retransmitted", "dim"), soft_wrap=True)
    console.print()
    for line in relation_lines(results):
        console.print(Text(line), soft_wrap=True)
    for line in (row.sentence for row in loss_burst_rows(results)):
        console.print(Text("\n".join(wrapped(line, console.width))), soft_wrap=True)
    for lines in (limit_lines(results), two_sides_lines(results), variation_lines(results), interval_lines(results)):
        for line in lines:
            console.print(Text("\n".join(wrapped(line, console.width))), soft_wrap=True)


def show_changes(runs: Sequence[RunResults], console: "Console") -> None:
    """Print what is different about what limited several runs; nothing for one alone."""
    from rich.text import Text

    for one in verdict_changes(runs):
        console.print()
        console.print(Text("\n".join(wrapped(one.sentence, console.width))), soft_wrap=True)


def wrapped(line: str, width: int) -> list[str]:
    """A long sentence on several lines, all but the first set in a little more."""
    indent = " " * (len(line) - len(line.lstrip()))
    return textwrap.wrap(line, max(40, width), subsequent_indent=f"{indent}  ") or [""]


def heading(results: RunResults) -> str:
    """Name, what was run and how far it got."""
    run = results.run
    total = plan_rows(results)[-1]
    planned = f" of {total.planned:,}" if total.planned is not None else ""
    plan = f"plan {printable(run.record.plan)}, " if run.record.plan else ""
    scale = f"scale {run.record.scale:g}, " if run.record.scale not in (None, 1.0) else ""
    return (
        f"{printable(results.name)}: {plan}{scale}{total.finished:,}{planned} pairs finished, {total.failed:,} failed,"
        f" from {instant(run.record.start_ns)}"
    )


def trouble(results: RunResults) -> Iterator[str]:
    """What makes the numbers less than the whole: one line each."""
    run = results.run
    if run.record.status in _UNSETTLED:
        why = f": {printable(run.record.error)}" if run.record.error else ""
        yield f"the run is {_UNSETTLED[run.record.status]}{why}"
    failed = [pair for pair in run.pairs if not pair.complete]
    if failed:
        why = f", the first: {printable(failed[0].error)}" if failed[0].error else ""
        yield f"{plural(len(failed), 'pair')} failed{why}"
    if run.failed_attempts:
        yield f"{plural(run.failed_attempts, 'attempt')} failed on the way"
    if run.record.receiver_half in ("missing", "partial"):
        yield f"the receiver's files are {run.record.receiver_half}"
    yield from _capture_trouble(results)
    yield from (printable(problem) for problem in results.problems)


def _capture_trouble(results: RunResults) -> Iterator[str]:
    if not any(one.transfer.captures or one.files for one in results.transfers):
        yield "nothing was captured: loss is the kernel's count; RTT and time between packets are not known"
        return
    troubled = [one for one in results.transfers if one.capture_trouble]
    if troubled:
        first = troubled[0]
        where = f"pair {first.pair.sequence} {first.transfer.role}"
        number = plural(len(troubled), "transfer")
        yield f"captures of {number} are incomplete, the first: {where}: {printable(first.capture_trouble or '')}"
    far = sum(one.measures.captured_at == "data receiver" for one in results.transfers)
    if far:
        yield f"{plural(far, 'transfer')} measured where the data arrived: no RTT; loss as the receiver sees it"


def baseline_lines(results: RunResults) -> Iterator[str]:
    """The RTT baseline, if there is one."""
    ping = run_baseline(results)
    if ping.mean_s is not None:
        lost = f", {ping.lost:,} lost" if ping.lost else ""
        low, mean, high = seconds(ping.min_s), seconds(ping.mean_s), seconds(ping.max_s)
        yield f"RTT without load: {low} min, {mean} mean, {high} max of {plural(ping.echoes, 'ping')}{lost}"


def metrics_table(rows: Sequence[MetricsRow]) -> Table:
    """Means and medians for people, intervals where the sample allows one."""
    return shown(METRICS, rows)


def metrics_on_terminal(rows: Sequence[MetricsRow], width: int) -> "RenderableType":
    """The same on a terminal of so many columns."""

    def warns(row: Row, place: int) -> str:
        return "yellow" if METRICS[place] is METRICS[-1] and row.texts[place] != "0" else ""

    return terminal_table(metrics_table(rows), width, style=warns)


def _median_rtt(row: MetricsRow) -> str:
    value_s = row.median_rtt_s.value
    return f"{seconds(value_s)}{_between(row.median_rtt_s, _scale(value_s))}"


def _loss(row: MetricsRow) -> Estimate:
    """Without captures the kernel's retransmissions."""
    return row.mean_kernel_retransmission_rate if by_kernel(row) else row.mean_loss_rate


METRICS: tuple[Column[MetricsRow], ...] = (
    Column("index", lambda row: printable(row.index or "all"), left=True),
    Column("transfer", lambda row: row.role, left=True),
    Column("n", lambda row: count(row.transfers)),
    Column("mean RTT", lambda row: seconds(row.mean_rtt_s.value)),
    Column("median RTT [95 %]", _median_rtt),
    Column("mean loss", lambda row: share(_loss(row).value) + ("*" if by_kernel(row) else "")),
    Column("[95 %]", lambda row: _between(_loss(row), 100).strip(), least_width=106),
    Column("median loss", lambda row: share(row.median_loss_rate.value), least_width=96),
    Column("throughput", lambda row: si(row.median_goodput_bps.value, "bit/s")),
    Column("drops", lambda row: count(row.transfers_with_drops)),
)
"""`--csv` and `--json` have what a narrow terminal leaves out."""


def by_kernel(row: MetricsRow) -> bool:
    """True if loss is known from the kernel's count alone."""
    return row.mean_loss_rate.value is None and row.mean_kernel_retransmission_rate.value is not None


def relation_lines(results: RunResults) -> Iterator[str]:
    """Correlation and prediction over all indices, and the index where the probe tells most."""
    correlations = correlation_rows(results)
    yield f"probe and data throughput, all indices: {correlation_text(correlations[-1].pearson)} (Pearson)"
    known = [row for row in correlations[:-1] if row.pearson.value is not None]
    if len(known) > 1:
        best = max(known, key=lambda row: row.pearson.value or 0.0)
        yield f"most alike at {printable(best.index or '')}: {correlation_text(best.pearson)}"
    overall = [row.error for row in prediction_rows(results) if row.index is None]
    errors = [error for error in overall if error.mean_error.value is not None]
    if errors:
        yield "error of predicting data throughput, mean (median) of the absolute error:"
        for error in sorted(errors, key=lambda error: error.mean_error.value or 0.0):
            name = error.rule.replace("_", " ")
            numbers = f"{_percent(error.mean_error.value)} ({_percent(error.median_error.value)})"
            yield f"  {name:<12} {numbers:>18}  {DESCRIPTIONS[error.rule]}"


def two_sides_lines(results: RunResults) -> Iterator[str]:
    """What both sides' captures say together, if there are any."""
    rows = two_sides_rows(results)
    for row in rows[-2:]:
        if not row.transfers:
            continue
        lost = f"{row.lost_segments:,} of {plural(row.data_segments, 'data segment')} lost in the network"
        delay = f"one-way delay {seconds(row.median_one_way_delay_s.value)} median"
        queue = f"{seconds(row.median_queueing_delay_s.value)} above the least"
        yield f"{row.role}, both sides matched in {plural(row.transfers, 'transfer')}: {lost}; {delay}, {queue}"
        gaps = [
            f"{number:,} {where}"
            for number, where in (
                (row.gaps_at_sender, "at the sender of the data"),
                (row.gaps_on_path, "on the path"),
                (row.gaps_at_receiver, "at its receiver"),
                (row.gaps_path_or_receiver, "on the path or at its receiver"),
                (row.gaps_unlocated, "not located"),
            )
            if number
        ]
        if gaps:
            yield f"  pauses between packets, by where they were made: {', '.join(gaps)}"
    if rows:
        yield from _clock_lines(clock_row(results))
    elif both := sum(len(one.files) > 1 for one in results.transfers):
        captured = f"{plural(both, 'transfer')} captured at both sides, not matched"
        yield f"{captured}: vmtrace report RUN --match-sides matches them"
    first = next((one for one in results.transfers if one.measures.two_sides_problem), None)
    if first is not None:
        number = plural(sum(one.measures.two_sides_problem is not None for one in results.transfers), "transfer")
        where = f"pair {first.pair.sequence} {first.transfer.role}"
        problem = printable(first.measures.two_sides_problem or "")
        yield f"both sides could not be matched in {number}, the first: {where}: {problem}"


def _clock_lines(clock: ClockRow) -> Iterator[str]:
    if clock.offset_s is None or clock.offset_least_s is None or clock.offset_most_s is None:
        return
    ahead = "ahead of" if clock.offset_s >= 0 else "behind"
    spread = seconds(clock.offset_most_s - clock.offset_least_s)
    steps = f", {plural(clock.steps, 'step')}" if clock.steps else ""
    yield (
        f"clock: the receiver's is {seconds(abs(clock.offset_s))} {ahead} the sender's"
        f" (± {seconds(clock.offset_error_s)}), varying by {spread} over the transfers{steps}"
    )


def limit_lines(results: RunResults) -> Iterator[str]:
    """What limited the transfers, in a sentence for probes and one for data."""
    said = list(limit_sentences(limit_rows(results), results.transfers))
    if said:
        yield ""
        yield from said


def variation_lines(results: RunResults) -> Iterator[str]:
    """Is throughput unstable, and what does it vary with?"""
    found = variation(results)
    for role in ROLES:
        yield ""
        yield spread_sentence(role, found.overall(role))
        for heading, sentences in answer(found, role):
            yield f"  {heading}:"
            yield from (f"    {one}" for one in sentences)


def _percent(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.1f} %"


def _scale(value_s: float | None) -> float:
    """What brings an interval into the unit that `seconds` gives its value."""
    if value_s is None or value_s >= 0.9995:
        return 1.0
    return 1e3 if value_s >= 999.5e-6 else 1e6 if value_s >= 999.5e-9 else 1e9


def _between(estimate: Estimate, factor: float) -> str:
    """The interval, in the unit of the value before it."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f" [{estimate.low * factor:.3g}, {estimate.high * factor:.3g}]"
