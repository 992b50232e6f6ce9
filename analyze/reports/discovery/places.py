"""All addresses of several runs located together: circles of every vantage point, hints of every name and route."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vmtrace.analyze.reports.discovery.calibration import BestLine, best_line
from vmtrace.analyze.reports.discovery.geography import Circle, distance_km, farthest_km
from vmtrace.analyze.reports.discovery.hints import REVERSE_NAME, ROUTER_NAME, SAME_SITE, Hint, hints_of, region_hint
from vmtrace.analyze.reports.discovery.locating import Verdict, locate
from vmtrace.analyze.reports.discovery.records import DiscoveryRun, NameRecord, TraceRecord
from vmtrace.analyze.reports.discovery.round_trips import RoundTrips, least_by_address

_NEAR_ROUTER_S = 0.003
"""A router whose round trip is this close to the front end's is taken to stand where that stands."""
_LAST_ROUTERS = 3


@dataclass(frozen=True)
class Measured:
    """A run and its round trips."""

    run: DiscoveryRun
    round_trips: tuple[RoundTrips, ...]

    @property
    def least_s(self) -> dict[str, float]:
        """The shortest round trip to each address."""
        return least_by_address(self.round_trips)


class Atlas:
    """What several runs say together of every address."""

    def __init__(self, measured: Sequence[Measured]) -> None:
        self._runs = [one.run for one in measured]
        self._least = [one.least_s for one in measured]
        self.lines: dict[str, BestLine | None] = {
            one.run.vantage: calibrated(one.run, least) for one, least in zip(measured, self._least, strict=True)
        }
        self.reverse_names = _merged_names(self._runs)
        self._traces = _traces_by_address(self._runs)
        self._behind = self._last_routers()

    def locate(self, address: str, names: Iterable[NameRecord]) -> Verdict:
        """The place of an address; `names` are those that lead to it."""
        return locate(self.hints(address, names), self.circles(address))

    def circles(self, address: str) -> list[Circle]:
        """One of each vantage point with a position: that of its shortest round trip."""
        found: dict[str, Circle] = {}
        for run, least in zip(self._runs, self._least, strict=True):
            rtt_s = least.get(address)
            if rtt_s is None or run.position is None:
                continue
            line = self.lines[run.vantage]
            likely_km = None if line is None else line.farthest_km(rtt_s)
            circle = Circle(run.vantage, run.position, rtt_s, farthest_km(rtt_s), likely_km)
            known = found.get(run.vantage)
            if known is None or circle.rtt_s < known.rtt_s:
                found[run.vantage] = circle
        return list(found.values())

    def least_rtt_s(self, address: str) -> float | None:
        """From whichever vantage point is nearest."""
        return min((least[address] for least in self._least if address in least), default=None)

    def hints(self, address: str, names: Iterable[NameRecord]) -> list[Hint]:
        """Of its reverse name, of the last routers before it, of the region, and of others behind the same router."""
        own = self.reverse_names.get(address)
        found = hints_of(own, REVERSE_NAME) if own is not None else []
        found += self._router_hints(address)
        for one in names:
            hint = region_hint(one.label, one.city, one.country, one.iata)
            found += [hint] if hint is not None else []
        return found + self._neighbours_hints(address)

    def router_names(self, address: str) -> list[str]:
        """Names of the routers before an address, the nearest last; each once."""
        hops = [hop.address for _, trace in self._traces.get(address, ()) for hop in trace.hops]
        return list(dict.fromkeys(name for hop in hops if (name := self.reverse_names.get(hop)) is not None))

    def _router_hints(self, address: str) -> list[Hint]:
        found: dict[tuple[str, str], Hint] = {}
        for vantage, trace in self._traces.get(address, ()):
            least_s = self._least[vantage].get(address)
            for hop in trace.hops[-_LAST_ROUTERS:]:
                name = self.reverse_names.get(hop.address)
                if name is None or least_s is None or abs(least_s - hop.rtt_s) > _NEAR_ROUTER_S:
                    continue
                for hint in hints_of(name, ROUTER_NAME):
                    found.setdefault((name, hint.token), hint)
        return list(found.values())

    def _neighbours_hints(self, address: str) -> list[Hint]:
        """Reverse names of others behind the same last router: one host's name may lie, a site's seldom do."""
        others = {one for router in self._behind_of(address) for one in self._behind[router]} - {address}
        found = []
        for other in sorted(others):
            name = self.reverse_names.get(other)
            found += hints_of(name, SAME_SITE) if name is not None else []
        return found

    def _behind_of(self, address: str) -> set[str]:
        last = (self._last_router(vantage, trace) for vantage, trace in self._traces.get(address, ()))
        return {router for router in last if router is not None}

    def _last_routers(self) -> Mapping[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for address in self._traces:
            for router in self._behind_of(address):
                found[router].add(address)
        return found

    def _last_router(self, vantage: int, trace: TraceRecord) -> str | None:
        """The one before the address, if it was reached and stands where that does."""
        least_s = self._least[vantage].get(trace.address)
        if not trace.hops or not trace.reached or least_s is None:
            return None
        hop = trace.hops[-1]
        return hop.address if abs(least_s - hop.rtt_s) <= _NEAR_ROUTER_S else None


def calibrated(run: DiscoveryRun, least_s: Mapping[str, float]) -> BestLine | None:
    """The best line of a vantage point through its landmarks; None without a position or with too few of them."""
    if run.position is None:
        return None
    points = [
        (distance_km(run.position, one.position), least_s[one.address])
        for one in run.landmarks
        if one.address in least_s
    ]
    return best_line(points)


def _merged_names(runs: Iterable[DiscoveryRun]) -> dict[str, str]:
    """A name is kept whichever run found it."""
    return {address: name for run in runs for address, name in run.reverse_names.items() if name}


def _traces_by_address(runs: Sequence[DiscoveryRun]) -> dict[str, list[tuple[int, TraceRecord]]]:
    found: dict[str, list[tuple[int, TraceRecord]]] = defaultdict(list)
    for number, run in enumerate(runs):
        for trace in run.traces:
            found[trace.address].append((number, trace))
    return dict(found)
