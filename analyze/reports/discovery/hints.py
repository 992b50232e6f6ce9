"""What names say of a place: airport codes and city names among the words of a host's name.

A hint is what somebody wrote once, and may be old, wrong, or about something else: what it is worth is decided in
`locating`, where it is held against round trips. Method: section II.A of the study.
"""

import re
from dataclasses import dataclass

from vmtrace.analyze.reports.discovery.gazetteer import Place, airport, cities, with_airport

REVERSE_NAME, ROUTER_NAME, REGION, SAME_SITE = "reverse_name", "router_name", "region", "same_site"
_WORD = re.compile(r"[a-z]+|[0-9]+")
_PARTS = re.compile(r"[.\-_]")
_COMMON_CODES = frozenset(
    """
    add adm age and ant any api app arc asp bar bbs bgp bin box bra bus cab car cat cdn cgi com cpe cus dad day dev dns
    dsl dyn eth ext fax for ftp gig gre gtw hop hub icp int ipv isp lab lag lan log mac max mce min mob mpe mpr mta net
    new nms ntp old one org own pop pos pri pro ptr pub red ref rev rtr sip sky srv ssl sub sun sup sys tcp tel ten tes
    the tor two udp usa vip vlan vpn wan web win wwt www xdr
    """.split()  # noqa: SIM905 - a list of quoted words would be four times as long
)
"""Airport codes that are words of host names everywhere."""
_COMMON_CITIES = frozenset(
    """
    backbone bari central core date edge enterprise global male media mobile normal online orange reading salt same
    server split transit union
    """.split()  # noqa: SIM905
)
"""The same for names of cities."""
_DOMAIN_LABELS = 2
"""At the end of a name: whose it is, not where."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A statement about a place. `candidates` are the places it can mean."""

    kind: str
    source: str
    """The name, or whatever else said so."""
    token: str
    candidates: tuple[Place, ...]

    @property
    def text(self) -> str:
        """For the list of evidence."""
        means = ", ".join(_called(place) for place in self.candidates[:3])
        return f"{self.token!r} in {self.source}: {means}"


def hints_of(name: str, kind: str) -> list[Hint]:
    """All hints in a name of a host; each token once."""
    labels = name.lower().rstrip(".").split(".")[:-_DOMAIN_LABELS]
    found: dict[str, Hint] = {}
    for part in (part for label in labels for part in _PARTS.split(label)):
        hint = _hint(part, name, kind)
        if hint is not None:
            found.setdefault(hint.token, hint)
    return list(found.values())


def region_hint(label: str | None, city: str | None, country: str | None, iata: str | None) -> Hint | None:
    """What the provider says of a region; None where that names no city."""
    place = None if iata is None else airport(iata)
    if city is not None:
        by_name = cities(city, country)
        if place is None or not by_name:
            place = with_airport(by_name[0]) if by_name else place
        else:
            place = Place(by_name[0].city, place.country, by_name[0].position, iata, by_name[0].population)
    if place is None:
        return None
    return Hint(REGION, "the provider's name of the region", label or city or iata or "", (place,))


def _hint(part: str, name: str, kind: str) -> Hint | None:
    """The first word of a part may be a code (`fra2`, `iad23s69`); any of its words may be a city (`frankfurt1`)."""
    words = [word for word in _WORD.findall(part) if word.isalpha()]
    for word in words:
        found = [] if word in _COMMON_CITIES else cities(word)
        if found:
            return Hint(kind, name, word, tuple(with_airport(one) for one in found))
    first = words[0] if words and part.startswith(words[0]) else ""
    if len(first) == 3 and first not in _COMMON_CODES and (place := airport(first)) is not None:
        return Hint(kind, name, first, (place,))
    return None


def _called(place: Place) -> str:
    return f"{place.city} ({place.iata or place.country})"
