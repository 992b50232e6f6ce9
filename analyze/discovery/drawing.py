"""Drawings of a discovery report as SVG, each complete in itself: no script, no font, no file from elsewhere.

The map is a plain equirectangular one (a degree is as long anywhere), because circles that reach over the pole or the
date line can be drawn on it by cutting their outlines at the edge.
"""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

import numpy as np

from analyze.discovery.coast import coast_lines
from analyze.discovery.geography import Circle, Position, farthest_km, outline
from analyze.discovery.report import NameRow, RegionRoundTrip, Report
from analyze.discovery.texts import addresses_text
from analyze.palette import RUNS
from analyze.units import printable, seconds

_WIDTH, _HEIGHT = 1080, 540
_TEXT = 'font-family="sans-serif" font-size="11"'
_CIRCLE_REACH_KM = 9000.0
"""Larger circles say next to nothing, and cover the map."""
_ROW, _LEFT, _BARS = 20, 230, 640


def world_map(report: Report) -> str:
    """Vantage points with their nearest front end's circle, and every place with how many addresses are there."""
    parts = [_rectangle(), _coast(), *_circles(report), *_places(report), *_vantages(report)]
    title = f"<title>{addresses_text(len(report.addresses))} on the map</title>"
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}{"".join(parts)}</svg>'


def round_trip_bars(rows: Sequence[RegionRoundTrip]) -> str:
    """Median round trip to each region, with the least and the longest as error bars (the study's Figs 2 and 3)."""
    shown = sorted(rows, key=lambda row: (row.vantage, row.method, row.median_s))
    most_s = max((row.max_s for row in shown), default=1.0) or 1.0
    colours = _colours(row.vantage for row in shown)
    body = [_bar(number, row, most_s, colours[row.vantage]) for number, row in enumerate(shown)]
    height = _ROW * len(shown) + 24
    axis = f'<text x="{_LEFT + _BARS}" y="{height - 6}" text-anchor="end">{escape(seconds(most_s))}</text>'
    zero = f'<text x="{_LEFT}" y="{height - 6}">0</text>'
    return _svg(_LEFT + _BARS + 130, height, "Round trips to regions", "".join([*body, axis, zero]))


def addresses_over_time(names: Sequence[NameRow]) -> str:
    """Distinct addresses of each name as they were found."""
    shown = [one for one in names if one.addresses]
    times = [row.first_seen_ns for one in shown for row in one.addresses]
    ends = [row.last_seen_ns for one in shown for row in one.addresses]
    if not times:
        return ""
    first_ns, last_ns = min(times), max(*ends, min(times) + 1)
    most = max(len(one.addresses) for one in shown)
    colours = _colours(one.about.name for one in shown)
    height, width = 260, _BARS

    def point(time_ns: int, number: int) -> str:
        x = 50 + width * (time_ns - first_ns) / (last_ns - first_ns)
        return f"{x:.1f},{height - 30 - (height - 50) * number / most:.1f}"

    lines = []
    for place, one in enumerate(shown):
        points = [point(first_ns, 0)]
        for number, row in enumerate(one.addresses, 1):
            points += [point(row.first_seen_ns, number - 1), point(row.first_seen_ns, number)]
        points.append(point(last_ns, len(one.addresses)))
        colour = colours[one.about.name]
        lines.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        if place < 18:
            label = escape(printable(one.about.name)[:48])
            lines.append(f'<text x="{width + 62}" y="{24 + 13 * place}" fill="{colour}">{label}</text>')
    axis = f'<text x="50" y="{height - 10}">0</text><text x="{50 + width}" y="{height - 10}" text-anchor="end">'
    axis += f'{escape(seconds((last_ns - first_ns) / 1e9))}</text><text x="44" y="24" text-anchor="end">{most}</text>'
    return _svg(width + 380, height, "Addresses over time", axis + "".join(lines))


def _svg(width: int, height: int, title: str, body: str) -> str:
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {_TEXT} role="img"><title>{title}</title>{body}</svg>'


def _colours(names: Iterable[str]) -> dict[str, str]:
    return {name: RUNS[number % len(RUNS)] for number, name in enumerate(dict.fromkeys(names))}


