"""What all connections of a run show together: the worst of them, and what limited whom when. Bounded memory.

A connection was slowed by its cause for the share of its data time that the verdict names (`slowed_s`). A sender that
has no more to send, or an undecided verdict, slows nobody.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.units import share

_NOT_SLOWED_BY = frozenset({None, "application", "idle", "unknown"})
_MOST_PLACES = 200_000
"""Host pairs and hours that are counted apart."""
_WORST = 50
_HOUR_NS = 3_600_000_000_000
COLUMNS = (
    "id",
    "client",
    "server",
    "start_ns",
    "ledger_wire_bytes",
    "client_to_server_data_time_s",
    "server_to_client_data_time_s",
    "client_to_server_loss_loss_rate",
    "server_to_client_loss_loss_rate",
    "client_to_server_rtt_min_s",
    "server_to_client_rtt_min_s",
    "verdict_factor",
    "verdict_share",
    "verdict_confidence",
    "verdict_sentence",
)
_LOOKED_AT = (
    *("client", "server", "start_ns", "ledger_wire_bytes", "verdict_factor", "verdict_sentence", "verdict_share"),
    *("client_to_server_data_time_s", "server_to_client_data_time_s"),
)

Place = tuple[str, str, int, str]
"""Client, server, hour (Unix nanoseconds), cause."""


@dataclass(slots=True)
class Sum:
    """Of some connections."""

    connections: int = 0
    wire_bytes: int = 0
    slowed_s: float = 0.0

    def add(self, wire_bytes: int, slowed_s: float) -> None:
        """One more."""
        self.connections += 1
        self.wire_bytes += wire_bytes
        self.slowed_s += slowed_s


@dataclass(slots=True)
class Overview:
    """See the module."""

    total: Sum = field(default_factory=Sum)
    causes: dict[str, Sum] = field(default_factory=dict)
    factors: dict[str, str] = field(default_factory=dict)
    """Of each cause the factor of the contract: several causes may share one, and have its colour."""
    hours: dict[tuple[int, str], Sum] = field(default_factory=dict)
    places: dict[Place, Sum] = field(default_factory=dict)
    places_left_out: int = 0
    """Connections of host pairs and hours beyond those that are counted apart."""
    worst: list[tuple[float, int, dict[str, Any]]] = field(default_factory=list)

    def add(self, table: pa.Table) -> None:
        """Connections of a part of the table."""
        # Of most connections few columns are looked at: rows are made of the worst alone.
        columns = [table.column(name).to_pylist() for name in _LOOKED_AT]
        for place, values in enumerate(zip(*columns, strict=True)):
            slowed_s = self._add(*values)
            if slowed_s > 0 and (len(self.worst) < _WORST or slowed_s >= self.worst[0][0]):
                [row] = table.slice(place, 1).to_pylist()
                self._keep(slowed_s, row)

    def _add(
        self,
        client: str,
        server: str,
        start_ns: int,
        wire_bytes: int | None,
        factor: str | None,
        sentence: str | None,
        *verdict: float | None,
    ) -> float:
        slowed_s = slowed(factor, *verdict)
        self.total.add(wire_bytes or 0, slowed_s)
        if factor is None:
            return slowed_s
        cause = factor_name(factor, sentence)
        self.factors.setdefault(cause, factor)
        hour_ns = start_ns // _HOUR_NS * _HOUR_NS
        sums = [_sum_of(self.causes, cause), _sum_of(self.hours, (hour_ns, cause))]
        place = (_host(client), _host(server), hour_ns, cause)
        if place in self.places or len(self.places) < _MOST_PLACES:
            sums.append(_sum_of(self.places, place))
        else:
            self.places_left_out += 1
        for one in sums:
            one.add(wire_bytes or 0, slowed_s)
        return slowed_s

    def _keep(self, slowed_s: float, row: dict[str, Any]) -> None:
        cause = factor_name(row["verdict_factor"], row["verdict_sentence"])
        entry = (slowed_s, -row["id"], {**row, "slowed_s": slowed_s, "cause": cause})
        if len(self.worst) < _WORST:
            heapq.heappush(self.worst, entry)
        else:
            heapq.heappushpop(self.worst, entry)

    def worst_rows(self) -> list[dict[str, Any]]:
        """The connections that were slowed for longest."""
        return [row for *_, row in sorted(self.worst, key=lambda one: (-one[0], -one[1]))]

    def worst_places(self, most: int) -> Iterator[tuple[Place, Sum]]:
        """Host pairs and hours with a cause, those slowed for longest first."""
        slowed_ones = [(place, sum_) for place, sum_ in self.places.items() if sum_.slowed_s > 0]
        yield from sorted(slowed_ones, key=lambda one: (-one[1].slowed_s, one[0]))[:most]

    def answer(self) -> tuple[str, ...]:
        """What limited the connections of this corpus, in a sentence or two."""
        judged = sum(one.connections for one in self.causes.values())
        if not judged:
            return ("No connection is long enough for a verdict.",)
        ranked = sorted(self.causes.items(), key=lambda one: (-one[1].slowed_s, -one[1].connections))
        cause, first = ranked[0]
        if first.slowed_s <= 0:
            counted = Counter({name: one.connections for name, one in self.causes.items()})
            name, number = counted.most_common(1)[0]
            return (f"Nothing but the applications limited the connections: {number:,} of {judged:,}: {name}.",)
        whole_s = sum(one.slowed_s for one in self.causes.values())
        part = f"{share(first.slowed_s / whole_s)} of the time that causes cost"
        slowed_ones = f"{first.connections:,} of {judged:,} connections with a verdict"
        return (f"{cause.capitalize()} slowed {slowed_ones}, for {first.slowed_s:,.1f} s in all ({part}).",)


def slowed(factor: str | None, share: float | None, *data_times_s: float | None) -> float:
    """Seconds for which the verdict's cause slowed a connection."""
    if factor in _NOT_SLOWED_BY or share is None:
        return 0.0
    return share * max(data_s or 0.0 for data_s in data_times_s)


def _sum_of(sums: dict[Any, Sum], key: Any) -> Sum:
    found = sums.get(key)
    if found is None:
        found = sums[key] = Sum()
    return found


def overview_of(tables: Iterable[pa.Table]) -> Overview:
    """Of all parts of the connection table."""
    overview = Overview()
    for table in tables:
        overview.add(table)
    return overview


def _host(endpoint: str) -> str:
    return endpoint.rpartition(":")[0]
