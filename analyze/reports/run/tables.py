"""The tables of a run: Table 1 as run, Table 2, correlation, prediction. Rows are values; who shows them formats them.

An `index` of None is the row over all indices.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.read.records.run import ROLES, Baseline, Role
from vmtrace.analyze.reports.run import prediction
from vmtrace.analyze.reports.run.prediction import PredictionError
from vmtrace.analyze.reports.run.results import RunResults, goodput_bps, kernel_retransmission_rate, measured
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.stats import estimates
from vmtrace.analyze.stats.estimates import Estimate, Floats
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive


@dataclass(frozen=True, slots=True)
class PlanRow:
    """Table 1: what was asked for and what became of it."""

    index: str | None
    """Index of the plan; null is the row over all."""
    probe_bytes: int | None
    data_bytes: int | None
    planned: Count | None
    """None where the run is limited by time."""
    finished: Count
    failed: Count
    transfers_with_drops: Count
    """Transfers whose capture lost packets."""
    transfers_with_trouble: Count
    """Transfers that were to be captured, and whose packets are not all known."""


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """Round trips without load: all echoes together."""

    echoes: Count
    lost: Count
    min_s: Positive | None
    mean_s: Positive | None
    max_s: Positive | None


@dataclass(frozen=True, slots=True)
class MetricsRow:
    """Table 2: one index, probe or data. Means, medians and intervals are over transfers, one value of each."""

    index: str | None
    """Index of the plan; null is the row over all."""
    role: Role
    transfers: Count
    mean_rtt_s: Estimate
    """Of the transfers' mean round-trip times."""
    median_rtt_s: Estimate
    """Of the transfers' median round-trip times."""
    mean_loss_rate: Estimate
    median_loss_rate: Estimate
    mean_retransmission_rate: Estimate
    mean_kernel_retransmission_rate: Estimate
    """By TCP_INFO: there without any capture."""
    mean_spacing_s: Estimate
    mean_goodput_bps: Estimate
    median_goodput_bps: Estimate
    ping: BaselineRow
    transfers_with_drops: Count
    transfers_with_trouble: Count
    measured_at_receiver: Count
    """Transfers measured where the data arrived, because the capture where it was sent is missing."""


@dataclass(frozen=True, slots=True)
class CorrelationRow:
    """How a pair's probe and data throughput go together."""

    index: str | None
    """Index of the plan; null is the row over all."""
    pearson: Estimate
    spearman: Estimate


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """How far a rule's prediction of data throughput was off."""

    index: str | None
    error: Annotated[PredictionError, FLAT]


def plan_rows(results: RunResults) -> list[PlanRow]:
    """Table 1, with a last row over all."""
    run = results.run
    entries = {entry.index: entry for entry in run.record.entries}
    complete = Counter(pair.index for pair in run.pairs if pair.complete)
    failed = Counter(pair.index for pair in run.pairs if not pair.complete)
    rows = []
    for index in results.indices:
        entry = entries.get(index)
        planned = entry.pairs * run.record.repeat if entry and entry.pairs and run.record.repeat else None
        probes, data = (results.of(role, index) for role in ROLES)
        rows.append(
            PlanRow(
                index=index,
                probe_bytes=entry.probe_bytes if entry and entry.probe_bytes else _bytes(probes),
                data_bytes=entry.data_bytes if entry and entry.data_bytes else _bytes(data),
                planned=planned if run.record.pairs_planned is not None else None,
                finished=complete[index],
                failed=failed[index],
                transfers_with_drops=_with_drops(probes + data),
                transfers_with_trouble=_with_trouble(probes + data),
            )
        )
    planned_rows = [row.planned for row in rows if row.planned is not None]
    total = PlanRow(
        index=None,
        probe_bytes=None,
        data_bytes=None,
        planned=sum(planned_rows) if len(planned_rows) == len(rows) else run.record.pairs_planned,
        finished=sum(complete.values()),
        failed=sum(failed.values()),
        transfers_with_drops=_with_drops(results.transfers),
        transfers_with_trouble=_with_trouble(results.transfers),
    )
    return [*rows, total]


def metrics_rows(results: RunResults) -> list[MetricsRow]:
    """Table 2: for each index with transfers and then for all, probe and data."""
    return results.once(
        "metrics", lambda: [_metrics(results, index, role) for index in _groups(results) for role in ROLES]
    )


