"""Every pair of a run in one table that can be sorted: what limited its data transfer, and how it went."""

from vmtrace.analyze.pages.blocks import Block, Cell, Column, Row, Table, Text
from vmtrace.analyze.pages.texts import index_name
from vmtrace.analyze.read.records.run import Pair
from vmtrace.analyze.reports.run.charts.by_cause import row_id
from vmtrace.analyze.reports.run.measure import Measures
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.palette import FACTORS
from vmtrace.analyze.words.units import ABSENT, plural, printable, seconds, share, si
from vmtrace.analyze.words.verdict import is_open

_ROW_LIMIT = 4000
_HEAD = (
    Column("pair"), Column("index", left=True), Column("since start"), Column("limiting factor", left=True),
    Column("share"), Column("confidence"), Column("throughput"), Column("probe"), Column("loss"), Column("mean RTT"),
    Column("verdict", left=True, wraps=True),
)  # fmt: skip


def pairs_part(run: RunResults, number: int = 0) -> tuple[Block, ...]:
    """A row for each pair, also for those that failed; `number` is the run's on its page."""
    pairs = run.run.pairs
    if not pairs:
        return (Text("No pair is over."),)
    more = len(pairs) - _ROW_LIMIT
    rest = [Text(f"{plural(more, 'more pair')} in the CSV files.")] if more > 0 else []
    rows = tuple(Row(tuple(_cells(run, pair)), id=row_id(number, pair.sequence)) for pair in pairs[:_ROW_LIMIT])
    return (Table(_HEAD, rows, sortable=True), *rest)


def _cells(run: RunResults, pair: Pair) -> list[Cell]:
    data, probe = run.transfer(pair, "data"), run.transfer(pair, "probe")
    numbers = data.measures if data else Measures()
    goodput = data.transfer.goodput_bps if data else None
    probed = probe.transfer.goodput_bps if probe else None
    return [
        Cell(str(pair.sequence), pair.sequence),
        Cell(index_name(pair.index)),
        _since(run, pair),
        _factor(numbers),
        Cell(share(numbers.verdict_share), numbers.verdict_share),
        Cell(share(numbers.verdict_confidence), numbers.verdict_confidence),
        Cell(si(goodput, "bit/s"), goodput),
        Cell(si(probed, "bit/s"), probed),
        Cell(share(numbers.loss_rate), numbers.loss_rate),
        Cell(seconds(numbers.rtt_mean_s), numbers.rtt_mean_s),
        Cell(_sentence(pair, numbers)),
    ]


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
