"""The tables of discovery runs as text: titles, heads and cells, the same on the terminal, on the page and as CSV."""

from collections.abc import Iterator
from itertools import islice

from vmtrace.analyze.pages.blocks import Lines
from vmtrace.analyze.pages.on_terminal import Part
from vmtrace.analyze.reports.discovery.report import AddressRow, RegionRow, Report
from vmtrace.analyze.tables.table import Table, of_texts
from vmtrace.analyze.words.units import ABSENT, count, instant, printable, seconds, share
from vmtrace.formats.quantities import plural

_ADDRESSES_SHOWN = 200
_EVIDENCE_SHOWN = 400
_USABLE = frozenset({"answered", "no_data", "no_such_name"})
_UNSETTLED = {"running": "still running, or killed", "interrupted": "interrupted", "failed": "failed"}


def heading(report: Report) -> str:
    """What was looked at, and the answer, in one line."""
    names = sum(bool(one.addresses) for one in report.names)
    located = sum(one.location is not None for one in report.addresses.values())
    found = f"{addresses_text(len(report.addresses))} of front ends"
    vantages = plural(len({run.vantage for run in report.runs}), "vantage point")
    return f"{found} of {plural(names, 'name')}, {located:,} located, from {vantages}"


def addresses_text(number: int) -> str:
    """`1 address`, `2 addresses`."""
    return f"{number:,} address" if number == 1 else f"{number:,} addresses"


def trouble(report: Report) -> Iterator[str]:
    """What a reader must know before trusting the numbers, a line each."""
    for run in report.runs:
        if run.status in _UNSETTLED:
            why = f": {run.error}" if run.error else ""
            yield printable(f"{run.vantage}: the run is {_UNSETTLED[run.status]}{why}")
        if run.position is None:
            yield printable(f"{run.vantage}: no position (--at): its distances locate nothing")
        if run.addresses_left_out:
            yield printable(f"{run.vantage}: {run.addresses_left_out:,} addresses beyond those kept were left out")
        yield from (printable(f"{run.vantage}: {note}") for note in run.notes)
        if run.given_up:
            shown = ", ".join(run.given_up[:5]) + (", ..." if len(run.given_up) > 5 else "")
            yield printable(f"{run.vantage}: {plural(len(run.given_up), 'resolver')} given up (no replies): {shown}")
    yield from _bad_resolvers(report)
    for one in report.names:
        if not one.addresses:
            said = ", ".join(f"{status.replace('_', ' ')} {number:,}" for status, number in one.statuses.items())
            yield printable(f"{one.about.name}: no address ({said or 'never asked'})")
    yield from map(printable, report.problems)


def _bad_resolvers(report: Report) -> Iterator[str]:
    """Those set aside, and those of which no reply could be used; once, however many vantage points saw it."""
    seen: dict[str, list[str]] = {}
    for run in report.runs:
        for label, reason in run.set_aside.items():
            seen.setdefault(f"resolver {label} set aside: {reason}", []).append(run.vantage)
        for label, statuses in run.answers.by_resolver.items():
            if label not in run.given_up and not any(status in _USABLE for status in statuses):
                said = ", ".join(status.replace("_", " ") for status in statuses)
                seen.setdefault(f"resolver {label}: no usable reply ({said})", []).append(run.vantage)
    for text, vantages in seen.items():
        yield printable(f"{text} (seen from {', '.join(dict.fromkeys(vantages))})")


_SHOWN = frozenset({"regions", "round-trips", "names", "vantages"})
"""On the terminal; front ends and evidence are on the page, in JSON and in CSV."""
_TROUBLE_SHOWN = 20


def parts(report: Report) -> Iterator[Part]:
    """The answer on the terminal."""
    wrong = list(trouble(report))
    if len(wrong) > _TROUBLE_SHOWN:
        wrong[_TROUBLE_SHOWN:] = [f"and {len(wrong) - _TROUBLE_SHOWN} more (in --json and --html)"]
    yield Lines((), heading(report), tuple(wrong))
    yield from (table for table in tables(report) if table.name in _SHOWN)


def tables(report: Report) -> list[Table]:
    """All tables that have rows."""
    makers = (_regions, _round_trips, _names, _addresses, _evidence, _vantages)
    return [table for make in makers if (table := make(report)).rows]


def place_text(row: AddressRow) -> str:
    """Where an address is, with radius and confidence."""
    found = row.location
    if found is None:
        return "not located"
    code = f" ({found.iata})" if found.iata else f", {found.country}"
    return printable(f"{found.city}{code} within {found.radius_km:.0f} km")


