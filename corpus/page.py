"""The page over a corpus: its answer, the worst connections, and causes by host pair and hour."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, span, time_unit
from vmtrace.analyze.pages.blocks import Block, Figures, Fold, Page, Section, Shares, Text, summary
from vmtrace.analyze.pages.causes import COLOURS, NOT_JUDGED, cause_shares
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.tables.table import Cell, Column, Table, shown
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import printable, seconds
from vmtrace.corpus.engine import Record
from vmtrace.corpus.overview import Overview, Sum
from vmtrace.formats.quantities import plural

_PLACES_SHOWN = 200
_INPUTS_SHOWN = 200
_HOUR_S = 3600.0
_LEAD_HEIGHT = 110


def write_page(
    overview: Overview, inputs: Sequence[Record], findings: Sequence[str], provenance: Record, path: Path
) -> None:
    """Write it."""
    write_report_page(page_of(overview, inputs, findings, provenance), path)


def page_of(overview: Overview, inputs: Sequence[Record], findings: Sequence[str], provenance: Record) -> Page:
    """The page as data."""
    total = overview.total
    facts = (
        plural(total.connections, "connection"),
        plural(len(inputs), "capture"),
        f"{sum(one['packets'] for one in inputs):,} packets",
    )
    return Page(
        title="Corpus",
        answer=(
            *(Text(line, "sentence") for line in findings or overview.answer()[:1]),
            Figures((_by_hour(overview),), height=_LEAD_HEIGHT),
            *_bars(overview),
            *summary("", _faults(inputs), ()),
        ),
        sections=(
            Section("worst", "Connections slowed for longest", _folded(_worst(overview), "connection"), wide=True),
            Section("causes", "Causes", (_causes(overview),)),
            Section("places", "Causes by host pair and hour", _places(overview), wide=True),
            Section("captures", "Captures", _captures(inputs), wide=True),
        ),
        provenance=provenance,
        facts=facts,
    )


def _bars(overview: Overview) -> tuple[Shares, ...]:
    """Causes by connections and by the time they cost."""
    number, slowed_s = dict[str, float](), dict[str, float]()
    for cause, one in overview.causes.items():
        factor = overview.factors[cause]
        number[factor] = number.get(factor, 0) + one.connections
        slowed_s[factor] = slowed_s.get(factor, 0.0) + one.slowed_s
    silent = overview.total.connections - sum(map(int, number.values()))
    if silent > 0:
        number[NOT_JUDGED] = silent
    slowed_s = {factor: value for factor, value in slowed_s.items() if value > 0}
    by_time = cause_shares("By the time they slowed them", slowed_s, lambda cause: f", {seconds(slowed_s[cause])}")
    return (
        cause_shares(
            "What limited connections, by number", number, lambda cause: f", {plural(int(number[cause]), 'connection')}"
        ),
        *((by_time,) if slowed_s else ()),
    )


def _faults(inputs: Sequence[Record]) -> tuple[str, ...]:
    """What is wrong with captures, counted over all."""
    counts = (
        (sum(bool(one["damage"]) for one in inputs), "is damaged in places", "are damaged in places"),
        (
            sum(one["capture"]["unseen_acked_bytes"] > 0 for one in inputs),
            "misses packets that were acknowledged",
            "miss packets that were acknowledged",
        ),
        (sum(one["capture"]["clock_steps"] > 0 for one in inputs), "has clock steps", "have clock steps"),
    )
    return tuple(f"{plural(count, 'capture')} {one if count == 1 else more}" for count, one, more in counts if count)


def _worst(overview: Overview) -> Table:
    return shown(_WORST, overview.worst_rows(), row_id=lambda row: f"connection-{row['id']}", sortable=True)


def _folded(table: Table, what: str) -> tuple[Block, ...]:
    return (Fold(f"{plural(len(table.rows), what)}, a line each", (table,)),) if table.rows else (table,)


def _rtt_s(row: dict[str, Any]) -> float | None:
    return _least(row["client_to_server_rtt_min_s"], row["server_to_client_rtt_min_s"])


def _loss(row: dict[str, Any]) -> float | None:
    rates = (row["client_to_server_loss_loss_rate"], row["server_to_client_loss_loss_rate"])
    return max((rate for rate in rates if rate is not None), default=None)


def _number(value: float | None, digits: int, factor: float = 1.0) -> Cell:
    return Cell("" if value is None else f"{factor * value:.{digits}f}", value)


_WORST: tuple[Column[dict[str, Any]], ...] = (
    Column("id", lambda row: Cell(str(row["id"]), row["id"])),
    Column("client", lambda row: printable(row["client"]), left=True),
    Column("server", lambda row: printable(row["server"]), left=True),
    Column("start", lambda row: _time(row["start_ns"]), left=True),
    Column("slowed [s]", lambda row: _number(row["slowed_s"], 3)),
    Column("data [MB]", lambda row: _number((row["ledger_wire_bytes"] or 0) / 1e6, 3)),
    Column("RTT min [ms]", lambda row: _number(_rtt_s(row), 2, 1e3)),
    Column("loss [%]", lambda row: _number(_loss(row), 2, 100)),
    Column("why", lambda row: printable(row["verdict_sentence"] or ""), left=True, wraps=True),
)


def _by_hour(overview: Overview) -> Chart:
    first_ns = min((hour for hour, _ in overview.hours), default=0)
    last_ns = max((hour for hour, _ in overview.hours), default=0)
    unit_s, unit = time_unit((last_ns - first_ns) / 1e9 + _HOUR_S)

    def series(value: Callable[[Sum], float]) -> tuple[Series, ...]:
        found: dict[str, dict[int, float]] = {}
        for (hour, cause), one in overview.hours.items():
            by_hour = found.setdefault(overview.factors[cause], {})
            by_hour[hour] = by_hour.get(hour, 0.0) + value(one)
        return tuple(
            Series(
                factor_name(factor),
                np.array([(hour - first_ns) / 1e9 / unit_s for hour in sorted(found[factor])], np.float64),
                np.array([found[factor][hour] for hour in sorted(found[factor])], np.float64),
                COLOURS[factor],
            )
            for factor in COLOURS
            if factor in found
        )

    counted, slowed = series(lambda one: one.connections), series(lambda one: one.slowed_s)
    note = "" if counted else "no connection has a verdict"
    return Chart(
        "causes-by-hour",
        "What limited connections, by the hour in which they began",
        f"Each point is the connections of one cause that began within an hour; the first from {_time(first_ns)} UTC.",
        Axis("time since the first hour", unit),
        (
            Panel("connections", Axis("connections", "", log=_is_wide(counted)), counted, note),
            Panel("time slowed", Axis("time slowed", "s", log=_is_wide(slowed)), slowed, note),
        ),
        shared_x=True,
    )


def _is_wide(series: Sequence[Series]) -> bool:
    """More than two decades, which only an axis of powers shows."""
    found = span(*(one.y for one in series))
    return found is not None and found[1] > 100 * found[0]


_SUMS: tuple[Column[tuple[Any, ...]], ...] = (
    Column("connections", lambda one: _count(one[-1].connections)),
    Column("on the wire [MB]", lambda one: _sum(one[-1].wire_bytes / 1e6)),
    Column("slowed [s]", lambda one: _sum(one[-1].slowed_s)),
)
"""Of a sum, which is last in a record."""
_CAUSES: tuple[Column[tuple[Any, ...]], ...] = (Column("why", lambda one: str(one[0]), left=True), *_SUMS)
_PLACES: tuple[Column[tuple[Any, ...]], ...] = (
    Column("client", lambda one: printable(one[0]), left=True),
    Column("server", lambda one: printable(one[1]), left=True),
    Column("hour", lambda one: _time(one[2]), left=True),
    Column("why", lambda one: str(one[3]), left=True),
    *_SUMS,
)
_CAPTURES: tuple[Column[Record], ...] = (
    Column("capture", lambda one: printable(one["path"]), left=True, wraps=True),
    Column("format", lambda one: one["format"] or "unreadable", left=True),
    Column("packets", lambda one: _count(one["packets"])),
    Column("TCP", lambda one: _count(one["tcp_packets"])),
    Column("damage", lambda one: Cell(str(len(one["damage"])), len(one["damage"]))),
)


def _causes(overview: Overview) -> Table:
    return shown(_CAUSES, sorted(overview.causes.items(), key=lambda one: -one[1].slowed_s), sortable=True)


def _places(overview: Overview) -> tuple[Text | Table, ...]:
    made = shown(_PLACES, ((*key, one) for key, one in overview.worst_places(_PLACES_SHOWN)), sortable=True)
    notes = []
    if len(made.rows) == _PLACES_SHOWN:
        notes.append(f"The {_PLACES_SHOWN} slowed for longest; all are in connections/*.parquet.")
    if overview.places_left_out:
        notes.append(f"{overview.places_left_out:,} connections of further host pairs are not in this table.")
    return *(Text(note, "hint") for note in notes), made


def _captures(inputs: Sequence[Record]) -> tuple[Text | Table, ...]:
    more = len(inputs) - _INPUTS_SHOWN
    made = shown(_CAPTURES, inputs[:_INPUTS_SHOWN], sortable=True)
    return *((Text(f"And {more:,} more.", "hint"),) if more > 0 else ()), made


def _sum(value: float) -> Cell:
    return Cell(f"{value:,.3f}", value)


def _count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def _least(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def _time(time_ns: int) -> str:
    return datetime.fromtimestamp(time_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
