"""Drawings of a discovery report as SVG, each complete in itself: no script, no font, no file from elsewhere.

The map is a plain equirectangular one (a degree is as long anywhere), because circles that reach over the pole or the
date line can be drawn on it by cutting their outlines at the edge.
"""

import json
import math
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files

from vmtrace.analyze.reports.discovery.geography import Circle, farthest_km, outline
from vmtrace.analyze.reports.discovery.locating import Location
from vmtrace.analyze.reports.discovery.report import Report
from vmtrace.analyze.reports.discovery.texts import addresses_text
from vmtrace.analyze.words.palette import RUNS
from vmtrace.analyze.words.units import printable

Line = list[tuple[float, float]]
"""Longitude and latitude of each point, in degrees."""


@cache
def coast_lines() -> list[Line]:
    """Those of Natural Earth at 1:110 million (public domain), from the npm package world-atlas 2.0.2.

    `land-110m.json` is that package's file unchanged: TopoJSON, whose arcs are differences of whole numbers.
    """
    topology = json.loads((files(__package__) / "land-110m.json").read_text(encoding="utf-8"))
    (x_step, y_step), (x_first, y_first) = topology["transform"]["scale"], topology["transform"]["translate"]
    lines = []
    for arc in topology["arcs"]:
        x = y = 0
        line = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            line.append((x * x_step + x_first, y * y_step + y_first))
        lines.append(line)
    return lines


_WIDTH, _HEIGHT = 1080, 540
_TEXT = 'font-family="sans-serif" font-size="11"'
_CIRCLE_REACH_KM = 9000.0
"""Larger circles say next to nothing, and cover the map."""
_LETTER, _LINE = 6.2, 11.0
"""Width of a letter and height of a line, about: labels are placed by them."""
_TOP, _BOTTOM = 15, 450
"""From 85 degrees north to 60 south: beyond is nobody."""


def world_map(report: Report) -> str:
    """Vantage points with their nearest front end's circle, and every place with how many addresses are there."""
    labels = _Labels()
    for row in report.vantages:
        if row.position is not None:
            labels.keep_clear(_xy(row.position.lon, row.position.lat), 6)
    marks = [*_places(report, labels), *_vantages(report, labels)]
    parts = [_rectangle(), _coast(), *_circles(report), *marks]
    title = f"<title>{addresses_text(len(report.addresses))} on the map</title>"
    size = f'viewBox="0 {_TOP} {_WIDTH} {_BOTTOM - _TOP}" width="{_WIDTH}" height="{_BOTTOM - _TOP}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">{title}{"".join(parts)}</svg>'


def colours_of(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, the same on the map and in figures."""
    return {name: RUNS[number % len(RUNS)] for number, name in enumerate(dict.fromkeys(names))}


def _coloured(colour: str | None) -> str:
    """What `currentColor` is; a dark page makes it lighter, as it does in figures."""
    return 'color="var(--ink, #222)"' if colour is None else f'color="{colour}" data-colour="{colour}"'


def _rectangle() -> str:
    return f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="var(--sea, #eef3f7)"/>'


def _xy(lon: float, lat: float) -> tuple[float, float]:
    return (lon + 180) / 360 * _WIDTH, (90 - lat) / 180 * _HEIGHT


def _coast() -> str:
    outlines = "".join(_path(line) for line in coast_lines())
    return f'<path d="{outlines}" fill="var(--land, #fbfaf5)" stroke="var(--coast, #8a9ba8)" stroke-width="0.6"/>'


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
    colours = colours_of(row.vantage for row in report.vantages)
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
            look = f'fill="none" stroke="currentColor" {_coloured(colours[row.vantage])} stroke-dasharray="3 3"'
            yield f'<path d="{_outline(circle)}" {look}/>'


def _outline(circle: Circle) -> str:
    lats, lons = outline(circle.centre, circle.farthest_km)
    return _path(zip(map(float, lons), map(float, lats), strict=True))


def _places(report: Report, labels: "_Labels") -> Iterator[str]:
    found: dict[tuple[str, str], list[Location]] = {}
    for row in report.addresses.values():
        if row.location is not None:
            found.setdefault((row.location.city, row.location.country), []).append(row.location)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    marks = [(_xy(here[0].lon, here[0].lat), 3 + 2 * math.sqrt(len(here))) for _, here in ordered]
    for at, radius in marks:
        labels.keep_clear(at, radius)
    for ((city, _), here), ((x, y), radius) in zip(ordered, marks, strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#c0392b" fill-opacity="0.75"/>'
        yield labels.text(f"{city} ({len(here)})", (x, y), radius + 2, None)


def _vantages(report: Report, labels: "_Labels") -> Iterator[str]:
    colours = colours_of(row.vantage for row in report.vantages)
    for row in report.vantages:
        if row.position is not None:
            x, y = _xy(row.position.lon, row.position.lat)
            colour = colours[row.vantage]
            look = f'fill="currentColor" {_coloured(colour)} stroke="#fff" stroke-width="0.8"'
            yield f'<path d="M{x:.1f} {y - 6:.1f}l6 10h-12z" {look}/>'
            yield labels.text(row.vantage, (x, y), 8, colour)


class _Labels:
    """Puts each label where it covers no other: right of its point, left, below or above, else right all the same."""

    def __init__(self) -> None:
        self._taken: list[tuple[float, float, float]] = []

    def keep_clear(self, at: tuple[float, float], radius: float) -> None:
        """No label covers this mark."""
        self._taken.append((at[0] - radius, at[1] + 4, 2 * radius))

    def text(self, words: str, at: tuple[float, float], away: float, colour: str | None) -> str:
        """The label as SVG; None is the colour of text."""
        words = printable(words)[:40]
        width = _LETTER * len(words)
        left, top = at[0] + away, at[1] + 4
        choices = ((left, top), (at[0] - away - width, top), (at[0] - width / 2, top + away + 8),
                   (at[0] - width / 2, top - away - 8), (left, top + 12), (left, top - 12),
                   (at[0] - away - width, top + 12), (at[0] - away - width, top - 12),
                   (left, top + 24), (left, top - 24), (at[0] - width / 2, top + away + 20))  # fmt: skip
        x, y = next((one for one in choices if self._is_free(*one, width)), choices[0])
        self._taken.append((x, y, width))
        return f'<text x="{x:.1f}" y="{y:.1f}" {_TEXT} fill="currentColor" {_coloured(colour)}>{escape(words)}</text>'

    def _is_free(self, x: float, y: float, width: float) -> bool:
        return not any(
            x < other_x + other_width and other_x < x + width and abs(y - other_y) < _LINE
            for other_x, other_y, other_width in self._taken
        )
