"""The part of a report's page on what limited the transfers of a run."""

from vmtrace.analyze.pages.blocks import Block, Text, table
from vmtrace.analyze.reports.run.limits import LimitRow, limit_rows, limit_sentences
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import count, seconds, share, si


def limits_part(run: RunResults) -> tuple[Block, ...]:
    """A sentence for each role, and time and loss by factor."""
    rows = limit_rows(run)
    if not rows:
        return (Text("No transfer has enough packets in a capture to judge what limited it."),)
    head = ("transfers", "factor", "verdict in", "of", "time", "share of time", "shortfall", "share of the shortfall")
    return (
        *map(Text, limit_sentences(rows, run.transfers)),
        table(head, ((_cells(row), False) for row in rows), left=(1,)),
    )


def _cells(row: LimitRow) -> list[str]:
    return [
        row.role,
        factor_name(row.factor),
        count(row.first_in),
        count(row.judged),
        seconds(row.time_s),
        share(row.time_share),
        si(row.lost_bytes, "B"),
        share(row.lost_share),
    ]
