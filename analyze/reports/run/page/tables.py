"""The tables of a report on runs: what was run, round-trip time and loss, probe and data, every transfer."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from vmtrace.analyze.pages.blocks import Block, Fold, Lines, Text
from vmtrace.analyze.pages.texts import estimate_text, index_name, number_text
from vmtrace.analyze.reports.run.losses.bursts import LossBurstRow, loss_burst_rows
from vmtrace.analyze.reports.run.page.answer import first_sentence
from vmtrace.analyze.reports.run.prediction import DESCRIPTIONS
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import (
    BaselineRow,
    CorrelationRow,
    MetricsRow,
    PlanRow,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
)
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.tables.table import Cell, Column, Table, shown
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share, si
from vmtrace.formats.quantities import plural

_ROW_LIMIT = 4000


class Overall(NamedTuple):
    """A run among several: what its row shows, over all its transfers."""

    run: RunResults
    probe: MetricsRow
    data: MetricsRow


def _estimate(estimate: Estimate, factor: float) -> Cell:
    return Cell(estimate_text(estimate, factor), estimate.value)


_OVERALL: tuple[Column[Overall], ...] = (
    Column("run", lambda one: Cell(printable(one.run.name)), left=True),
    Column("pairs", lambda one: _count(plan_rows(one.run)[-1].finished)),
    Column("ping mean [ms]", lambda one: Cell(number_text(one.data.ping.mean_s, 1e3), one.data.ping.mean_s)),
    Column("probe: median rate [Mbit/s]", lambda one: _estimate(one.probe.median_goodput_bps, 1e-6)),
    Column("data: median rate [Mbit/s]", lambda one: _estimate(one.data.median_goodput_bps, 1e-6)),
    Column("mean RTT [ms]", lambda one: _estimate(one.data.mean_rtt_s, 1e3)),
    Column("mean loss [%]", lambda one: _estimate(one.data.mean_loss_rate, 100.0)),
    Column("mean time between packets [ms]", lambda one: _estimate(one.data.mean_spacing_s, 1e3)),
    Column("probe and data: r", lambda one: _estimate(correlation_rows(one.run)[-1].pearson, 1.0)),
    Column("verdict", lambda one: Cell(printable(first_sentence(run_verdict(one.run).sentence)[0])), left=True,
           wraps=True),
)  # fmt: skip
_PLAN: tuple[Column[PlanRow], ...] = (
    Column("index", lambda row: index_name(row.index), left=True),
    Column("probe size", lambda row: si(row.probe_bytes, "B")),
    Column("data size", lambda row: si(row.data_bytes, "B")),
    Column("pairs planned", lambda row: count(row.planned)),
    Column("finished", lambda row: count(row.finished)),
    Column("failed", lambda row: count(row.failed)),
    Column("transfers with drops", lambda row: count(row.transfers_with_drops)),
    Column("incomplete", lambda row: count(row.transfers_with_trouble)),
)
_METRICS: tuple[Column[MetricsRow], ...] = (
    Column("index", lambda row: index_name(row.index), left=True),
    Column("transfer", lambda row: row.role),
    Column("n", lambda row: count(row.transfers)),
    Column("mean RTT [ms]", lambda row: estimate_text(row.mean_rtt_s, 1e3)),
    Column("median RTT [ms]", lambda row: estimate_text(row.median_rtt_s, 1e3)),
    Column("ping min / mean / max [ms]", lambda row: _ping(row.ping)),
    Column("mean loss [%]", lambda row: estimate_text(row.mean_loss_rate, 100)),
    Column("median loss [%]", lambda row: estimate_text(row.median_loss_rate, 100)),
    Column("retransmitted [%]", lambda row: number_text(row.mean_retransmission_rate.value, 100)),
    Column("kernel's count [%]", lambda row: number_text(row.mean_kernel_retransmission_rate.value, 100)),
    Column("median rate [Mbit/s]", lambda row: estimate_text(row.median_goodput_bps, 1e-6)),
    Column("drops", lambda row: count(row.transfers_with_drops)),
    Column("at receiver", lambda row: count(row.measured_at_receiver)),
)


def side_by_side(runs: Sequence[RunResults]) -> Table:
    """Several runs in one table: a row each, over all their transfers."""
    return shown(_OVERALL, map(_overall, runs), sortable=True)


def _overall(run: RunResults) -> Overall:
    rows = {row.role: row for row in metrics_rows(run) if row.index is None}
    return Overall(run, rows["probe"], rows["data"])


def plan(run: RunResults) -> Table:
    """The plan as it was run (Table 1 of the study)."""
    return shown(_PLAN, plan_rows(run), total=lambda row: row.index is None)


def metrics(run: RunResults) -> Table:
    """Round-trip time, loss and throughput (Table 2 of the study)."""
    return shown(_METRICS, metrics_rows(run), total=lambda row: row.index is None)


def loss_bursts(run: RunResults) -> tuple[Block, ...]:
    """Whether loss is continuous or bursty."""
    rows = loss_burst_rows(run)
    if not rows:
        return (Text("No transfer lost anything."),)
    return Lines(tuple(row.sentence for row in rows)), shown(_LOSS_BURSTS, rows)


_LOSS_BURSTS: tuple[Column[LossBurstRow], ...] = (
    Column("transfer", lambda row: row.role, left=True),
    Column("loss is", lambda row: row.judgement.replace("_", " "), left=True),
    Column("transfers", lambda row: count(row.transfers)),
    Column("losses", lambda row: count(row.losses)),
    Column("unevenness over independent", lambda row: estimate_text(row.ratio)),
    Column("p", lambda row: number_text(row.p_value)),
    Column("bursty by themselves", lambda row: count(row.bursty_transfers)),
)


def relation(run: RunResults) -> tuple[Block, ...]:
    """What a probe shows of the data transfer."""
    errors: dict[str | None, dict[str, str]] = {}
    for row in prediction_rows(run):
        text = f"{_percent(row.error.mean_error.value)} ({_percent(row.error.median_error.value)})"
        errors.setdefault(row.index, {})[row.error.rule] = text
    columns: tuple[Column[CorrelationRow], ...] = (
        Column("index", lambda row: index_name(row.index), left=True),
        Column("n", lambda row: count(row.pearson.n)),
        Column("Pearson", lambda row: estimate_text(row.pearson)),
        Column("Spearman", lambda row: estimate_text(row.spearman)),
        *(Column(rule.replace("_", " "), partial(_error, errors, rule)) for rule in DESCRIPTIONS),
    )
    rules = Lines(
        tuple(f"{name.replace('_', ' ')}: {text}" for name, text in DESCRIPTIONS.items()),
        title="Under the rules: the mean (median) error of predicting the data transfer's throughput by",
    )
    return shown(columns, correlation_rows(run), total=lambda row: row.index is None), rules


def _error(errors: dict[str | None, dict[str, str]], rule: str, row: CorrelationRow) -> str:
    return errors[row.index][rule]


_TRANSFERS: tuple[Column[MeasuredTransfer], ...] = (
    Column("pair", lambda one: Cell(str(one.pair.sequence), one.pair.sequence)),
    Column("index", lambda one: Cell(index_name(one.pair.index)), left=True),
    Column("transfer", lambda one: Cell(one.transfer.role), left=True),
    Column("start", lambda one: Cell(instant(one.transfer.start_ns)), left=True),
    Column("size", lambda one: Cell(si(one.transfer.bytes, "B"), one.transfer.bytes)),
    Column("time", lambda one: _seconds(one.transfer.duration_s)),
    Column("throughput", lambda one: Cell(si(one.transfer.goodput_bps, "bit/s"), one.transfer.goodput_bps)),
    Column("mean RTT", lambda one: _seconds(one.measures.rtt_mean_s)),
    Column("loss", lambda one: _share(one.measures.loss_rate)),
    Column("retransmitted", lambda one: _share(one.measures.retransmission_rate)),
    Column("mean time between packets", lambda one: _seconds(one.measures.spacing_mean_s)),
    Column("unusually long pauses", lambda one: _count(one.measures.oversize)),
    Column("window limit", lambda one: _share(one.measures.window_limited_fraction)),
    Column("captured at", lambda one: Cell(one.measures.captured_at or ABSENT), left=True),
    Column("lost, both sides", lambda one: _count(one.measures.two_sides_lost_segments)),
    Column("one-way delay", lambda one: _seconds(one.measures.one_way_delay_median_s)),
    Column("longest pause", lambda one: _seconds(one.measures.longest_gap_s)),
    Column("made at", lambda one: Cell((one.measures.longest_gap_at or ABSENT).replace("_", " ")), left=True),
    Column("trouble", lambda one: Cell(printable(one.capture_trouble or "")), left=True, wraps=True),
)


def transfers(run: RunResults) -> Fold:
    """Every transfer of a run."""
    first = run.transfers[:_ROW_LIMIT]
    more = len(run.transfers) - len(first)
    rest = (Text(f"{plural(more, 'more transfer')} in the CSV files."),) if more else ()
    title = f"All {plural(len(run.transfers), 'transfer')}"
    return Fold(title, (shown(_TRANSFERS, first, sortable=True), *rest))


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
