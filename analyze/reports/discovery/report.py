"""Everything a report says of discovery runs, in typed rows: names, their addresses, regions, vantage points."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

from vmtrace.analyze.findings.services.ranges import AddressRanges
from vmtrace.analyze.reports.discovery.calibration import BestLine
from vmtrace.analyze.reports.discovery.geography import Position
from vmtrace.analyze.reports.discovery.locating import Location, Verdict
from vmtrace.analyze.reports.discovery.places import Atlas, Measured
from vmtrace.analyze.reports.discovery.records import CertificateRecord, DiscoveryRun, NameRecord, Seen
from vmtrace.analyze.reports.discovery.round_trips import RoundTrips, round_trips
from vmtrace.analyze.reports.discovery.run_folder import captures_of
from vmtrace.analyze.reports.discovery.steering import Steering, steering
from vmtrace.analyze.reports.storage.front_ends import FrontEndPlace
from vmtrace.analyze.tables.schema.typed import Count, Positive, bounds


@dataclass(frozen=True, slots=True)
class AddressRow:
    """A front end of a name, over all runs; the resolvers are those of all vantage points."""

    address: str
    first_seen_ns: int
    last_seen_ns: int
    count: int
    resolvers: tuple[str, ...]
    ptr: str | None
    rtt_min_s: float | None
    verdict: Verdict
    certificate: CertificateRecord | None
    published: str | None
    """Provider, service and region of the published range that holds it."""
    router_names: tuple[str, ...]
    round_trips: tuple[RoundTrips, ...]

    @property
    def location(self) -> Location | None:
        """Where it is; None: not located."""
        return self.verdict.location


@dataclass(frozen=True, slots=True)
class NameRow:
    """A name with its front ends, in the order in which they were first seen."""

    about: NameRecord
    addresses: tuple[AddressRow, ...]
    statuses: dict[str, int]
    """Replies by what they were."""
    least_ttl_s: int | None
    aliases: tuple[str, ...]
    steering: Steering

    @property
    def label(self) -> str:
        """The region as provided, or the name."""
        return self.about.label or self.about.name


@dataclass(frozen=True, slots=True)
class RegionRow:
    """A line of the study's Table I."""

    provider: str
    region: str
    name: str
    locations: tuple[tuple[str, int], ...]
    """Actual locations with how many of the addresses are there, the most first."""
    not_located: int
    addresses: int


@dataclass(frozen=True, slots=True)
class RegionRoundTrip:
    """A bar of the study's Figs 2 and 3: a region from a vantage point, over its addresses."""

    region: str
    vantage: str
    method: str
    addresses: Annotated[int, bounds(minimum=1)]
    lost: Count
    min_s: Positive
    median_s: Positive
    max_s: Positive


@dataclass(frozen=True, slots=True)
class VantageRow:
    """A run: where it stood, and what it asked."""

    vantage: str
    position: Position | None
    questions: Count
    unanswered: Count
    set_aside: Mapping[str, str]
    """Lying resolvers, each with the reason."""
    given_up: tuple[str, ...]
    calibration: BestLine | None
    traces: Count
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    runs: tuple[DiscoveryRun, ...]
    names: tuple[NameRow, ...]
    vantages: tuple[VantageRow, ...]
    problems: tuple[str, ...]

    @property
    def addresses(self) -> dict[str, AddressRow]:
        """Each address once, whatever its names."""
        return {one.address: one for name in self.names for one in name.addresses}

    def regions(self) -> list[RegionRow]:
        """The study's Table I."""
        return [_region(one) for one in self.names if one.addresses]

    def region_round_trips(self) -> list[RegionRoundTrip]:
        """The study's Figs 2 and 3."""
        return [row for one in self.names for row in _region_round_trips(one)]


_UNANSWERED = frozenset({"silent", "unreachable", "malformed", "other_question", "failed", "refused"})


def measured(runs: Sequence[DiscoveryRun], problems: list[str], progress: Callable[[int], object]) -> list[Measured]:
    """The runs with what their packets show; `progress` gets the bytes of captures that are done."""
    found, before = [], 0
    for run in runs:

        def passed_on(consumed_bytes: int, before: int = before) -> None:
            progress(before + consumed_bytes)

        found.append(Measured(run, tuple(round_trips(run, problems, passed_on))))
        before += sum(path.stat().st_size for path in captures_of(run))
    return found


def report_of(found: Sequence[Measured], ranges: AddressRanges, problems: Sequence[str]) -> Report:
    """What these runs show together."""
    runs, atlas = [one.run for one in found], Atlas(found)
    by_address: dict[str, list[RoundTrips]] = {}
    for one in found:
        for row in one.round_trips:
            by_address.setdefault(row.address, []).append(row)
    names = _names(runs)
    leading: dict[str, list[NameRecord]] = {}
    for name, address in _seen(runs):
        leading.setdefault(address, []).append(names[name])
    verdicts = {address: atlas.locate(address, about) for address, about in leading.items()}
    maker = _Maker(runs, atlas, verdicts, by_address, ranges)
    return Report(
        tuple(runs),
        tuple(maker.name(about) for about in names.values()),
        tuple(_vantage(one.run, atlas) for one in found),
        (*(problem for run in runs for problem in run.problems), *problems),
    )


