"""The HTML report of runs: tables as markup made here, figures as data for the page's script."""

import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path

from analyze.charts import on_page
from analyze.charts.chart import Chart
from analyze.pages.markup import Cell, estimate_text, index_name, number_text, sortable_table, table
from analyze.records.provenance import Provenance
from analyze.report.page_file import in_script, plotly, resource, scripts, write_page
from analyze.run.human import baseline_lines, heading, trouble
from analyze.run.page.intervals import intervals_part
from analyze.run.page.limits import limits_part
from analyze.run.page.pairs import pairs_part
from analyze.run.page.variation import two_sides_part, variation_part
from analyze.run.page.verdict import changes_part, run_verdict_part
from analyze.run.prediction import DESCRIPTIONS
from analyze.run.results import RunResults
from analyze.run.tables import (
    BaselineRow,
    MetricsRow,
    PlanRow,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
)
from analyze.run.transfers.transfers import MeasuredTransfer
from analyze.units import ABSENT, count, instant, plural, printable, seconds, share, si

_ROW_LIMIT = 4000


def write_page_of(runs: Sequence[RunResults], charts: Sequence[Chart], provenance: Provenance, path: Path) -> None:
    """Write the report of these runs."""
    parts = {
        "title": escape(", ".join(printable(run.name) for run in runs)),
        "summary": "".join(map(_summary, runs)) + _beside(runs),
        "verdict": _each(runs, run_verdict_part) + changes_part(runs),
        "pairs": _each(runs, pairs_part),
        "plan": _each(runs, _plan),
        "metrics": _each(runs, _metrics),
        "relation": _each(runs, _relation),
        "limits": _each(runs, limits_part),
        "variation": _each(runs, variation_part),
        "limit_influences": _each(runs, intervals_part),
        "two_sides": _each(runs, two_sides_part),
        "transfers": _each(runs, _transfers),
        "provenance": escape(json.dumps(provenance, indent=2)),
        "data": in_script({"charts": [on_page.of_chart(chart) for chart in charts]}),
        "library": plotly(),
        "script": scripts("sorting.js", "run.js"),
    }
    write_page(resource("run.html"), parts, path)


def _each(runs: Sequence[RunResults], make: Callable[[RunResults], str]) -> str:
    """A part for each run, under the run's name if there are several."""
    if len(runs) == 1:
        return make(runs[0])
    return "".join(f"<h3>{escape(printable(run.name))}</h3>{make(run)}" for run in runs)


def _summary(run: RunResults) -> str:
    wrong = "".join(f'<li class="trouble">{escape(line)}</li>' for line in trouble(run))
    plain = "".join(f"<li>{escape(line)}</li>" for line in baseline_lines(run))
    hosts = [f"{side}: {printable(host)}" for side, host in run.run.record.hosts.items() if host]
    named = f"<li>{escape(', '.join(hosts))}</li>" if hosts else ""
    return f"<p>{escape(heading(run))}</p><ul>{wrong}{plain}{named}</ul>"


def _beside(runs: Sequence[RunResults]) -> str:
    """Several runs in one table: a row each, over all their transfers."""
    if len(runs) == 1:
        return ""
    head = (
        "run", "pairs", "ping mean [ms]", "probe: median rate [Mbit/s]", "data: median rate [Mbit/s]", "mean RTT [ms]",
        "mean loss [%]", "mean spacing [ms]", "probe and data: r",
    )  # fmt: skip
    beside = table(head, ((_beside_cells(run), False) for run in runs))
    return f'<section id="beside" class="wide"><h2>Side by side</h2>{beside}</section>'


def _beside_cells(run: RunResults) -> list[str]:
    rows = {row.role: row for row in metrics_rows(run) if row.index is None}
    probe, data = rows["probe"], rows["data"]
    return [
        printable(run.name),
        count(plan_rows(run)[-1].finished),
        number_text(data.ping.mean_s, 1e3),
        estimate_text(probe.median_goodput_bps, 1e-6),
        estimate_text(data.median_goodput_bps, 1e-6),
        estimate_text(data.mean_rtt_s, 1e3),
        estimate_text(data.mean_loss_rate, 100),
        estimate_text(data.mean_spacing_s, 1e3),
        estimate_text(correlation_rows(run)[-1].pearson),
    ]


def _plan(run: RunResults) -> str:
    head = (
        "index",
        "probe size",
        "data size",
        "pairs planned",
        "finished",
        "failed",
        "transfers with drops",
        "not whole",
    )
    return table(head, ((_plan_cells(row), row.index is None) for row in plan_rows(run)))


def _plan_cells(row: PlanRow) -> list[str]:
    return [
        index_name(row.index),
        si(row.probe_bytes, "B"),
        si(row.data_bytes, "B"),
        count(row.planned),
        count(row.finished),
        count(row.failed),
        count(row.transfers_with_drops),
        count(row.transfers_with_trouble),
    ]


