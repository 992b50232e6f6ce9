"""How often the place is right, and what confidence is worth: whole worlds drawn by the lab, without packets.

Round trips are those of the world's distances and detours. `WORLDS=30 pytest -s` prints the figures of
docs/discovery.md.
"""

import os
from collections.abc import Iterator

import pytest

from vmtrace.analyze.reports.discovery.calibration import best_line
from vmtrace.analyze.reports.discovery.geography import Circle, Position, farthest_km
from vmtrace.analyze.reports.discovery.hints import REVERSE_NAME, ROUTER_NAME, SAME_SITE, Hint, hints_of, region_hint
from vmtrace.analyze.reports.discovery.locating import Verdict, locate
from vmtrace.lab.world import plan
from vmtrace.lab.world.geography import Place, distance_km
from vmtrace.lab.world.plan import FrontEnd, World

WORLDS = int(os.environ.get("WORLDS", "6"))
NEAR_KM = 150.0
_ACCESS_S = 0.0004


def circles(world: World, place: Place) -> list[Circle]:
    """From every vantage point, calibrated by the world's landmarks."""
    found = []
    for vantage, at in world.vantages.items():
        known = world.landmarks.values()
        line = best_line([(distance_km(at, one), 2 * world.one_way_s(vantage, one) + _ACCESS_S) for one in known])
        rtt_s = 2 * world.one_way_s(vantage, place) + _ACCESS_S
        likely_km = None if line is None else line.farthest_km(rtt_s)
        found.append(Circle(vantage, Position(at.lat, at.lon), rtt_s, farthest_km(rtt_s), likely_km))
    return found


def hints(world: World, one: FrontEnd, with_region: bool) -> Iterator[Hint]:
    """What names say of a front end."""
    yield from hints_of(one.reverse, REVERSE_NAME)
    for router in world.routers[one.site]:
        yield from hints_of(router.name or "", ROUTER_NAME)
    for other in world.front_ends:
        if other.site == one.site and other != one:
            yield from hints_of(other.reverse, SAME_SITE)
    site = world.site(one.site)
    said = region_hint(site.label, site.place.city, site.place.country, site.place.iata)
    if with_region and site.names_city and said is not None:
        yield said


def verdicts(with_region: bool) -> Iterator[tuple[int, Verdict, float | None]]:
    """The world's number, what is said of each front end, and how far that is from the truth in km."""
    for seed in range(1, WORLDS + 1):
        world = plan.draw(seed)
        for one in world.front_ends:
            place = world.site(one.site).place
            found = locate(list(hints(world, one, with_region)), circles(world, place))
            at = found.location
            error_km = None if at is None else distance_km(place, Place("", "", "", at.lat, at.lon))
            yield seed, found, error_km


@pytest.mark.parametrize("with_region", [True, False], ids=["with region names", "without"])
def test_places_are_right_and_confidence_says_how_often(with_region: bool) -> None:
    found = list(verdicts(with_region))
    near: dict[int, list[bool]] = {}
    for seed, _, error in found:
        near.setdefault(seed, []).append(error is not None and error <= NEAR_KM)
    shares = [sum(rights) / len(rights) for rights in near.values()]
    located = [(one.location.confidence, error) for _, one, error in found if one.location and error is not None]
    sure = [error <= NEAR_KM for confidence, error in located if confidence >= 0.7]
    unsure = [error <= NEAR_KM for confidence, error in located if confidence < 0.5]
    wrong = sum(error > NEAR_KM for _, error in located)
    mean = sum(shares) / len(shares)
    print(f"\n{WORLDS} worlds, region names {with_region}: located within {NEAR_KM:.0f} km {mean:.1%}")
    print(f"worst world {min(shares):.1%}; wrong {wrong}, not located {len(found) - len(located)} of {len(found)}")
    print(f"confidence >= 0.7: {sum(sure)} of {len(sure)} right; < 0.5: {sum(unsure)} of {len(unsure)}")
    assert mean >= 0.95
    assert min(shares) >= 0.85
    assert sum(sure) >= 0.99 * len(sure)
    assert len(sure) > len(found) / 2


def test_no_true_name_is_refuted_in_any_world() -> None:
    for seed in range(1, WORLDS + 1):
        world = plan.draw(seed)
        for one in (front_end for front_end in world.front_ends if front_end.reverse_kind == plan.TRUE):
            found = locate(hints_of(one.reverse, REVERSE_NAME), circles(world, world.site(one.site).place))
            assert not any(line.refuted for line in found.evidence)