class _Maker:
    def __init__(
        self,
        runs: Sequence[DiscoveryRun],
        atlas: Atlas,
        verdicts: Mapping[str, Verdict],
        by_address: Mapping[str, list[RoundTrips]],
        ranges: AddressRanges,
    ) -> None:
        self._runs, self._atlas, self._verdicts = runs, atlas, verdicts
        self._by_address, self._ranges = by_address, ranges
        self._seen: dict[str, dict[str, Seen]] = {}
        for (name, address), seen in _seen(runs).items():
            self._seen.setdefault(name, {})[address] = seen
        self._certificates = {(one.name, one.address): one for run in runs for one in run.certificates}
        self._country = {one.label: one.country for run in runs for one in run.resolvers}

    def name(self, about: NameRecord) -> NameRow:
        """A name with everything known of it."""
        own = self._seen.get(about.name, {})
        statuses: Counter[str] = Counter()
        for run in self._runs:
            statuses.update(run.answers.statuses.get(about.name, {}))
        ttls = [run.answers.least_ttl_s[about.name] for run in self._runs if about.name in run.answers.least_ttl_s]
        aliases = {one for run in self._runs for one in run.answers.aliases.get(about.name, ())}
        rows = sorted((self._address(about.name, *one) for one in own.items()), key=lambda row: row.first_seen_ns)
        return NameRow(
            about, tuple(rows), dict(statuses), min(ttls, default=None), tuple(sorted(aliases)), self._steering(own)
        )

    def _address(self, name: str, address: str, seen: Seen) -> AddressRow:
        return AddressRow(
            address,
            seen.first_seen_ns,
            seen.last_seen_ns,
            seen.count,
            tuple(sorted(seen.resolvers)),
            self._atlas.reverse_names.get(address),
            self._atlas.least_rtt_s(address),
            self._verdicts[address],
            self._certificates.get((name, address)),
            _published(address, self._ranges),
            tuple(self._atlas.router_names(address)),
            tuple(self._by_address.get(address, ())),
        )

    def _steering(self, own: Mapping[str, Seen]) -> Steering:
        given: dict[str, set[str]] = {}
        for address, seen in own.items():
            for label in seen.resolvers:
                given.setdefault(label, set()).add(address)
        return steering({label: frozenset(found) for label, found in given.items()}, self._country)


def _names(runs: Iterable[DiscoveryRun]) -> dict[str, NameRecord]:
    """Each name once; a run that knows its region is believed."""
    found: dict[str, NameRecord] = {}
    for one in (one for run in runs for one in run.names):
        if one.name not in found or found[one.name].region is None:
            found[one.name] = one
    for name in (name for run in runs for name, _ in run.answers.seen):
        found.setdefault(name, NameRecord(name, None, None, None, None, None, None))
    return found


def _seen(runs: Iterable[DiscoveryRun]) -> dict[tuple[str, str], Seen]:
    found: dict[tuple[str, str], Seen] = {}
    for pair, seen in (one for run in runs for one in run.answers.seen.items()):
        known = found.get(pair)
        if known is None:
            found[pair] = Seen(seen.first_seen_ns, seen.last_seen_ns, seen.count, set(seen.resolvers))
            continue
        known.first_seen_ns = min(known.first_seen_ns, seen.first_seen_ns)
        known.last_seen_ns = max(known.last_seen_ns, seen.last_seen_ns)
        known.count += seen.count
        known.resolvers |= seen.resolvers
    return found


def _vantage(run: DiscoveryRun, atlas: Atlas) -> VantageRow:
    asked = sum((one for one in run.answers.statuses.values()), Counter[str]())
    return VantageRow(
        run.vantage,
        run.position,
        asked.total(),
        sum(asked[status] for status in _UNANSWERED),
        run.set_aside,
        run.given_up,
        atlas.lines[run.vantage],
        len(run.traces),
        run.notes,
    )


def _region(name: NameRow) -> RegionRow:
    where = Counter(one.location.city for one in name.addresses if one.location is not None)
    return RegionRow(
        name.about.provider or "",
        name.label,
        name.about.name,
        tuple(where.most_common()),
        sum(one.location is None for one in name.addresses),
        len(name.addresses),
    )


def _region_round_trips(name: NameRow) -> Iterable[RegionRoundTrip]:
    by_kind: dict[tuple[str, str], list[RoundTrips]] = {}
    for row in (row for one in name.addresses for row in one.round_trips):
        by_kind.setdefault((row.vantage, row.method), []).append(row)
    for (vantage, method), rows in by_kind.items():
        lows = [row.min_s for row in rows if row.min_s is not None]
        highs = [row.max_s for row in rows if row.max_s is not None]
        middles = [row.median_s for row in rows if row.median_s is not None]
        if lows:
            lost = sum(row.lost for row in rows)
            yield RegionRoundTrip(name.label, vantage, method, len(lows), lost, min(lows), median(middles), max(highs))


def _published(address: str, ranges: AddressRanges) -> str | None:
    found = ranges.service_of(address)
    return None if found is None else " ".join(filter(None, (found.provider, found.service, found.region)))


def front_end_places(runs: Sequence[DiscoveryRun]) -> dict[str, FrontEndPlace]:
    """Of every address that these runs located together; empty without runs."""
    problems: list[str] = []
    report = report_of(measured(runs, problems, lambda _: None), AddressRanges(), problems)
    return {
        address: FrontEndPlace(at.city, at.iata, at.country, at.lat, at.lon, at.radius_km, at.confidence)
        for address, row in report.addresses.items()
        if (at := row.location) is not None
    }
