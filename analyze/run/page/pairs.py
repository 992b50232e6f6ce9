"""Every pair of a run in one table that is sorted by a click: what limited its data transfer, and how it went."""

from analyze.pages.markup import Cell, index_name, sortable_table
from analyze.palette import FACTORS
from analyze.records.run import Pair
from analyze.run.measure import Measures
from analyze.run.results import RunResults
from analyze.units import ABSENT, plural, printable, seconds, share, si
from analyze.verdict import is_open

_ROW_LIMIT = 4000
_HEAD = (
    Cell("pair"), Cell("index", left=True), Cell("since start"), Cell("limiting factor", left=True), Cell("share"),
    Cell("confidence"), Cell("throughput"), Cell("probe"), Cell("loss"), Cell("mean RTT"), Cell("verdict", left=True),
)  # fmt: skip


def pairs_part(run: RunResults) -> str:
    """A row for each pair, also for those that failed."""
    pairs = run.run.pairs
    if not pairs:
        return "<p>No pair is over.</p>"
    more = len(pairs) - _ROW_LIMIT
    rest = f"<p>{plural(more, 'more pair')} in the CSV files.</p>" if more > 0 else ""
    return sortable_table(_HEAD, (_cells(run, pair) for pair in pairs[:_ROW_LIMIT])) + rest


def _cells(run: RunResults, pair: Pair) -> list[Cell]:
    data, probe = run.transfer(pair, "data"), run.transfer(pair, "probe")
    numbers = data.measures if data else Measures()
    goodput = data.transfer.goodput_bps if data else None
    probed = probe.transfer.goodput_bps if probe else None
    return [
        Cell(str(pair.sequence), pair.sequence),
        Cell(index_name(pair.index), left=True),
        _since(run, pair),
        _factor(numbers),
        Cell(share(numbers.verdict_share), numbers.verdict_share),
        Cell(share(numbers.verdict_confidence), numbers.verdict_confidence),
        Cell(si(goodput, "bit/s"), goodput),
        Cell(si(probed, "bit/s"), probed),
        Cell(share(numbers.loss_rate), numbers.loss_rate),
        Cell(seconds(numbers.rtt_mean_s), numbers.rtt_mean_s),
        Cell(_sentence(pair, numbers), left=True, wraps=True),
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
        return Cell(ABSENT, left=True)
    mark = "?" if is_open(numbers.verdict_confidence) else ""
    look = FACTORS.get(factor)
    return Cell(factor.replace("_", " ") + mark, left=True, colour=look.colour if look else None)


def _sentence(pair: Pair, numbers: Measures) -> str:
    if not pair.complete:
        return f"failed: {printable(pair.error)}" if pair.error else "failed"
    if numbers.verdict_sentence:
        return printable(numbers.verdict_sentence)
    return printable(numbers.problem) if numbers.problem else "not judged"
