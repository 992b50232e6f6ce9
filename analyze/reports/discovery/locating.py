"""Where an address is: hints held against distance circles, candidates ranked, and the evidence for or against each.

A hint is refuted where a vantage point's round trip is shorter than light in fibre takes from there. Of the places left
the best is the one that most hints agree on and whose round trips are as long as such a distance usually takes. Without
a hint that stands, only a small overlap of circles is a place; else the answer is "not located", with the reason.
Sources: section II.A of the study; B. Gueye and others (see `calibration`).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from vmtrace.analyze.reports.discovery.gazetteer import Place, largest_city, with_airport
from vmtrace.analyze.reports.discovery.geography import Circle, Meeting, distance_km, least_rtt_s, meeting
from vmtrace.analyze.reports.discovery.hints import REGION, REVERSE_NAME, ROUTER_NAME, SAME_SITE, Hint
from vmtrace.analyze.tables.schema.typed import Positive, Share, bounds, one_of
from vmtrace.analyze.words.units import seconds

NEAR_KM = 100.0
"""What a city's or an airport's name is about: the precision of the method (the study's section II.A)."""
_SLACK_KM = 50.0
"""A data centre of a city stands this far from its middle at most, for a hint to be true."""
_SMALL_KM = 250.0
_WEIGHTS = {REVERSE_NAME: 3.0, REGION: 2.5, ROUTER_NAME: 2.0, SAME_SITE: 1.0}
_MOST_OF_SAME_SITE = 4
_USUAL_STRETCH, _USUAL_EXTRA_S = 1.8, 0.003
"""A round trip this many times the least, and this much more, is nothing unusual."""
_OUTSIDE_CALIBRATED = 0.5
_WITHOUT_DISTANCE = 0.5
_STRONG_WEIGHT = 2.5
_BY_DISTANCE_ALONE = 0.4
_LEAST_CONFIDENCE = 0.15
"""With less it is not located: in simulated worlds such places are wrong (docs/discovery.md)."""
DISTANCE, CALIBRATED, OVERLAP = "distance", "calibrated_distance", "overlap"


_HINTS, _DISTANCES = ("reverse_name", "router_name", "region"), ("distance", "calibrated_distance", "overlap")


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line for or against a place; `refuted`: it cannot be."""

    kind: Annotated[
        str, one_of("reverse_name", "router_name", "region", "same_site", "distance", "calibrated_distance", "overlap")
    ]
    text: str
    refuted: bool = False


@dataclass(frozen=True, slots=True)
class Location:
    """A place with how sure it is; `confidence` is 0 to 1."""

    city: str
    iata: str | None
    lat: Annotated[float, bounds(minimum=-90, maximum=90)]
    lon: Annotated[float, bounds(minimum=-180, maximum=180)]
    radius_km: Positive
    confidence: Share
    country: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """A location, or why there is none; the evidence either way."""

    location: Location | None
    reason: str | None
    evidence: tuple[Evidence, ...]
    named_by: str | None = None
    """The kind of the strongest hint that named the location; `distance` if round trips alone did."""


@dataclass(slots=True)
class _Candidate:
    place: Place
    weight: float = 0.0
    sources: set[tuple[str, str]] = field(default_factory=set)
    same_site: int = 0
    plausibility: float = 1.0

    @property
    def score(self) -> float:
        return self.weight * self.plausibility

    @property
    def strongest_kind(self) -> str:
        return max((kind for kind, _ in self.sources), key=lambda kind: _WEIGHTS.get(kind, 1.0))


def locate(hints: Sequence[Hint], circles: Sequence[Circle]) -> Verdict:
    """The place of an address from what names say and what round trips allow."""
    overlap = meeting(list(circles)) if circles else None
    evidence = [*_hint_evidence(hints, circles), *_circle_evidence(circles, overlap)]
    if circles and overlap is None:
        return Verdict(None, "the distance circles do not meet: several hosts share it (anycast), or --at is wrong",
                       tuple(evidence))  # fmt: skip
    candidates = _candidates(hints, circles)
    if candidates:
        best = max(candidates, key=lambda one: one.score)
        found = _located(best, candidates, circles, overlap)
        if found.confidence < _LEAST_CONFIDENCE:
            return Verdict(None, _torn(candidates), tuple(evidence))
        return Verdict(found, None, tuple(evidence), best.strongest_kind)
    if overlap is not None and overlap.radius_km <= _SMALL_KM:
        return _by_distance(overlap, evidence)
    return Verdict(None, _why_not(hints, circles), tuple(evidence))


def refuting(place: Place, circles: Iterable[Circle]) -> Circle | None:
    """The vantage point from which this place is too far, if there is one."""
    return next((one for one in circles if one.excludes(place.position, _SLACK_KM)), None)


def _hint_evidence(hints: Sequence[Hint], circles: Sequence[Circle]) -> list[Evidence]:
    found: dict[tuple[str, str], Evidence] = {}
    for hint in hints:
        against = [refuting(place, circles) for place in hint.candidates]
        refuted = bool(against) and all(against)
        text = hint.text
        if refuted and against[0] is not None:
            text += f"; refuted: {_too_far(hint.candidates[0], against[0])}"
        found.setdefault((hint.kind, text), Evidence(hint.kind, text, refuted))
    return list(found.values())


def _too_far(place: Place, circle: Circle) -> str:
    away_km = distance_km(circle.centre, place.position)
    return (
        f"{away_km:,.0f} km from {circle.vantage}, and {seconds(circle.rtt_s)} there and back is enough for"
        f" {circle.farthest_km:,.0f} km at most"
    )


def _circle_evidence(circles: Sequence[Circle], overlap: Meeting | None) -> Iterable[Evidence]:
    for one in sorted(circles, key=lambda circle: circle.farthest_km):
        yield Evidence(
            DISTANCE, f"at most {one.farthest_km:,.0f} km from {one.vantage} ({seconds(one.rtt_s)}, light in fibre)"
        )
        if one.calibrated_km is not None:
            yield Evidence(CALIBRATED, f"likely within {one.calibrated_km:,.0f} km of {one.vantage} (its landmarks)")
    if overlap is not None and len(circles) > 1:
        where = f"{overlap.centre.lat:.1f}, {overlap.centre.lon:.1f}"
        yield Evidence(OVERLAP, f"all circles meet within {overlap.radius_km:,.0f} km of {where}")


def _candidates(hints: Sequence[Hint], circles: Sequence[Circle]) -> list[_Candidate]:
    """Places that no round trip excludes; those within `NEAR_KM` of one another are one."""
    found: list[_Candidate] = []
    for hint in sorted(hints, key=lambda one: -_WEIGHTS.get(one.kind, 1.0)):
        standing = [place for place in hint.candidates if refuting(place, circles) is None]
        for place in standing:
            _support(_near(found, place), hint, len(standing))
    for one in found:
        one.plausibility = math.prod(_plausibility(one.place, circle) for circle in circles)
    return found


def _near(found: list[_Candidate], place: Place) -> _Candidate:
    for one in found:
        if distance_km(one.place.position, place.position) <= NEAR_KM:
            return one
    found.append(_Candidate(place))
    return found[-1]


def _support(candidate: _Candidate, hint: Hint, meanings: int) -> None:
    """Each source counts once for a place; a name that means several places counts for each in part."""
    if (hint.kind, hint.source) in candidate.sources:
        return
    if hint.kind == SAME_SITE:
        candidate.same_site += 1
        if candidate.same_site > _MOST_OF_SAME_SITE:
            return
    candidate.sources.add((hint.kind, hint.source))
    candidate.weight += _WEIGHTS.get(hint.kind, 1.0) / meanings


def _plausibility(place: Place, circle: Circle) -> float:
    """1 where the round trip is as long as such a distance takes; less the longer it is, and beyond the calibrated."""
    away_km = distance_km(circle.centre, place.position)
    usual_s = _USUAL_STRETCH * least_rtt_s(away_km) + _USUAL_EXTRA_S
    # Squared: of two names that contradict each other, the one that fits the round trip wins.
    factor = min(1.0, usual_s / circle.rtt_s) ** 2 if circle.rtt_s > 0 else 1.0
    if circle.calibrated_km is not None and away_km > circle.calibrated_km + NEAR_KM:
        factor *= _OUTSIDE_CALIBRATED
    return factor


def _located(
    best: _Candidate, candidates: Sequence[_Candidate], circles: Sequence[Circle], overlap: Meeting | None
) -> Location:
    share = best.score / sum(one.score for one in candidates)
    confidence = share * (1 - math.exp(-best.weight / _STRONG_WEIGHT))
    if not circles:
        confidence *= _WITHOUT_DISTANCE
    radius_km = NEAR_KM if overlap is None else min(NEAR_KM, max(overlap.radius_km, 1.0))
    return _location(best.place, radius_km, confidence)


def _by_distance(overlap: Meeting, evidence: list[Evidence]) -> Verdict:
    """No name helps, but the circles leave next to no room: the largest city in it, as good as that is."""
    city = largest_city(overlap.centre, max(overlap.radius_km, NEAR_KM))
    if city is None:
        return Verdict(None, "no name that holds, and no city where the circles meet", tuple(evidence))
    radius_km = overlap.radius_km + distance_km(overlap.centre, city.position)
    return Verdict(_location(with_airport(city), radius_km, _BY_DISTANCE_ALONE), None, tuple(evidence), DISTANCE)


def _location(place: Place, radius_km: float, confidence: float) -> Location:
    return Location(
        place.city,
        place.iata,
        place.position.lat,
        place.position.lon,
        radius_km,
        round(min(1.0, confidence), 3),
        place.country,
    )


def _torn(candidates: list[_Candidate]) -> str:
    ranked = sorted(candidates, key=lambda one: -one.score)
    cities = " or ".join(dict.fromkeys(one.place.city for one in ranked[:3]))
    return f"what names say is contradictory, or does not fit the round trips: {cities}"


def _why_not(hints: Sequence[Hint], circles: Sequence[Circle]) -> str:
    refuted = "a round trip refutes every name that says where it is"
    what = refuted if hints else "no name says where it is"
    return f"{what}, and " + ("the distance circles leave too much room" if circles else "no distance is known")