def _bar(number: int, row: RegionRoundTrip, most_s: float, colour: str) -> str:
    y = number * _ROW
    low, middle, high = (_LEFT + _BARS * value / most_s for value in (row.min_s, row.median_s, row.max_s))
    label = escape(printable(f"{row.region} ({row.method})")[:38])
    text = f"{seconds(row.median_s)} [{seconds(row.min_s)}, {seconds(row.max_s)}]"
    return (
        f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{label}</text>'
        f'<rect x="{_LEFT}" y="{y + 4}" width="{middle - _LEFT:.1f}" height="12" fill="{colour}" fill-opacity="0.55">'
        f"<title>{escape(printable(row.vantage))}: {escape(text)}</title></rect>"
        f'<path d="M{low:.1f} {y + 10}H{high:.1f}M{low:.1f} {y + 6}v8M{high:.1f} {y + 6}v8" stroke="#333" fill="none"/>'
        f'<text x="{high + 6:.1f}" y="{y + 14}" fill="{colour}">{escape(printable(row.vantage))[:18]}</text>'
    )


def _rectangle() -> str:
    return f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#eef3f7"/>'


def _xy(lon: float, lat: float) -> tuple[float, float]:
    return (lon + 180) / 360 * _WIDTH, (90 - lat) / 180 * _HEIGHT


def _coast() -> str:
    pieces = []
    for line in coast_lines():
        points = " ".join(f"{x:.1f} {y:.1f}" for x, y in (_xy(lon, lat) for lon, lat in line))
        pieces.append(f"M{points}")
    return f'<path d="{"".join(pieces)}" fill="#fbfaf5" stroke="#8a9ba8" stroke-width="0.6"/>'


def _circles(report: Report) -> Iterator[str]:
    """From each vantage point the circle of its nearest front end: it is inside."""
    colours = _colours(row.vantage for row in report.vantages)
    for row in report.vantages:
        trips = [
            trip.min_s
            for one in report.addresses.values()
            for trip in one.round_trips
            if trip.vantage == row.vantage and trip.min_s is not None
        ]
        if row.position is None or not trips:
            continue
        radius_km = farthest_km(min(trips))
        if radius_km <= _CIRCLE_REACH_KM:
            circle = Circle(row.vantage, row.position, min(trips), radius_km)
            yield f'<path d="{_outline(circle)}" fill="none" stroke="{colours[row.vantage]}" stroke-dasharray="3 3"/>'


def _outline(circle: Circle) -> str:
    lats, lons = outline(circle.centre, circle.farthest_km)
    commands, before = [], None
    for lat, lon in zip(lats, lons, strict=True):
        jumps = before is None or abs(lon - before) > 180
        x, y = _xy(float(lon), float(lat))
        commands.append(f"{'M' if jumps else 'L'}{x:.1f} {y:.1f}")
        before = lon
    return "".join(commands)


def _places(report: Report) -> Iterator[str]:
    found: dict[tuple[str, float, float], int] = {}
    for row in report.addresses.values():
        at = row.location
        if at is not None:
            # Codes and city names of one place differ by some km: a tenth of a map's pixel.
            key = (at.city, round(at.lat), round(at.lon))
            found[key] = found.get(key, 0) + 1
    for (city, lat, lon), number in sorted(found.items(), key=lambda item: -item[1]):
        x, y = _xy(lon, lat)
        radius = 3 + 2 * float(np.sqrt(number))
        label = escape(printable(f"{city} ({number})"))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#c0392b" fill-opacity="0.75"/>'
        yield f'<text x="{x + radius + 2:.1f}" y="{y + 4:.1f}" {_TEXT} fill="#222">{label}</text>'


def _vantages(report: Report) -> Iterator[str]:
    colours = _colours(row.vantage for row in report.vantages)
    for row in report.vantages:
        if row.position is not None:
            yield _vantage(row.vantage, row.position, colours[row.vantage])


def _vantage(name: str, position: Position, colour: str) -> str:
    x, y = _xy(position.lon, position.lat)
    label = escape(printable(name))
    return (
        f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}" stroke="#fff" stroke-width="0.8"/>'
        f'<text x="{x + 8:.1f}" y="{y - 4:.1f}" {_TEXT} font-weight="bold" fill="{colour}">{label}</text>'
    )
