"""The world as drawn from a seed: who is where, what names say, which of them lie. Nothing is started here.

Reverse names of front ends are true, missing or those of another site; so are the names of the routers before them.
Resolvers are honest but for one or two of each kind of bad ones. Paths are longer than the great circle by a factor
of each pair of vantage point and site, as the Internet's are.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import asdict, dataclass, field
from typing import Any

from vmtrace.lab.world.geography import CITIES, SITES, VANTAGES, Place, Site, distance_km, one_way_s

DOMAIN = "lab.test"  # RFC 6761: nobody's
REVERSE_SERVER = "198.18.1.53"
STEERED = f"global.{DOMAIN}"
NOWHERE = f"nothing.{DOMAIN}"
IPV6_ONLY = f"six.{DOMAIN}"
IPV6_ADDRESS = "fd00:18:7::1"
TRUE, MISSING, LYING = "true", "missing", "lying"
HONEST, HANGS, REFUSES, LIES, FLOODS, OTHER_QUESTION, TRUNCATES = (
    "honest", "hangs", "refuses", "lies", "floods", "other question", "truncates",
)  # fmt: skip
_BAD = (HANGS, REFUSES, LIES, FLOODS, OTHER_QUESTION, TRUNCATES, HANGS, LIES)
_DETOURS = (1.05, 1.45)
_ACCESS_S = 0.0002
_LIE_TLS, _LIE_CLOSED = "198.18.200.1", "198.18.200.2"


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """An address with TLS, and what its reverse name is worth."""

    address: str
    site: str
    reverse: str
    reverse_kind: str
    claims: str | None
    """The airport code in the reverse name."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Where it is, and how it behaves."""

    address: str
    place: Place
    behaviour: str


@dataclass(frozen=True, slots=True)
class Router:
    """On the way to a site, or before a vantage point."""

    address: str
    place: Place
    name: str | None
    name_kind: str


@dataclass(frozen=True, slots=True)
class World:
    """All of it."""

    seed: int
    sites: tuple[Site, ...]
    front_ends: tuple[FrontEnd, ...]
    resolvers: tuple[Resolver, ...]
    landmarks: dict[str, Place]
    vantages: dict[str, Place]
    routers: dict[str, list[Router]] = field(default_factory=dict)
    """Before each site: the last one is at the site."""
    transit: dict[str, list[Router]] = field(default_factory=dict)
    """Behind each vantage point."""
    detours: dict[str, float] = field(default_factory=dict)
    """By `vantage/place`."""

    def site(self, region: str) -> Site:
        """The site of a region."""
        return next(one for one in self.sites if one.region == region)

    def name_of(self, site: Site) -> str:
        """The host name of a region."""
        return f"s3.{site.region}.{DOMAIN}"

    def names(self) -> list[str]:
        """All that have front ends."""
        return [*map(self.name_of, self.sites), STEERED]

    def one_way_s(self, vantage: str, place: Place) -> float:
        """From a vantage point to a place."""
        distance = distance_km(self.vantages[vantage], place)
        return _ACCESS_S + one_way_s(distance, self.detours.get(f"{vantage}/{place.iata}", _DETOURS[1]))

    def reverse_names(self) -> dict[str, str]:
        """Of every address that has one."""
        found = {one.address: one.reverse for one in self.front_ends if one.reverse_kind != MISSING}
        routers = itertools.chain(*self.routers.values(), *self.transit.values())
        return found | {one.address: one.name for one in routers if one.name is not None}

    def as_record(self) -> dict[str, Any]:
        """The truth, for a file."""
        return asdict(self)


def draw(seed: int, sites: int = len(SITES), per_site: int = 5, resolvers: int = 40) -> World:
    """A world of this size; the same seed gives the same."""
    dice = random.Random(f"world {seed}")
    chosen = SITES[:sites]
    world = World(
        seed=seed,
        sites=chosen,
        front_ends=tuple(_front_ends(chosen, per_site, dice)),
        resolvers=tuple(_resolvers(resolvers)),
        landmarks={f"198.18.48.{number}": place for number, place in enumerate(CITIES[:8], 1)},
        vantages=dict(VANTAGES),
    )
    for number, site in enumerate(chosen):
        world.routers[site.region] = _routers_of(site, number, chosen, dice)
    for number, (vantage, place) in enumerate(VANTAGES.items()):
        name = f"core1.{place.iata.lower()}.backbone.{DOMAIN}"
        world.transit[vantage] = [Router(f"198.18.80.{number + 1}", place, name, TRUE)]
    for vantage, place in itertools.product(VANTAGES, [*(one.place for one in chosen), *CITIES]):
        world.detours[f"{vantage}/{place.iata}"] = dice.uniform(*_DETOURS)
    return world


def lie_addresses() -> dict[str, bool]:
    """What lying resolvers give, and whether something speaks TLS there (with a certificate for another name)."""
    return {_LIE_TLS: True, _LIE_CLOSED: False}


def flood(count: int = 1000) -> list[str]:
    """A thousand addresses where there is nothing."""
    return [f"198.18.{208 + number // 250}.{number % 250 + 1}" for number in range(count)]


def _front_ends(sites: tuple[Site, ...], per_site: int, dice: random.Random) -> list[FrontEnd]:
    # So many of each kind, whatever the dice: a share drawn with a die would differ from seed to seed.
    total = len(sites) * per_site
    kinds = [TRUE] * (total - total // 2) + [MISSING] * (total // 4) + [LYING] * (total // 2 - total // 4)
    dice.shuffle(kinds)
    found = []
    for number, (site, place) in enumerate(itertools.product(sites, range(per_site))):
        kind = kinds[number]
        claims = {TRUE: site, MISSING: None, LYING: dice.choice([one for one in sites if one != site])}[kind]
        address = f"198.18.{16 + number // 200}.{number % 200 + 1}"
        code = None if claims is None else claims.place.iata
        named = "" if code is None else f"fe{place + 1}.{code.lower()}{dice.randint(1, 9)}.r.{DOMAIN}"
        found.append(FrontEnd(address, site.region, named, kind, code))
    return found


def _resolvers(count: int) -> list[Resolver]:
    bad = _BAD[: max(1, count // 5)]
    behaviours = [HONEST] * (count - len(bad)) + list(bad)
    places = itertools.cycle(CITIES)
    return [Resolver(f"198.18.32.{number}", next(places), one) for number, one in enumerate(behaviours, 1)]


def _routers_of(site: Site, number: int, sites: tuple[Site, ...], dice: random.Random) -> list[Router]:
    """A silent or nameless one, then the one at the site, whose name is as good as the dice say."""
    kind = (TRUE, TRUE, TRUE, MISSING, TRUE, LYING)[number % 6]
    other = dice.choice([one for one in sites if one != site])
    claims = {TRUE: site.place, MISSING: None, LYING: other.place}[kind]
    name = None
    if claims is not None:
        city = claims.city.lower().replace(" ", "")
        name = f"ae{number}.edge1.{city if number % 2 else claims.iata.lower() + '2'}.backbone.{DOMAIN}"
    before = Router(f"198.18.64.{number * 4 + 1}", site.place, None, MISSING)
    return [before, Router(f"198.18.64.{number * 4 + 2}", site.place, name, kind)]
