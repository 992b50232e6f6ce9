"""How a service's client manages connections (Fig. 6a): how many it opens, for what, one after the other or at once,
and whether it uses them again.

The log tells which connection carried the login and which carried objects; the capture tells those that the log does
not.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from vmtrace.analyze.reports.storage.measured import MeasuredRun, MeasuredTransaction
from vmtrace.analyze.reports.storage.records import Direction, Endpoint, Use
from vmtrace.analyze.stats.estimates import Estimate, median
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, keys

ROLES = ("control", "data", "control and data", "unlogged")
Ends = tuple[Endpoint | None, Endpoint | None]


@dataclass(frozen=True, slots=True)
class ConnectionRow:
    """Connections of one workload in one direction; numbers of a transaction are medians over transactions."""

    workload: str
    direction: Direction
    transactions: Count
    """With a capture."""
    opened: Estimate
    """SYNs without retransmissions, of a transaction."""
    syn_retransmissions: Count
    by_role: Annotated[dict[str, Positive], keys(*ROLES)]
    """Mean number of a transaction; unlogged: in the capture, not in the log."""
    """Mean number of a transaction; unlogged: in the capture, not in the log."""
    at_once: Count | None
    """Most connections open at the same time."""
    objects_at_once: Count | None
    """Most objects under way at the same time."""
    objects_per_data_connection: Positive | None
    reused_share: Share | None
    """Of the objects, those that needed no new connection."""
    tls_connections: Count
    tls_resumed: Count
    tls_unknown: Count
    """Too little of the handshake was captured."""

    DERIVED = ("manner",)

    @property
    def manner(self) -> str | None:
        """How objects follow each other."""
        if self.objects_at_once is None:
            return None
        return "sequential" if self.objects_at_once <= 1 else f"up to {self.objects_at_once} in parallel"


def connection_rows(run: MeasuredRun) -> list[ConnectionRow]:
    """A row for each workload and direction that was captured."""
    rows = []
    for (workload, direction), found in run.kinds().items():
        captured = [one for one in found if one.captured]
        if captured:
            rows.append(_row(workload, direction, captured))
    return rows


def roles_of(one: MeasuredTransaction) -> list[str]:
    """The roles of all its connections, in their order."""
    login = one.transaction.login
    control = _ends(login.connections) if login is not None else set()
    data = {ends for stored in one.objects for ends in _ends(stored.exchange.connections)}
    pairs = [(connection.client, connection.server) for connection in one.connections]
    return [_role(control=ends in control, data=ends in data) for ends in pairs]


def most_at_once(spans: Iterable[tuple[int, int]]) -> int:
    """Of spans of time (start, end), the most that overlap; one that ends where another begins does not."""
    changes = sorted(change for start, end in spans for change in ((start, 1), (max(end, start + 1), -1)))
    most = under_way = 0
    for _, change in changes:
        under_way += change
        most = max(most, under_way)
    return most


def opened_over_time(one: MeasuredTransaction) -> list[float]:
    """When each connection was opened, seconds since the transaction's start."""
    return [
        (connection.start_ns - one.transaction.start_ns) / 1e9 for connection in one.connections if connection.opened
    ]


def _ends(uses: Sequence[Use]) -> set[Ends]:
    return {(use.local, use.peer) for use in uses}


def _role(*, control: bool, data: bool) -> str:
    if control and data:
        return "control and data"
    return "control" if control else "data" if data else "unlogged"


def _row(workload: str, direction: str, found: Sequence[MeasuredTransaction]) -> ConnectionRow:
    roles = [role for one in found for role in roles_of(one)]
    connections = [connection for one in found for connection in one.connections]
    tls = [connection for connection in connections if connection.tls]
    objects = [stored for one in found for stored in one.objects]
    reused = [
        stored for stored in objects if stored.exchange.connections and not _opened_any(stored.exchange.connections)
    ]
    logged = [stored for stored in objects if stored.exchange.connections]
    carrying = sum("data" in role for role in roles)
    spans = [
        most_at_once((o.exchange.start_ns, o.exchange.end_ns) for o in one.objects) for one in found if one.objects
    ]
    return ConnectionRow(
        workload=workload,
        direction=direction,
        transactions=len(found),
        opened=median(np.array([sum(c.opened for c in one.connections) for one in found], np.float64)),
        syn_retransmissions=sum(connection.syn_retransmissions for connection in connections),
        by_role={role: roles.count(role) / len(found) for role in ROLES},
        at_once=max((most_at_once((c.start_ns, c.end_ns) for c in one.connections) for one in found), default=None),
        objects_at_once=max(spans, default=None),
        objects_per_data_connection=len(logged) / carrying if carrying else None,
        reused_share=len(reused) / len(logged) if logged else None,
        tls_connections=len(tls),
        tls_resumed=sum(connection.tls_resumed is True for connection in tls),
        tls_unknown=sum(connection.tls_resumed is None for connection in tls),
    )


def _opened_any(uses: Sequence[Use]) -> bool:
    return any(use.opened for use in uses)
