"""Every pair of a run in one table that can be sorted: what limited its data transfer, and how it went."""

from typing import NamedTuple

from vmtrace.analyze.pages.blocks import Block, Text
from vmtrace.analyze.pages.texts import index_name
from vmtrace.analyze.read.records.run import Pair
from vmtrace.analyze.reports.run.charts.by_cause import row_id
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.tables.table import Cell, Column, shown
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import FACTORS
from vmtrace.analyze.words.units import ABSENT, printable, seconds, share, si
from vmtrace.analyze.words.verdict import is_open
from vmtrace.formats.quantities import plural

_ROW_LIMIT = 4000


class _Shown(NamedTuple):
    """A pair, and what its row shows."""

    run: RunResults
    pair: Pair
    data: Measures
    goodput_bps: float | None
    probe_bps: float | None


def pairs_part(run: RunResults, number: int = 0) -> tuple[Block, ...]:
    """A row for each pair, also for those that failed; `number` is the run's on its page."""
    pairs = run.run.pairs
    if not pairs:
        return (Text("No pair is over."),)
    more = len(pairs) - _ROW_LIMIT
    rest = [Text(f"{plural(more, 'more pair')} in the CSV files.")] if more > 0 else []
    records = (_shown(run, pair) for pair in pairs[:_ROW_LIMIT])
    return (shown(_COLUMNS, records, row_id=lambda one: row_id(number, one.pair.sequence), sortable=True), *rest)


def _shown(run: RunResults, pair: Pair) -> _Shown:
    data, probe = run.transfer(pair, "data"), run.transfer(pair, "probe")
    goodput = data.transfer.goodput_bps if data else None
    return _Shown(
        run, pair, data.measures if data else Measures(), goodput, probe.transfer.goodput_bps if probe else None
    )


def _since(run: RunResults, pair: Pair) -> Cell:
    start_ns = run.run.record.start_ns
    if pair.start_ns is None or start_ns is None:
        return Cell(ABSENT)
    since_s = (pair.start_ns - start_ns) / 1e9
    return Cell(seconds(since_s), since_s)


def _factor(numbers: Measures) -> Cell:
    """The factor in its colour; with a question mark if the verdict was left open."""
    factor = numbers.verdict_factor
    if factor is None:
        return Cell(ABSENT)
    mark = "?" if is_open(numbers.verdict_confidence) else ""
    look = FACTORS.get(factor)
    return Cell(factor_name(factor) + mark, colour=look.colour if look else None)


def _sentence(pair: Pair, numbers: Measures) -> str:
    if not pair.complete:
        return f"failed: {printable(pair.error)}" if pair.error else "failed"
    if numbers.verdict_sentence:
        return printable(numbers.verdict_sentence)
    return printable(numbers.problem) if numbers.problem else "not judged"


_COLUMNS: tuple[Column[_Shown], ...] = (
    Column("pair", lambda one: Cell(str(one.pair.sequence), one.pair.sequence)),
    Column("index", lambda one: Cell(index_name(one.pair.index)), left=True),
    Column("since start", lambda one: _since(one.run, one.pair)),
    Column("limiting factor", lambda one: _factor(one.data), left=True),
    Column("share", lambda one: Cell(share(one.data.verdict_share), one.data.verdict_share)),
    Column("confidence", lambda one: Cell(share(one.data.verdict_confidence), one.data.verdict_confidence)),
    Column("throughput", lambda one: Cell(si(one.goodput_bps, "bit/s"), one.goodput_bps)),
    Column("probe", lambda one: Cell(si(one.probe_bps, "bit/s"), one.probe_bps)),
    Column("loss", lambda one: Cell(share(one.data.loss_rate), one.data.loss_rate)),
    Column("mean RTT", lambda one: Cell(seconds(one.data.rtt_mean_s), one.data.rtt_mean_s)),
    Column("verdict", lambda one: Cell(_sentence(one.pair, one.data)), left=True, wraps=True),
)
