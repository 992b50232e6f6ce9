"""Hints against circles: refuted, ranked, or not located."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.discovery.gazetteer import airport
from vmtrace.analyze.reports.discovery.geography import Circle, Position, distance_km, farthest_km, least_rtt_s
from vmtrace.analyze.reports.discovery.hints import REGION, REVERSE_NAME, ROUTER_NAME, SAME_SITE, Hint
from vmtrace.analyze.reports.discovery.locating import DISTANCE, locate

VANTAGES = {
    "lausanne": Position(46.52, 6.57),
    "new-york": Position(40.71, -74.01),
    "hong-kong": Position(22.28, 114.17),
}


def hint(kind: str, code: str, source: str = "a.name") -> Hint:
    place = airport(code)
    assert place is not None
    return Hint(kind, source, code.lower(), (place,))


def circles_of(code: str, detour: float = 1.2) -> list[Circle]:
    """Round trips from every vantage point to an airport."""
    place = airport(code)
    assert place is not None
    rtts = {name: detour * least_rtt_s(distance_km(at, place.position)) for name, at in VANTAGES.items()}
    return [Circle(name, VANTAGES[name], rtt_s, farthest_km(rtt_s)) for name, rtt_s in rtts.items()]


def test_a_true_hint_is_the_place() -> None:
    found = locate([hint(REVERSE_NAME, "DUB")], circles_of("DUB"))
    assert found.location is not None
    assert (found.location.city, found.location.iata, found.location.radius_km) == ("Dublin", "DUB", 100.0)
    assert 0.5 < found.location.confidence <= 1
    assert not any(one.refuted for one in found.evidence)


def test_a_lying_hint_is_refuted_with_the_distance() -> None:
    found = locate([hint(REVERSE_NAME, "SYD"), hint(REGION, "DUB", "region")], circles_of("DUB"))
    (refuted,) = [one for one in found.evidence if one.refuted]
    assert "'syd' in a.name" in refuted.text
    assert "km at most" in refuted.text
    assert found.location is not None
    assert found.location.iata == "DUB"


def test_a_lie_that_physics_allows_is_outvoted() -> None:
    hints = [
        hint(REVERSE_NAME, "LHR"),  # possible from everywhere: London is nearer than Dublin
        hint(REGION, "DUB", "region"),
        hint(ROUTER_NAME, "DUB", "router"),
    ]
    found = locate(hints, circles_of("DUB"))
    assert found.location is not None
    assert found.location.iata == "DUB"
    assert found.location.confidence < 0.9


def test_round_trips_that_are_long_for_a_place_count_against_it() -> None:
    # Both are allowed and said by one name each: the nearer one would have far shorter round trips.
    hints = [hint(REVERSE_NAME, "GVA", "first"), hint(REVERSE_NAME, "MAD", "second")]
    found = locate(hints, circles_of("MAD", 1.1)[:1])
    assert found.location is not None
    assert found.location.iata == "MAD"


def test_outside_the_calibrated_circle_is_unlikely_and_not_impossible() -> None:
    (near, *_) = circles_of("MAD", 1.5)
    calibrated = Circle(near.vantage, near.centre, near.rtt_s, near.farthest_km, calibrated_km=300.0)
    assert locate([hint(REVERSE_NAME, "MAD")], [calibrated]).location is not None
    both = [hint(REVERSE_NAME, "MAD"), hint(REVERSE_NAME, "GVA", "second")]
    certain, less = (locate(both, [one]).location for one in (near, calibrated))
    assert certain is not None
    assert less is not None
    assert certain.iata == "MAD"


def test_many_names_behind_the_same_router_count_as_some() -> None:
    hints = [hint(REVERSE_NAME, "LHR")] + [hint(SAME_SITE, "DUB", f"n{number}") for number in range(9)]
    found = locate(hints, circles_of("DUB"))
    assert found.location is not None
    assert found.location.iata == "DUB"


def test_without_any_hint_wide_circles_locate_nothing() -> None:
    found = locate([], circles_of("DUB"))
    assert found.location is None
    assert found.reason == "no name says where it is, and the distance circles leave too much room"


def test_without_any_hint_a_small_circle_is_a_place() -> None:
    paris = Position(48.86, 2.35)
    found = locate([], [Circle("paris", paris, 0.0005, farthest_km(0.0005))])
    assert found.location is not None
    assert found.location.city == "Paris"
    assert found.location.radius_km <= 60
    assert found.location.confidence <= 0.5


def test_when_every_hint_is_refuted_nothing_is_guessed() -> None:
    found = locate([hint(REVERSE_NAME, "SYD")], circles_of("DUB"))
    assert found.location is None
    assert found.reason is not None
    assert "refutes every name" in found.reason


def test_circles_that_do_not_meet_are_several_hosts() -> None:
    near = [Circle(name, at, 0.002, farthest_km(0.002)) for name, at in VANTAGES.items()]
    found = locate([hint(REVERSE_NAME, "DUB")], near)
    assert found.location is None
    assert found.reason is not None
    assert "anycast" in found.reason


def test_names_alone_are_a_place_with_little_confidence() -> None:
    found = locate([hint(REVERSE_NAME, "DUB")], [])
    assert found.location is not None
    assert found.location.confidence <= 0.5
    assert locate([], []).reason == "no name says where it is, and no distance is known"


def test_the_strongest_hint_to_a_place_is_what_named_it() -> None:
    circles = circles_of("DUB")
    hints = [hint(ROUTER_NAME, "DUB", "router"), hint(SAME_SITE, "DUB", "neighbour"), hint(REVERSE_NAME, "SYD")]
    assert locate(hints, circles).named_by == ROUTER_NAME, "the reverse name is refuted"
    assert locate(hints[1:], circles).named_by == SAME_SITE
    near = Circle("paris", Position(48.86, 2.35), 0.0005, farthest_km(0.0005))
    assert locate([], [near]).named_by == DISTANCE
    assert locate([], circles).named_by is None


@given(
    st.sampled_from(["DUB", "FRA", "SIN", "GRU", "IAD", "NRT"]),
    st.lists(st.sampled_from(["DUB", "FRA", "SIN", "GRU", "IAD", "NRT", "SYD", "LHR"]), max_size=5),
    st.floats(1.01, 2.5),
)
def test_a_true_hint_is_never_refuted_and_a_location_never_impossible(
    truth: str, claims: list[str], detour: float
) -> None:
    circles = circles_of(truth, detour)
    hints = [hint(REVERSE_NAME, truth, "true"), *(hint(ROUTER_NAME, code, f"r{code}") for code in claims)]
    found = locate(hints, circles)
    assert not any(one.refuted for one in found.evidence if "true" in one.text.split(" in ")[-1])
    assert found.location is not None
    at = Position(found.location.lat, found.location.lon)
    assert all(distance_km(one.centre, at) <= one.farthest_km + 50 for one in circles)
    assert 0 < found.location.confidence <= 1


def test_steps_of_confidence_follow_the_hints() -> None:
    one, two, three = (
        locate(hints, circles_of("DUB")).location
        for hints in (
            [hint(REGION, "DUB", "region")],
            [hint(REGION, "DUB", "region"), hint(ROUTER_NAME, "DUB", "router")],
            [hint(REGION, "DUB", "region"), hint(ROUTER_NAME, "DUB", "router"), hint(REVERSE_NAME, "DUB")],
        )
    )
    assert one is not None
    assert two is not None
    assert three is not None
    assert one.confidence < two.confidence < three.confidence
    assert three.confidence == pytest.approx(0.95, abs=0.05)
