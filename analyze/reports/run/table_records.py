"""Results as flat rows for CSV and as records for JSON: one spelling of every name for both.

An `Estimate` becomes four columns: `mean_rtt_s`, `mean_rtt_low_s`, `mean_rtt_high_s`, `mean_rtt_n`: the unit last.
"""

from collections.abc import Iterable
from dataclasses import fields
from typing import Annotated, Any, Literal, TypedDict

from vmtrace.analyze.read.records.run import Role
from vmtrace.analyze.read.side.metrics import Metric
from vmtrace.analyze.reports.run.limits import limit_rows
from vmtrace.analyze.reports.run.losses.bursts import loss_burst_rows
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import correlation_rows, metrics_rows, plan_rows, prediction_rows
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.two_sides.table import clock_row, two_sides_rows
from vmtrace.analyze.reports.run.variation.findings import Finding, Judgement, variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_sentence
from vmtrace.analyze.reports.run.variation.intervals import IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import sentence
from vmtrace.analyze.stats.estimates import ABSENT, Estimate
from vmtrace.analyze.tables.schema.typed import FLAT, Count, Positive, Share, as_record, record_of

Record = dict[str, Any]

_UNITS = ("_s", "_bps", "_rate")
_OF_TWO_SIDES = ("two_sides_", "one_way_delay_", "clock_", "gaps_", "longest_gap_")


def tables(results: RunResults) -> dict[str, list[Record]]:
    """All tables of a run by name, as nested records."""
    measured: dict[str, Iterable[object]] = {
        "table_1": plan_rows(results),
        "table_2": metrics_rows(results),
        "loss_bursts": loss_burst_rows(results),
        "correlation": correlation_rows(results),
        "prediction": prediction_rows(results),
        "limits": limit_rows(results),
        "stability": variation(results).spreads,
    }
    return {
        **{name: [as_record(row) for row in rows] for name, rows in measured.items()},
        "influences": [_finding(one) for one in variation(results).findings],
        "limit_influences": [_interval_finding(one) for one in interval_findings(results)],
        "two_sides": [as_record(row) for row in two_sides_rows(results)],
        "transfers": [_transfer(one) for one in results.transfers],
    }


def two_sides_records(results: RunResults) -> Record:
    """What both sides' captures of a run say together, alone."""
    names = [field.name for field in fields(Measures) if field.name.startswith(_OF_TWO_SIDES)]
    matched = [one for one in results.transfers if len(one.files) > 1]
    return {
        "path": str(results.run.folder),
        "name": results.name,
        "clock": as_record(clock_row(results)),
        "two_sides": [as_record(row) for row in two_sides_rows(results)],
        "transfers": [
            {"sequence": one.pair.sequence, "index": one.pair.index, "role": one.transfer.role}
            | {name: getattr(one.measures, name) for name in names}
            for one in matched
        ],
    }


def flat(record: Record) -> Record:
    """A record as one row: what is nested gets the outer name in front, parts of an estimate keep the unit last."""
    row: Record = {}
    for name, value in record.items():
        if isinstance(value, dict) and set(value) == {"value", "low", "high", "n"}:
            stem, unit = _parted(name)
            row |= {name: value["value"], f"{stem}_low{unit}": value["low"], f"{stem}_high{unit}": value["high"]}
            row[f"{stem}_n"] = value["n"]
        elif isinstance(value, dict):
            row |= {f"{name}_{inner}": content for inner, content in value.items()}
        else:
            row[name] = value
    return row


def _parted(name: str) -> tuple[str, str]:
    for unit in _UNITS:
        if name.endswith(unit):
            return name.removesuffix(unit), unit
    return name, ""


class OfMetric(TypedDict):
    """Which metric, and what was made of it."""

    metric: str
    label: str
    source: Literal["packets", "ping", "host", "cloudwatch"]
    dimensions: str | None
    unit: Literal["share", "per_s", "s", "count"]
    judgement: Judgement
    sentence: str


