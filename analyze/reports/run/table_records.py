"""Results as flat rows for CSV and as records for JSON: one spelling of every name for both.

An `Estimate` becomes four columns: `mean_rtt_s`, `mean_rtt_low_s`, `mean_rtt_high_s`, `mean_rtt_n`: the unit last.
"""

from dataclasses import asdict, fields
from typing import Any

from vmtrace.analyze.reports.run.limits import limit_rows
from vmtrace.analyze.reports.run.losses.bursts import LossBurstRow, loss_burst_rows
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.tables import (
    BaselineRow,
    CorrelationRow,
    MetricsRow,
    PlanRow,
    PredictionRow,
    correlation_rows,
    metrics_rows,
    plan_rows,
    prediction_rows,
)
from vmtrace.analyze.reports.run.transfers.transfers import MeasuredTransfer
from vmtrace.analyze.reports.run.two_sides.table import TwoSidesRow, clock_row, two_sides_rows
from vmtrace.analyze.reports.run.variation.findings import Finding, SpreadRow, variation
from vmtrace.analyze.reports.run.variation.interval_words import interval_sentence
from vmtrace.analyze.reports.run.variation.intervals import IntervalFinding, interval_findings
from vmtrace.analyze.reports.run.variation.words import sentence
from vmtrace.analyze.stats.estimates import ABSENT, Estimate

Record = dict[str, Any]

_UNITS = ("_s", "_bps", "_rate")
_KEPT_ONLY = frozenset({"problem", "verdict", "limit_intervals", "outcomes"})
"""In tables of their own, or under another name."""
_OF_TWO_SIDES = ("two_sides_", "one_way_delay_", "clock_", "gaps_", "longest_gap_")


def tables(results: RunResults) -> dict[str, list[Record]]:
    """All tables of a run by name, as nested records."""
    return {
        "table_1": [_plan(row) for row in plan_rows(results)],
        "table_2": [_fields(row) for row in metrics_rows(results)],
        "loss_bursts": [_fields(row) for row in loss_burst_rows(results)],
        "correlation": [_correlation(row) for row in correlation_rows(results)],
        "prediction": [_prediction(row) for row in prediction_rows(results)],
        "limits": [asdict(row) for row in limit_rows(results)],
        "stability": [_spread(row) for row in variation(results).spreads],
        "influences": [_finding(one) for one in variation(results).findings],
        "limit_influences": [_interval_finding(one) for one in interval_findings(results)],
        "two_sides": [_fields(row) for row in two_sides_rows(results)],
        "transfers": [_transfer(one) for one in results.transfers],
    }


def two_sides_records(results: RunResults) -> Record:
    """What both sides' captures of a run say together, alone."""
    names = [field.name for field in fields(Measures) if field.name.startswith(_OF_TWO_SIDES)]
    matched = [one for one in results.transfers if len(one.files) > 1]
    return {
        "path": str(results.run.folder),
        "name": results.name,
        "clock": asdict(clock_row(results)),
        "two_sides": [_fields(row) for row in two_sides_rows(results)],
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


def _plan(row: PlanRow) -> Record:
    return asdict(row)


def _fields(row: MetricsRow | TwoSidesRow | LossBurstRow) -> Record:
    return {field.name: _plain(getattr(row, field.name)) for field in fields(row)}


def _spread(row: SpreadRow) -> Record:
    found = row.spread
    return {
        "index": row.index,
        "role": row.role,
        "coefficient_of_variation": found.variation.as_record(),
        "relative_p5": found.p5,
        "relative_p95": found.p95,
        "judgement": found.judgement,
    }


def _finding(one: Finding) -> Record:
    metric, association, effect = one.metric, one.association, one.effect
    nothing = {"spearman": ABSENT.as_record(), "pearson": ABSENT.as_record()}
    return {
        "role": one.role,
        "metric": metric.name,
        "label": metric.full_label,
        "source": metric.source,
        "dimensions": metric.dimensions,
        "unit": metric.unit,
        "judgement": one.judgement,
        "sentence": sentence(one),
        "transfers": one.levels.transfers,
        "least": one.levels.least,
        "median": one.levels.median,
        "p95": one.levels.p95,
        "most": one.levels.most,
        "period_s": one.period_s,
        "coverage": one.coverage,
        "weight": one.weight,
        **(
            {"spearman": association.spearman.as_record(), "pearson": association.pearson.as_record()}
            if association
            else nothing
        ),
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
    metric = one.metric
    return {
        "factor": one.factor,
        "metric": metric.name,
        "label": metric.full_label,
        "source": metric.source,
        "dimensions": metric.dimensions,
        "unit": metric.unit,
        "judgement": one.judgement,
        "sentence": interval_sentence(one),
        "intervals": one.intervals,
        "transfers": one.transfers,
        "periods": one.periods,
        "inside": one.inside,
        "outside": one.outside,
        "difference": one.difference.as_record(),
        "p95_inside": one.p95_inside,
        "period_s": one.period_s,
        "coverage": one.coverage,
        "weight": one.weight,
        "spearman": Estimate(one.spearman, None, None, one.periods).as_record(),
        "lag_s": one.lag_s,
        "lags_tried": one.lags_tried,
        "effective_transfers": one.effective_transfers,
        "p_value": one.p_value,
        "p_adjusted": one.p_adjusted,
        "reason": one.reason,
    }


def _correlation(row: CorrelationRow) -> Record:
    return {"index": row.index, "pearson": row.pearson.as_record(), "spearman": row.spearman.as_record()}


def _prediction(row: PredictionRow) -> Record:
    error = row.error
    return {
        "index": row.index,
        "rule": error.rule,
        "mean_error": error.mean.as_record(),
        "median_error": error.median.as_record(),
    }


def _transfer(one: MeasuredTransfer) -> Record:
    kernel = one.transfer.kernel
    return {
        "sequence": one.pair.sequence,
        "repeat": one.pair.repeat,
        "index": one.pair.index,
        "pair": one.pair.number,
        "role": one.transfer.role,
        "direction": one.transfer.direction,
        "streams": one.transfer.streams,
        "start_ns": one.transfer.start_ns,
        "bytes": one.transfer.bytes,
        "duration_s": one.transfer.duration_s,
        "goodput_bps": one.transfer.goodput_bps,
        "ping_mean_s": one.pair.rtt.mean_s if one.pair.rtt else None,
        "kernel_retransmission_rate": kernel.retransmission_rate if kernel else None,
        "kernel_min_rtt_s": kernel.min_rtt_s if kernel else None,
        "congestion_control": kernel.congestion_control if kernel else None,
        "dropped": one.transfer.dropped,
        "trouble": one.capture_trouble,
        **{name: value for name, value in asdict(one.measures).items() if name not in _KEPT_ONLY},
    }


def _plain(value: object) -> object:
    if isinstance(value, Estimate):
        return value.as_record()
    return asdict(value) if isinstance(value, BaselineRow) else value
