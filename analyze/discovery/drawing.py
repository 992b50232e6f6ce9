"""Drawings of a discovery report as SVG, each complete in itself: no script, no font, no file from elsewhere.

The map is a plain equirectangular one (a degree is as long anywhere), because circles that reach over the pole or the
date line can be drawn on it by cutting their outlines at the edge.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape

from analyze.discovery.coast import coast_lines
from analyze.discovery.geography import Circle, farthest_km, outline
from analyze.discovery.locating import Location
from analyze.discovery.report import NameRow, RegionRoundTrip, Report
from analyze.discovery.round_trips import ICMP, TCP
from analyze.discovery.texts import addresses_text
from analyze.palette import RUNS
from analyze.units import printable, seconds

_WIDTH, _HEIGHT = 1080, 540
_TEXT = 'font-family="sans-serif" font-size="11"'
_CIRCLE_REACH_KM = 9000.0
"""Larger circles say next to nothing, and cover the map."""
_LETTER, _LINE = 6.2, 11.0
"""Width of a letter and height of a line, about: labels are placed by them."""
_ROW, _LEFT, _BARS = 20, 230, 640


def world_map(report: Report) -> str:
    """Vantage points with their nearest front end's circle, and every place with how many addresses are there."""
    labels = _Labels()
    marks = [*_places(report, labels), *_vantages(report, labels)]
    parts = [_rectangle(), _coast(), *_circles(report), *marks]
    title = f"<title>{addresses_text(len(report.addresses))} on the map</title>"
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}{"".join(parts)}</svg>'


def round_trip_bars(report: Report) -> str:
    """Median round trip to each region, with the least and the longest as error bars (the study's Figs 2 and 3).

    Handshakes where there are any, else echoes; a colour for each vantage point.
    """
    rows = report.region_round_trips()
    method = TCP if any(row.method == TCP for row in rows) else ICMP
    shown = sorted((row for row in rows if row.method == method), key=lambda row: (row.region, row.vantage))
    most_s = max((row.max_s for row in shown), default=1.0) or 1.0
    colours = _colours(row.vantage for row in report.vantages)
    body = []
    for number, row in enumerate(shown):
        label = row.region if number == 0 or shown[number - 1].region != row.region else ""
        body.append(_bar(number * _ROW, row, label, most_s, colours[row.vantage]))
    height = _ROW * len(shown) + 24
    axis = f'<text x="{_LEFT + _BARS}" y="{height - 6}" text-anchor="end">{escape(seconds(most_s))}</text>'
    zero = f'<text x="{_LEFT}" y="{height - 6}">0</text>'
    return _svg(_LEFT + _BARS + 130, height, f"Round trips to regions ({method})", "".join([*body, axis, zero]))


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
    look = f'{_TEXT} fill="currentColor" role="img"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look}><title>{escape(title)}</title>{body}</svg>'


def _colours(names: Iterable[str]) -> dict[str, str]:
    return {name: RUNS[number % len(RUNS)] for number, name in enumerate(dict.fromkeys(names))}


def _bar(y: int, row: RegionRoundTrip, label: str, most_s: float, colour: str) -> str:
    low, middle, high = (_LEFT + _BARS * value / most_s for value in (row.min_s, row.median_s, row.max_s))
    words = escape(printable(label)[:38])
    said = f"{row.vantage}: {seconds(row.median_s)} [{seconds(row.min_s)}, {seconds(row.max_s)}]"
    whiskers = f"M{low:.1f} {y + 10}H{high:.1f}M{low:.1f} {y + 6}v8M{high:.1f} {y + 6}v8"
    return (
        f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{words}</text>'
        f'<rect x="{_LEFT}" y="{y + 4}" width="{middle - _LEFT:.1f}" height="12" fill="{colour}" fill-opacity="0.55">'
        f"<title>{escape(printable(said))}</title></rect>"
        f'<path d="{whiskers}" stroke="currentColor" fill="none"/>'
        f'<text x="{high + 6:.1f}" y="{y + 14}" fill="{colour}">{escape(printable(row.vantage))[:18]}</text>'
    )


def _rectangle() -> str:
    return f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#eef3f7"/>'


def _xy(lon: float, lat: float) -> tuple[float, float]:
    return (lon + 180) / 360 * _WIDTH, (90 - lat) / 180 * _HEIGHT


def _coast() -> str:
    outlines = "".join(_path(line) for line in coast_lines())
    return f'<path d="{outlines}" fill="#fbfaf5" stroke="#8a9ba8" stroke-width="0.6"/>'


def _path(line: Iterable[tuple[float, float]]) -> str:
    """A line of longitudes and latitudes, cut where it leaves the map at one edge and comes in at the other."""
    commands, before = [], None
    for lon, lat in line:
        x, y = _xy(lon, lat)
        commands.append(f"{'M' if before is None or abs(lon - before) > 180 else 'L'}{x:.1f} {y:.1f}")
        before = lon
    return "".join(commands)


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
    return _path(zip(map(float, lons), map(float, lats), strict=True))


def _places(report: Report, labels: "_Labels") -> Iterator[str]:
    found: dict[tuple[str, str], list[Location]] = {}
    for row in report.addresses.values():
        if row.location is not None:
            found.setdefault((row.location.city, row.location.country), []).append(row.location)
    for (city, _), here in sorted(found.items(), key=lambda item: -len(item[1])):
        x, y = _xy(here[0].lon, here[0].lat)
        radius = 3 + 2 * math.sqrt(len(here))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#c0392b" fill-opacity="0.75"/>'
        yield labels.text(f"{city} ({len(here)})", (x, y), radius + 2, "#222")


def _vantages(report: Report, labels: "_Labels") -> Iterator[str]:
    colours = _colours(row.vantage for row in report.vantages)
    for row in report.vantages:
        if row.position is not None:
            x, y = _xy(row.position.lon, row.position.lat)
            colour = colours[row.vantage]
            yield f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" fill="{colour}" stroke="#fff" stroke-width="0.8"/>'
            yield labels.text(row.vantage, (x, y), 8, colour)


class _Labels:
    """Puts each label where it covers no other: right of its point, left, below or above, else right all the same."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float]] = []

    def text(self, words: str, at: tuple[float, float], away: float, colour: str) -> str:
        """The label as SVG."""
        words = printable(words)[:40]
        width = _LETTER * len(words)
        left, top = at[0] + away, at[1] + 4
        choices = ((left, top), (at[0] - away - width, top), (at[0] - width / 2, top + away + 8),
                   (at[0] - width / 2, top - away - 8), (left, top + 12), (left, top - 12))  # fmt: skip
        x, y = next((one for one in choices if self._is_free(*one, width)), choices[0])
        self._taken.append((x, y, width))
        return f'<text x="{x:.1f}" y="{y:.1f}" {_TEXT} fill="{colour}">{escape(words)}</text>'

    def _is_free(self, x: float, y: float, width: float) -> bool:
        return not any(
            x < other_x + other_width and other_x < x + width and abs(y - other_y) < _LINE
            for other_x, other_y, other_width in self._taken
        )
