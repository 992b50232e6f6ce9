"""The front ends of a service (section II.A of the study): which addresses served, when, under what names, and how far
away they can be.

How far is told by the least round trip of any kind: light in fibre makes two thirds of its speed in vacuum, there and
back. That is a bound for what answered, not a place. Source: B. Gueye and others, Constraint-Based Geolocation of
Internet Hosts, IEEE/ACM Transactions on Networking 14 (2006), section II.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from vmtrace.analyze.reports.storage.measured import MeasuredRun
from vmtrace.analyze.reports.storage.records import Exchange
from vmtrace.analyze.reports.storage.round_trips import round_trips
from vmtrace.analyze.tables.schema.typed import Count, Positive, Share, bounds
from vmtrace.analyze.words.units import share

FIBRE_KM_PER_S = 299_792.458 * 2 / 3


@dataclass(frozen=True, slots=True)
class FrontEndPlace:
    """Where a discovery run located it; see docs/discovery.md."""

    city: str
    iata: str | None
    country: str
    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]
    radius_km: Positive
    confidence: Share

    @property
    def text(self) -> str:
        """For a cell."""
        code = f" ({self.iata})" if self.iata else f", {self.country}"
        return f"{self.city}{code} within {self.radius_km:.0f} km, confidence {share(self.confidence)}"


@dataclass(slots=True)
class FrontEndRow:
    """One address."""

    front_end: str
    name: str | None
    """In reverse."""
    transactions: Count
    objects: Count
    """That it answered last for."""
    first_seen_ns: int | None
    last_seen_ns: int | None
    min_rtt_s: Positive | None = None
    rtt_method: str | None = None
    place: FrontEndPlace | None = None
    """Where a discovery run located it (vmtrace discover); null without one, or where it could not."""

    DERIVED = ("farthest_km",)

    @property
    def farthest_km(self) -> Positive | None:
        """By the least round trip, at two thirds of the speed of light."""
        return None if self.min_rtt_s is None else self.min_rtt_s / 2 * FIBRE_KM_PER_S


def front_end_rows(run: MeasuredRun, places: Mapping[str, FrontEndPlace] = MappingProxyType({})) -> list[FrontEndRow]:
    """A row for each address that served or was asked, in the order of their first use; `places` by address."""
    rows: dict[str, FrontEndRow] = {}

    def row_of(address: str) -> FrontEndRow:
        return rows.setdefault(address, FrontEndRow(address, run.run.front_end_names.get(address), 0, 0, None, None))

    for one in run.transactions:
        exchanges = [*([one.transaction.login] if one.transaction.login is not None else [])]
        exchanges += [stored.exchange for stored in one.objects]
        for address in dict.fromkeys(address for said in exchanges for address in _peers(said)):
            row_of(address).transactions += 1
        for said in exchanges:
            for address in _peers(said):
                _saw(row_of(address), said)
        for stored in one.objects:
            if stored.exchange.front_end is not None:
                row_of(stored.exchange.front_end[0]).objects += 1
    for (address, method), times in sorted(round_trips(run).items()):
        row = row_of(address)
        known = min((time for time in times if time is not None), default=None)
        if known is not None and (row.min_rtt_s is None or known < row.min_rtt_s):
            row.min_rtt_s, row.rtt_method = known, method
    for row in rows.values():
        row.place = places.get(row.front_end)
    return sorted(rows.values(), key=lambda row: (row.first_seen_ns is None, row.first_seen_ns or 0))


def _peers(said: Exchange) -> list[str]:
    """The addresses that an exchange was with."""
    peers = [use.peer[0] for use in said.connections if use.peer is not None]
    if said.front_end is not None:
        peers.append(said.front_end[0])
    return list(dict.fromkeys(peers))


def _saw(row: FrontEndRow, said: Exchange) -> None:
    row.first_seen_ns = said.start_ns if row.first_seen_ns is None else min(row.first_seen_ns, said.start_ns)
    row.last_seen_ns = said.end_ns if row.last_seen_ns is None else max(row.last_seen_ns, said.end_ns)