def correlation_rows(results: RunResults) -> list[CorrelationRow]:
    """For each index and then for all."""
    rows = []
    for index in _groups(results):
        probe_bps, data_bps = pair_throughput(results, index)
        pearson, spearman = estimates.pearson(probe_bps, data_bps), estimates.spearman(probe_bps, data_bps)
        rows.append(CorrelationRow(index, pearson, spearman))
    return rows


def prediction_rows(results: RunResults) -> list[PredictionRow]:
    """For each index and rule, and then over all: predictions are made within an index, their errors put together."""
    rows = []
    everything: dict[str, list[Floats]] = {rule: [] for rule in prediction.RULES}
    for index in _groups(results)[:-1]:
        for rule in prediction.RULES:
            errors = prediction.relative_errors(rule, *pair_throughput(results, index))
            everything[rule].append(errors)
            rows.append(PredictionRow(index, prediction.judged(rule, errors)))
    for rule, parts in everything.items():
        rows.append(PredictionRow(None, prediction.judged(rule, np.concatenate([*parts, np.empty(0)]))))
    return rows


def pair_throughput(results: RunResults, index: str | None) -> tuple[Floats, Floats]:
    """Probe and data throughput of each complete pair, in order."""
    return goodput_bps(results.of("probe", index)), goodput_bps(results.of("data", index))


def baseline(parts: list[Baseline]) -> BaselineRow:
    """Baselines put together: the mean is over echoes."""
    came = [(one.mean_s, one.sent - one.lost) for one in parts if one.mean_s is not None and one.sent > one.lost]
    echoes = sum(number for _, number in came)
    return BaselineRow(
        echoes=sum(one.sent for one in parts),
        lost=sum(one.lost for one in parts),
        min_s=min((one.min_s for one in parts if one.min_s is not None), default=None),
        mean_s=sum(mean_s * number for mean_s, number in came) / echoes if echoes else None,
        max_s=max((one.max_s for one in parts if one.max_s is not None), default=None),
    )


def run_baseline(results: RunResults) -> BaselineRow:
    """The baseline of the whole run, by its single echoes where they are there."""
    came = [echo.rtt_s for echo in results.run.echoes if echo.rtt_s is not None]
    if not came:
        return baseline(results.baselines())
    return BaselineRow(
        echoes=len(results.run.echoes),
        lost=len(results.run.echoes) - len(came),
        min_s=min(came),
        mean_s=float(np.mean(came)),
        max_s=max(came),
    )


def _groups(results: RunResults) -> list[str | None]:
    """The indices that have transfers, and then None for all."""
    used = {one.pair.index for one in results.transfers}
    return [*(index for index in results.indices if index in used), None]


def _metrics(results: RunResults, index: str | None, role: Role) -> MetricsRow:
    transfers = results.of(role, index)
    loss_rate = measured(transfers, lambda one: one.loss_rate)
    return MetricsRow(
        index=index,
        role=role,
        transfers=len(transfers),
        mean_rtt_s=estimates.mean(measured(transfers, lambda one: one.rtt_mean_s)),
        median_rtt_s=estimates.median(measured(transfers, lambda one: one.rtt_median_s)),
        mean_loss_rate=estimates.mean(loss_rate),
        median_loss_rate=estimates.median(loss_rate),
        mean_retransmission_rate=estimates.mean(measured(transfers, lambda one: one.retransmission_rate)),
        mean_kernel_retransmission_rate=estimates.mean(kernel_retransmission_rate(transfers)),
        mean_spacing_s=estimates.mean(measured(transfers, lambda one: one.spacing_mean_s)),
        mean_goodput_bps=estimates.mean(goodput_bps(transfers)),
        median_goodput_bps=estimates.median(goodput_bps(transfers)),
        ping=run_baseline(results) if index is None else baseline(results.baselines(index)),
        transfers_with_drops=_with_drops(transfers),
        transfers_with_trouble=_with_trouble(transfers),
        measured_at_receiver=sum(one.measures.captured_at == "data receiver" for one in transfers),
    )


def _with_drops(transfers: "list[MeasuredTransfer] | tuple[MeasuredTransfer, ...]") -> int:
    return sum(bool(one.transfer.dropped or one.measures.unseen_acked_bytes) for one in transfers)


def _with_trouble(transfers: "list[MeasuredTransfer] | tuple[MeasuredTransfer, ...]") -> int:
    return sum(one.capture_trouble is not None for one in transfers)


def _bytes(transfers: list[MeasuredTransfer]) -> int | None:
    return transfers[0].transfer.bytes if transfers else None
