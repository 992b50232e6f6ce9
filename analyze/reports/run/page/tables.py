"""The tables of a report on runs: what was run, round-trip time and loss, probe and data, every transfer."""

from collections.abc import Sequence

from vmtrace.analyze.pages.blocks import Block, Cell, Column, Fold, Lines, Row, Table, Text, table
from vmtrace.analyze.pages.texts import estimate_text, index_name, number_text
from vmtrace.analyze.reports.run.page.answer import first_sentence
from vmtrace.analyze.reports.run.prediction import DESCRIPTIONS
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import (
    BaselineRow,
    MetricsRow,
    PlanRow,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
)
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.verdict.of_run import run_verdict
from vmtrace.analyze.words.units import ABSENT, count, instant, plural, printable, seconds, share, si

_ROW_LIMIT = 4000
_BESIDE_HEAD = (
    Column("run", left=True), Column("pairs"), Column("ping mean [ms]"), Column("probe: median rate [Mbit/s]"),
    Column("data: median rate [Mbit/s]"), Column("mean RTT [ms]"), Column("mean loss [%]"),
    Column("mean time between packets [ms]"), Column("probe and data: r"), Column("verdict", left=True, wraps=True),
)  # fmt: skip


def beside(runs: Sequence[RunResults]) -> Table:
    """Several runs in one table: a row each, over all their transfers."""
    return Table(_BESIDE_HEAD, tuple(Row(tuple(_beside_cells(run))) for run in runs), sortable=True)


def _beside_cells(run: RunResults) -> list[Cell]:
    rows = {row.role: row for row in metrics_rows(run) if row.index is None}
    probe, data = rows["probe"], rows["data"]
    finished = plan_rows(run)[-1].finished
    numbers = (
        (data.ping.mean_s, number_text(data.ping.mean_s, 1e3)),
        *(
            (estimate.value, estimate_text(estimate, factor))
            for estimate, factor in (
                (probe.median_goodput_bps, 1e-6),
                (data.median_goodput_bps, 1e-6),
                (data.mean_rtt_s, 1e3),
                (data.mean_loss_rate, 100.0),
                (data.mean_spacing_s, 1e3),
                (correlation_rows(run)[-1].pearson, 1.0),
            )
        ),
    )
    return [
        Cell(printable(run.name)),
        Cell(count(finished), finished),
        *(Cell(text, value) for value, text in numbers),
        Cell(printable(first_sentence(run_verdict(run).sentence)[0])),
    ]


def plan(run: RunResults) -> Table:
    """The plan as it was run (Table 1 of the study)."""
    head = (
        "index",
        "probe size",
        "data size",
        "pairs planned",
        "finished",
        "failed",
        "transfers with drops",
        "incomplete",
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


def metrics(run: RunResults) -> Table:
    """Round-trip time, loss and throughput (Table 2 of the study)."""
    head = (
        "index", "transfer", "n", "mean RTT [ms]", "median RTT [ms]", "ping min / mean / max [ms]", "mean loss [%]",
        "median loss [%]", "retransmitted [%]", "kernel's count [%]", "median rate [Mbit/s]", "drops", "at receiver",
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


def relation(run: RunResults) -> tuple[Block, ...]:
    """What a probe shows of the data transfer."""
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
    rules = Lines(
        tuple(f"{name.replace('_', ' ')}: {text}" for name, text in DESCRIPTIONS.items()),
        title="Under the rules: the mean (median) error of predicting the data transfer's throughput by",
    )
    return table(head, rows), rules


_TRANSFERS_HEAD = (
    Column("pair"), Column("index", left=True), Column("transfer", left=True), Column("start", left=True),
    Column("size"), Column("time"), Column("throughput"), Column("mean RTT"), Column("loss"), Column("retransmitted"),
    Column("mean time between packets"), Column("unusually long pauses"), Column("window limit"),
    Column("captured at", left=True), Column("lost, both sides"),
    Column("one-way delay"), Column("longest pause"), Column("made at", left=True),
    Column("trouble", left=True, wraps=True),
)  # fmt: skip


def transfers(run: RunResults) -> Fold:
    """Every transfer of a run."""
    shown = run.transfers[:_ROW_LIMIT]
    more = len(run.transfers) - len(shown)
    rest = (Text(f"{plural(more, 'more transfer')} in the CSV files."),) if more else ()
    rows = tuple(Row(tuple(_transfer_cells(one))) for one in shown)
    title = f"All {plural(len(run.transfers), 'transfer')}"
    return Fold(title, (Table(_TRANSFERS_HEAD, rows, sortable=True), *rest))


def _transfer_cells(one: MeasuredTransfer) -> list[Cell]:
    transfer, numbers = one.transfer, one.measures
    return [
        Cell(str(one.pair.sequence), one.pair.sequence),
        Cell(index_name(one.pair.index)),
        Cell(transfer.role),
        Cell(instant(transfer.start_ns)),
        Cell(si(transfer.bytes, "B"), transfer.bytes),
        _seconds(transfer.duration_s),
        Cell(si(transfer.goodput_bps, "bit/s"), transfer.goodput_bps),
        _seconds(numbers.rtt_mean_s),
        _share(numbers.loss_rate),
        _share(numbers.retransmission_rate),
        _seconds(numbers.spacing_mean_s),
        _count(numbers.oversize),
        _share(numbers.window_limited_fraction),
        Cell(numbers.captured_at or ABSENT),
        _count(numbers.two_sides_lost_segments),
        _seconds(numbers.one_way_delay_median_s),
        _seconds(numbers.longest_gap_s),
        Cell((numbers.longest_gap_at or ABSENT).replace("_", " ")),
        Cell(printable(one.capture_trouble or "")),
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
