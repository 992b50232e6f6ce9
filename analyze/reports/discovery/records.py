"""A discovery run as its folder describes it (docs/discovery.md): typed, checked, and nothing computed."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from vmtrace.analyze.read.records.fields import FieldError, Fields
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.discovery.geography import Position
from vmtrace.analyze.tables.schema.typed import LEFT_OUT

Pair = tuple[str, str]
"""A name and an address."""


@dataclass(frozen=True, slots=True)
class NameRecord:
    """A name that was resolved, and what its provider says of it."""

    name: str
    provider: str | None
    region: str | None
    label: str | None
    city: str | None
    country: str | None
    iata: str | None


@dataclass(frozen=True, slots=True)
class ResolverRecord:
    """Whom a run asked."""

    label: str
    country: str | None
    network: str | None
    position: Position | None


@dataclass(frozen=True, slots=True)
class LandmarkRecord:
    """A host of known place."""

    address: str
    position: Position


@dataclass(frozen=True, slots=True)
class Echo:
    """One round trip by the program's clock; None: lost."""

    address: str
    method: str
    time_ns: int
    rtt_s: float | None


@dataclass(frozen=True, slots=True)
class HopRecord:
    """A router that replied."""

    ttl: int
    address: str
    rtt_s: float


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """The way to an address."""

    address: str
    method: str
    tool: str
    reached: bool
    hops: tuple[HopRecord, ...]


@dataclass(frozen=True, slots=True)
class CertificateRecord:
    """What an address showed when asked for a name."""

    name: Annotated[str, LEFT_OUT]
    address: Annotated[str, LEFT_OUT]
    speaks_tls: bool
    trusted: bool
    names: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class CaptureRecord:
    """The packets of a round."""

    file: str
    dropped: int


@dataclass(slots=True)
class Seen:
    """An address of a name, summed up over the answers."""

    first_seen_ns: int
    last_seen_ns: int
    count: int = 0
    resolvers: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Answers:
    """All answers of a run, summed up as they are read: memory follows the addresses, not the answers."""

    set_aside: frozenset[str]
    window: Window = ALL_TIME
    left_out: int = 0
    """Answers beyond the window."""
    counted: int = 0
    seen: dict[Pair, Seen] = field(default_factory=dict)
    statuses: dict[str, Counter[str]] = field(default_factory=dict)
    """By name."""
    by_resolver: dict[str, Counter[str]] = field(default_factory=dict)
    least_ttl_s: dict[str, int] = field(default_factory=dict)
    aliases: dict[str, set[str]] = field(default_factory=dict)
    times_ns: list[int] = field(default_factory=list)
    """When each answer began: only first and last are kept."""

    def add(self, record: Fields) -> bool:
        """One line of `answers.jsonl`; raises `FieldError`. Returns True, for the count of lines."""
        name, resolver = _needed(record, "name"), _needed(record, "resolver")
        time_ns, status = record.integer("time_ns"), record.text("status") or "unknown"
        self.counted += 1
        if not self.window.holds(time_ns):
            self.left_out += 1
            return True
        self.statuses.setdefault(name, Counter())[status] += 1
        self.by_resolver.setdefault(resolver, Counter())[status] += 1
        if resolver in self.set_aside or time_ns is None:
            return True
        self._extend(time_ns)
        ttl_s = record.count("ttl_s")
        if ttl_s is not None:
            self.least_ttl_s[name] = min(self.least_ttl_s.get(name, ttl_s), ttl_s)
        self.aliases.setdefault(name, set()).update(record.texts("aliases"))
        for address in record.texts("addresses"):
            known = self.seen.setdefault((name, address), Seen(time_ns, time_ns))
            known.first_seen_ns = min(known.first_seen_ns, time_ns)
            known.last_seen_ns = max(known.last_seen_ns, time_ns)
            known.count += 1
            known.resolvers.add(resolver)
        return True

    def _extend(self, time_ns: int) -> None:
        ends = [*self.times_ns, time_ns]
        self.times_ns = [min(ends), max(ends)]


@dataclass(frozen=True)
class DiscoveryRun:
    """One run."""

    folder: Path
    vantage: str
    position: Position | None
    status: str
    error: str | None
    start_ns: int | None
    port: int
    names: tuple[NameRecord, ...]
    resolvers: tuple[ResolverRecord, ...]
    set_aside: dict[str, str]
    """Resolvers that lied, and how."""
    given_up: tuple[str, ...]
    landmarks: tuple[LandmarkRecord, ...]
    captures: tuple[CaptureRecord, ...]
    notes: tuple[str, ...]
    addresses_left_out: int
    answers: Answers
    certificates: tuple[CertificateRecord, ...]
    echoes: tuple[Echo, ...]
    traces: tuple[TraceRecord, ...]
    reverse_names: dict[str, str | None]
    problems: tuple[str, ...]


def name_record(record: Fields) -> NameRecord:
    """A name of `run.json`."""
    return record.read(NameRecord, name=_needed(record, "name"))


def resolver_record(record: Fields) -> ResolverRecord:
    """A resolver of `run.json`."""
    position = position_record(record.part("position"))
    return record.read(ResolverRecord, label=_needed(record, "resolver"), position=position)


def position_record(record: Fields | None) -> Position | None:
    """A position; raises `FieldError` where it is out of range."""
    if record is None:
        return None
    lat, lon = record.number("lat"), record.number("lon")
    if lat is None or lon is None or abs(lat) > 90 or abs(lon) > 180:
        raise record.wrong("lat, lon", "a position (-90 to 90 and -180 to 180 degrees)")
    return Position(lat, lon)


def landmark_record(record: Fields) -> LandmarkRecord:
    """A landmark of `run.json`."""
    position = position_record(record.part("position"))
    if position is None:
        raise record.wrong("position", "a position")
    return LandmarkRecord(_needed(record, "address"), position)


def capture_record(record: Fields) -> CaptureRecord:
    """A capture of `run.json`."""
    return CaptureRecord(_needed(record, "file"), record.count("dropped") or 0)


def echo_record(record: Fields) -> Echo:
    """A line of `round_trips.jsonl`."""
    time_ns = record.integer("time_ns") or 0
    return record.read(Echo, address=_needed(record, "front_end"), time_ns=time_ns, rtt_s=record.amount("rtt_s"))


def trace_record(record: Fields) -> TraceRecord:
    """A line of `traces.jsonl`."""
    address, hops = _needed(record, "address"), []
    for one in record.parts("hops"):
        ttl, rtt_s = one.count("ttl", 255), one.amount("rtt_s")
        if ttl is not None and rtt_s is not None and one.text("address") != address:
            hops.append(HopRecord(ttl, _needed(one, "address"), rtt_s))
    return record.read(TraceRecord, address=address, hops=tuple(sorted(hops, key=lambda hop: hop.ttl)))


def certificate_record(record: Fields) -> CertificateRecord:
    """A line of `certificates.jsonl`."""
    names, shown = ("name", "address"), tuple(record.texts("certificate_names"))
    return record.read(CertificateRecord, names=shown, **{name: _needed(record, name) for name in names})


def reverse_record(record: Fields) -> tuple[str, str | None]:
    """A line of `reverse_names.jsonl`."""
    return _needed(record, "address"), record.text("name")


def _needed(record: Fields, name: str) -> str:
    value = record.text(name)
    if value is None:
        raise FieldError(str(record.wrong(name, "there")))
    return value
