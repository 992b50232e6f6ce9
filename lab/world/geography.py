"""Where things are in the lab world, and how long light takes between them."""

from __future__ import annotations

import math
from dataclasses import dataclass

EARTH_RADIUS_KM = 6371.0088
FIBRE_KM_PER_S = 299_792.458 * 2 / 3
"""Light in fibre: two thirds of its speed in vacuum."""


@dataclass(frozen=True, slots=True)
class Place:
    """A city with its airport."""

    city: str
    country: str
    iata: str
    lat: float
    lon: float


@dataclass(frozen=True, slots=True)
class Site:
    """A region of the made-up provider; `names_city`: whether what it says of the region names the place."""

    region: str
    label: str
    place: Place
    names_city: bool


def _site(region: str, label: str, place: tuple[str, str, str, float, float], names_city: bool = True) -> Site:
    return Site(region, label, Place(*place), names_city)


SITES = (
    _site("eu-west-1", "Europe (Ireland)", ("Dublin", "IE", "DUB", 53.35, -6.26)),
    _site("eu-west-2", "Europe (London)", ("London", "GB", "LHR", 51.51, -0.13)),
    _site("eu-central-1", "Europe (Frankfurt)", ("Frankfurt am Main", "DE", "FRA", 50.11, 8.68)),
    _site("eu-north-1", "Europe North", ("Stockholm", "SE", "ARN", 59.33, 18.07), False),
    _site("us-east-1", "US East (N. Virginia)", ("Ashburn", "US", "IAD", 39.04, -77.49)),
    _site("us-west-1", "US West (N. California)", ("San Jose", "US", "SJC", 37.34, -121.89)),
    _site("us-central-1", "US Central", ("Chicago", "US", "ORD", 41.85, -87.65), False),
    _site("sa-east-1", "South America (Sao Paulo)", ("Sao Paulo", "BR", "GRU", -23.55, -46.63)),
    _site("ap-southeast-1", "Asia Pacific (Singapore)", ("Singapore", "SG", "SIN", 1.29, 103.85)),
    _site("ap-northeast-1", "Asia Pacific (Tokyo)", ("Tokyo", "JP", "NRT", 35.69, 139.69)),
    _site("ap-southeast-2", "Asia Pacific (Sydney)", ("Sydney", "AU", "SYD", -33.87, 151.21)),
    _site("ap-south-1", "Asia South", ("Mumbai", "IN", "BOM", 19.07, 72.88), False),
)

VANTAGES = {
    "lausanne": Place("Lausanne", "CH", "GVA", 46.52, 6.57),
    "new-york": Place("New York", "US", "JFK", 40.71, -74.01),
    "hong-kong": Place("Hong Kong", "HK", "HKG", 22.28, 114.17),
}

# Where resolvers are, and transit routers; those of the first eight cities are landmarks, too.
CITIES = (
    Place("Paris", "FR", "CDG", 48.86, 2.35),
    Place("Madrid", "ES", "MAD", 40.42, -3.70),
    Place("Warsaw", "PL", "WAW", 52.23, 21.01),
    Place("Dallas", "US", "DFW", 32.78, -96.80),
    Place("Toronto", "CA", "YYZ", 43.65, -79.38),
    Place("Seoul", "KR", "ICN", 37.57, 126.98),
    Place("Johannesburg", "ZA", "JNB", -26.20, 28.05),
    Place("Buenos Aires", "AR", "EZE", -34.61, -58.38),
    Place("Amsterdam", "NL", "AMS", 52.37, 4.90),
    Place("Milan", "IT", "MXP", 45.46, 9.19),
    Place("Seattle", "US", "SEA", 47.61, -122.33),
    Place("Miami", "US", "MIA", 25.77, -80.19),
    Place("Osaka", "JP", "KIX", 34.69, 135.50),
    Place("Nairobi", "KE", "NBO", -1.29, 36.82),
    Place("Istanbul", "TR", "IST", 41.01, 28.98),
    Place("Auckland", "NZ", "AKL", -36.85, 174.76),
    Place("Bogota", "CO", "BOG", 4.61, -74.08),
    Place("Cairo", "EG", "CAI", 30.04, 31.24),
    Place("Jakarta", "ID", "CGK", -6.21, 106.85),
    Place("Helsinki", "FI", "HEL", 60.17, 24.94),
)


def distance_km(first: Place, second: Place) -> float:
    """Along the great circle (haversine)."""
    lat, other_lat = math.radians(first.lat), math.radians(second.lat)
    lon = math.radians(second.lon - first.lon)
    half = math.sin((other_lat - lat) / 2) ** 2 + math.cos(lat) * math.cos(other_lat) * math.sin(lon / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(half)))


def one_way_s(distance: float, detour: float) -> float:
    """How long a packet takes over a fibre that is longer than the great circle by a factor."""
    return distance * detour / FIBRE_KM_PER_S