def _metrics(run: RunResults) -> str:
    head = (
        "index", "transfer", "n", "mean RTT [ms]", "median RTT [ms]", "ping min / mean / max [ms]", "mean loss [%]",
        "median loss [%]", "sent again [%]", "kernel's count [%]", "median rate [Mbit/s]", "drops", "at receiver",
    )  # fmt: skip
    return table(head, ((_metrics_cells(row), row.index is None) for row in metrics_rows(run)))


def _metrics_cells(row: MetricsRow) -> list[str]:
    return [
        index_name(row.index),
        row.role,
        count(row.transfers),
        estimate_text(row.mean_rtt_s, 1e3),
        estimate_text(row.median_rtt_s, 1e3),
        _ping(row.ping),
        estimate_text(row.mean_loss_rate, 100),
        estimate_text(row.median_loss_rate, 100),
        number_text(row.mean_retransmission_rate.value, 100),
        number_text(row.mean_kernel_retransmission_rate.value, 100),
        estimate_text(row.median_goodput_bps, 1e-6),
        count(row.transfers_with_drops),
        count(row.measured_at_receiver),
    ]


def _relation(run: RunResults) -> str:
    head = ("index", "n", "Pearson", "Spearman", *(rule.replace("_", " ") for rule in DESCRIPTIONS))
    errors: dict[str | None, list[str]] = {}
    for row in prediction_rows(run):
        errors.setdefault(row.index, []).append(
            f"{_percent(row.error.mean.value)} ({_percent(row.error.median.value)})"
        )
    rows = [
        ([index_name(row.index), count(row.pearson.n), estimate_text(row.pearson),
          estimate_text(row.spearman), *errors[row.index]], row.index is None)
        for row in correlation_rows(run)
    ]  # fmt: skip
    rules = "".join(f"<li>{escape(name.replace('_', ' '))}: {escape(text)}</li>" for name, text in DESCRIPTIONS.items())
    said = "<p>Under the rules: the mean (median) error of predicting the data transfer's throughput by</p>"
    return f"{table(head, rows)}{said}<ul>{rules}</ul>"


_TRANSFERS_HEAD = (
    Cell("pair"), Cell("index", left=True), Cell("transfer", left=True), Cell("start", left=True), Cell("size"),
    Cell("time"), Cell("throughput"), Cell("mean RTT"), Cell("loss"), Cell("sent again"), Cell("mean spacing"),
    Cell("oversize"), Cell("window limit"), Cell("captured at", left=True), Cell("lost, both sides"),
    Cell("one-way delay"), Cell("longest gap"), Cell("made at", left=True), Cell("trouble", left=True),
)  # fmt: skip


def _transfers(run: RunResults) -> str:
    shown = run.transfers[:_ROW_LIMIT]
    more = len(run.transfers) - len(shown)
    rest = f"<p>{plural(more, 'more transfer')} in the CSV files.</p>" if more else ""
    shown_rows = sortable_table(_TRANSFERS_HEAD, map(_transfer_cells, shown))
    return f"<details><summary>all {plural(len(run.transfers), 'transfer')}</summary>{shown_rows}{rest}</details>"


def _transfer_cells(one: MeasuredTransfer) -> list[Cell]:
    transfer, numbers = one.transfer, one.measures
    return [
        Cell(str(one.pair.sequence), one.pair.sequence),
        Cell(index_name(one.pair.index), left=True),
        Cell(transfer.role, left=True),
        Cell(instant(transfer.start_ns), left=True),
        Cell(si(transfer.bytes, "B"), transfer.bytes),
        _seconds(transfer.duration_s),
        Cell(si(transfer.goodput_bps, "bit/s"), transfer.goodput_bps),
        _seconds(numbers.rtt_mean_s),
        _share(numbers.loss_rate),
        _share(numbers.retransmission_rate),
        _seconds(numbers.spacing_mean_s),
        _count(numbers.oversize),
        _share(numbers.window_limited_fraction),
        Cell(numbers.captured_at or ABSENT, left=True),
        _count(numbers.two_sides_lost_segments),
        _seconds(numbers.one_way_delay_median_s),
        _seconds(numbers.longest_gap_s),
        Cell((numbers.longest_gap_at or ABSENT).replace("_", " "), left=True),
        Cell(printable(one.capture_trouble or ""), left=True, wraps=bool(one.capture_trouble)),
    ]


def _seconds(value: float | None) -> Cell:
    return Cell(seconds(value), value)


def _share(value: float | None) -> Cell:
    return Cell(share(value), value)


def _count(value: int | None) -> Cell:
    return Cell(count(value), value)


def _ping(ping: BaselineRow) -> str:
    if ping.mean_s is None:
        return ABSENT
    return " / ".join(number_text(value, 1e3) for value in (ping.min_s, ping.mean_s, ping.max_s))


def _percent(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.1f} %"