class Weighed(TypedDict):
    """How much of a metric's values and of the transfers' time meet."""

    period_s: Annotated[float | None, "Of the metric's values; null for what is of the transfer itself."]
    coverage: Annotated[Share | None, "Median share of a transfer that has values."]
    weight: Annotated[Share | None, "Median share of the values' time that lies in the transfer."]
    spearman: Estimate
    lag_s: Annotated[float | None, "Above 0: the metric came first."]
    lags_tried: Count | None
    effective_transfers: Annotated[Positive | None, "What they are worth, neighbours in time being alike."]
    p_value: Annotated[Share | None, "Corrected for lags."]
    p_adjusted: Annotated[Share | None, "Corrected for all metrics of the role, too."]
    reason: str | None


class Influence(OfMetric, Weighed):
    """One metric against throughput of one role's transfers."""

    role: Role
    transfers: Count
    least: float | None
    median: float | None
    p95: float | None
    most: float | None
    pearson: Estimate
    threshold: float | None
    transfers_beyond: Count | None
    throughput_lower: Annotated[
        Estimate, "Share by which the median of relative throughput is lower beyond the threshold."
    ]


class LimitInfluence(OfMetric, Weighed):
    """One metric inside the intervals of one factor against the rest of the transfers' time."""

    factor: str
    intervals: Count
    transfers: Count
    periods: Count
    inside: float | None
    outside: float | None
    difference: Estimate
    p95_inside: float | None


class TransferRecord(TypedDict):
    """A transfer, and what its packets say."""

    sequence: Count
    repeat: int | None
    index: str
    pair: int | None
    role: Role
    direction: str
    streams: int
    start_ns: int
    bytes: Count
    duration_s: Positive | None
    goodput_bps: Positive | None
    ping_mean_s: float | None
    kernel_retransmission_rate: float | None
    kernel_min_rtt_s: float | None
    congestion_control: str | None
    dropped: int | None
    trouble: str | None
    measures: Annotated[Measures, FLAT]


def _of_metric(metric: Metric, judgement: str, sentence: str) -> Record:
    names = ("source", "dimensions", "unit")
    named = {"metric": metric.name, "label": metric.full_label} | {name: getattr(metric, name) for name in names}
    return named | {"judgement": judgement, "sentence": sentence}


def _finding(one: Finding) -> Record:
    association, effect = one.association, one.effect
    return {
        "role": one.role,
        **_of_metric(one.metric, one.judgement, sentence(one)),
        **as_record(one.levels),
        "period_s": one.period_s,
        "coverage": one.coverage,
        "weight": one.weight,
        "spearman": (association.spearman if association else ABSENT).as_record(),
        "pearson": (association.pearson if association else ABSENT).as_record(),
        "lag_s": one.lag_s if association and association.p_value is not None else None,
        "lags_tried": association.lags_tried if association else None,
        "effective_transfers": association.n_effective if association else None,
        "p_value": association.p_value if association else None,
        "p_adjusted": one.p_adjusted,
        "threshold": effect.threshold if effect else None,
        "transfers_beyond": effect.transfers_beyond if effect else None,
        "throughput_lower": (effect.lower if effect else ABSENT).as_record(),
        "reason": one.reason or (effect.reason if effect else None),
    }


def _interval_finding(one: IntervalFinding) -> Record:
    names = (
        *("intervals", "transfers", "periods", "inside", "outside", "difference", "p95_inside"),
        *("period_s", "coverage", "weight", "spearman", "lag_s", "lags_tried", "effective_transfers"),
        *("p_value", "p_adjusted", "reason"),
    )
    found = {name: getattr(one, name) for name in names}
    return {
        "factor": one.factor,
        **_of_metric(one.metric, one.judgement, interval_sentence(one)),
        **found,
        "difference": one.difference.as_record(),
        "spearman": Estimate(one.spearman, None, None, one.periods).as_record(),
    }


def _transfer(one: MeasuredTransfer) -> Record:
    pair, transfer, kernel = one.pair, one.transfer, one.transfer.kernel
    return record_of(
        TransferRecord,
        transfer,
        pair,
        pair=pair.number,
        ping_mean_s=pair.rtt.mean_s if pair.rtt else None,
        kernel_retransmission_rate=kernel.retransmission_rate if kernel else None,
        kernel_min_rtt_s=kernel.min_rtt_s if kernel else None,
        congestion_control=kernel.congestion_control if kernel else None,
        trouble=one.capture_trouble,
        measures=one.measures,
    )
