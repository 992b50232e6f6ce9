"""What limited the transfers of a run: the verdicts on its connections (docs/verdict.md), weighed by the bytes they
moved."""

from collections import Counter
from dataclasses import dataclass

from vmtrace.analyze.reports.storage.measured import Connection, MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share
from vmtrace.analyze.words.verdict import is_open


@dataclass(frozen=True, slots=True)
class LimitRow:
    """One workload in one direction."""

    workload: str
    direction: Direction
    connections: Count
    judged: Count
    """With a verdict that is not left open."""
    factor: str | None
    """As in vmtrace.analysis/1."""
    bytes_share: Positive | None
    """Its share of those bytes."""
    factors: dict[str, Share]
    """Share of the bytes of judged connections."""
    slowest: str | None
    """The verdict on the slowest transaction."""


def limit_rows(run: MeasuredRun) -> list[LimitRow]:
    """A row for each workload and direction that was captured."""
    rows = []
    for (workload, direction), found in run.kinds().items():
        captured = [one for one in found if one.connections]
        if captured:
            rows.append(_row(workload, direction, captured))
    return rows


def _row(workload: str, direction: str, found: list[MeasuredTransaction]) -> LimitRow:
    connections = [connection for one in found for connection in one.connections]
    weights: Counter[str] = Counter()
    judged = 0
    for connection in connections:
        if connection.verdict_factor is not None and not is_open(connection.verdict_confidence):
            weights[connection.verdict_factor] += _moved(connection, direction)
            judged += 1
    total = sum(weights.values())
    shares = {factor: weight / total for factor, weight in weights.most_common()} if total else {}
    slowest = max(found, key=lambda one: one.transaction.end_ns - one.transaction.start_ns)
    most = max(slowest.connections, key=lambda connection: _moved(connection, direction))
    factor = next(iter(shares), None)
    return LimitRow(
        workload,
        direction,
        len(connections),
        judged,
        factor,
        shares[factor] if factor else None,
        shares,
        most.verdict_sentence,
    )


def _moved(connection: Connection, direction: str) -> int:
    return connection.uploaded_bytes if direction == "upload" else connection.downloaded_bytes
