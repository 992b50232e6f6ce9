"""The part of a report's page on what limited the transfers of a run."""

from html import escape

from analyze.pages.markup import table
from analyze.run.limits import LimitRow, limit_rows, limit_sentences
from analyze.run.results import RunResults
from analyze.units import count, seconds, share, si


def limits_part(run: RunResults) -> str:
    """A sentence for each role, and time and loss by factor."""
    rows = limit_rows(run)
    if not rows:
        return "<p>No transfer has enough packets in a capture to judge what limited it.</p>"
    said = "".join(f"<p>{escape(one)}</p>" for one in limit_sentences(rows))
    head = ("transfers", "factor", "verdict in", "of", "time", "share of time", "lost", "share of what was lost")
    return said + table(head, ((_cells(row), False) for row in rows), left=(1,))


def _cells(row: LimitRow) -> list[str]:
    return [
        row.role,
        row.factor.replace("_", " "),
        count(row.first_in),
        count(row.judged),
        seconds(row.time_s),
        share(row.time_share),
        si(row.lost_bytes, "B"),
        share(row.lost_share),
    ]