def locations_text(row: RegionRow) -> str:
    """The cities of a region; with how many addresses each has, where there are several."""
    several = len(row.locations) > 1 or bool(row.not_located and row.locations)
    parts = [printable(city) + (f" ({number})" if several else "") for city, number in row.locations]
    if row.not_located:
        parts.append(f"not located ({row.not_located})" if row.locations else "not located")
    return ", ".join(parts)


def _regions(report: Report) -> Table:
    rows = tuple(
        (printable(row.provider or ABSENT), printable(row.region), locations_text(row), count(row.addresses))
        for row in report.regions()
    )
    head = ("provider", "region (as provided)", "actual location", "addresses")
    return of_texts("regions", "Regions and their places (Table I)", head, rows, left=3)


def _round_trips(report: Report) -> Table:
    rows = tuple(
        (printable(row.region), printable(row.vantage), row.method, count(row.addresses),
         seconds(row.min_s), seconds(row.median_s), seconds(row.max_s), count(row.lost))
        for row in report.region_round_trips()
    )  # fmt: skip
    head = ("region", "vantage", "method", "addresses", "min", "median", "max", "lost")
    hint = "TCP: handshakes measured from the packets, or by the clock where there are none (each address says which)."
    return of_texts("round-trips", "Round trips to regions (Figs 2 and 3)", head, rows, left=3, hint=hint)


def _names(report: Report) -> Table:
    words = {True: "yes", False: "no", None: "unclear"}
    rows = []
    for one in report.names:
        resolvers = {label for row in one.addresses for label in row.resolvers}
        ttl = ABSENT if one.least_ttl_s is None else f"{one.least_ttl_s} s"
        p_value = ABSENT if one.steering.p_value is None else f"{one.steering.p_value:.3f}"
        aliases = printable(", ".join(one.aliases)[:80]) or ABSENT
        counts = (count(len(one.addresses)), count(len(resolvers)))
        rows.append((printable(one.about.name), aliases, *counts, ttl, words[one.steering.depends], p_value))
    head = ("name", "aliases", "addresses", "resolvers", "least TTL", "depends on the resolver's place", "p")
    return of_texts("names", "Names", head, tuple(rows))


def _addresses(report: Report) -> Table:
    rows = []
    for row in list(report.addresses.values())[:_ADDRESSES_SHOWN]:
        confidence = ABSENT if row.location is None else share(row.location.confidence)
        shown = row.certificate
        tls = ABSENT if shown is None else "trusted" if shown.trusted else "not trusted" if shown.speaks_tls else "none"
        rows.append((row.address, printable(row.ptr or ABSENT), place_text(row), confidence, seconds(row.rtt_min_s),
                     count(row.count), count(len(row.resolvers)), tls, printable(row.published or ABSENT),
                     instant(row.first_seen_ns)[:19]))  # fmt: skip
    head = ("address", "reverse name", "location", "confidence", "RTT min", "answers", "resolvers", "TLS", "published",
            "first seen (UTC)")  # fmt: skip
    total = len(report.addresses)
    hint = f"{_ADDRESSES_SHOWN} of {total:,}: all are in JSON and CSV." if total > _ADDRESSES_SHOWN else ""
    return of_texts("addresses", "Front ends", head, tuple(rows), left=3, hint=hint)


def _evidence(report: Report) -> Table:
    rows = tuple(islice((line for row in report.addresses.values() for line in _evidence_of(row)), _EVIDENCE_SHOWN))
    hint = f"The first {_EVIDENCE_SHOWN} lines: all are in JSON and CSV." if len(rows) == _EVIDENCE_SHOWN else ""
    head = ("address", "kind", "status", "what it says")
    return of_texts("evidence", "Evidence of places", head, rows, left=4, hint=hint)


def _evidence_of(row: AddressRow) -> Iterator[tuple[str, ...]]:
    for one in row.verdict.evidence:
        yield row.address, one.kind.replace("_", " "), "refuted" if one.refuted else "", printable(one.text)
    if row.verdict.reason is not None:
        yield row.address, "not located", "", printable(row.verdict.reason)


def _vantages(report: Report) -> Table:
    rows = []
    for row in report.vantages:
        where = ABSENT if row.position is None else f"{row.position.lat:.2f}, {row.position.lon:.2f}"
        line = row.calibration
        slope = ABSENT if line is None else f"{line.s_per_km * 1e6:.2f} µs/km + {seconds(line.offset_s)}"
        unanswered = share(row.unanswered / row.questions) if row.questions else ABSENT
        rows.append((printable(row.vantage), where, count(row.questions), unanswered, count(len(row.set_aside)),
                     count(len(row.given_up)), slope, count(row.traces)))  # fmt: skip
    head = ("vantage", "position", "questions", "unanswered", "resolvers set aside", "given up", "calibrated", "traces")
    hint = "Light in fibre: 10.01 µs/km there and back."
    return of_texts("vantages", "Vantage points", head, tuple(rows), hint=hint)
