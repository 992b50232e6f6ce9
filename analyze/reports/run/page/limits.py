"""The part of a report's page on what limited the transfers of a run."""

from vmtrace.analyze.pages.blocks import Block, Text
from vmtrace.analyze.reports.run.limits import LimitRow, limit_rows, limit_sentences
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.tables.table import Column, shown
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import count, seconds, share, si


def limits_part(run: RunResults) -> tuple[Block, ...]:
    """A sentence for each role, and time and loss by factor."""
    rows = limit_rows(run)
    if not rows:
        return (Text("No transfer has enough packets in a capture to judge what limited it."),)
    return (*map(Text, limit_sentences(rows, run.transfers)), shown(_COLUMNS, rows))


_COLUMNS: tuple[Column[LimitRow], ...] = (
    Column("transfers", lambda row: row.role, left=True),
    Column("factor", lambda row: factor_name(row.factor), left=True),
    Column("verdict in", lambda row: count(row.first_in)),
    Column("of", lambda row: count(row.judged)),
    Column("time", lambda row: seconds(row.time_s)),
    Column("share of time", lambda row: share(row.time_share)),
    Column("shortfall", lambda row: si(row.lost_bytes, "B")),
    Column("share of the shortfall", lambda row: share(row.lost_share)),
)
