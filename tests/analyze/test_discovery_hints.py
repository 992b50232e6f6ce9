"""Places in names of hosts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.reports.discovery.gazetteer import airport, cities, largest_city, plain, with_airport
from vmtrace.analyze.reports.discovery.geography import Position
from vmtrace.analyze.reports.discovery.hints import REVERSE_NAME, ROUTER_NAME, hints_of, region_hint


@pytest.mark.parametrize(
    ("name", "token", "city"),
    [
        ("server-52-85-1-1.fra2.r.cloudfront.net", "fra", "Frankfurt am Main"),
        ("lhr25s10-in-f14.1e100.net", "lhr", "London"),
        ("ae0.edge1.frankfurt1.level3.net", "frankfurt", "Frankfurt am Main"),
        ("xe-1-2.cr0-zrh1.ip4.gtt.net", "zrh", "Zürich"),
        ("ae3.edge1.saopaulo.backbone.example.net", "saopaulo", "São Paulo"),
        ("core2.nyc4.example.net", "nyc", "New York City"),
        ("s3-1.DUB2.example.org", "dub", "Dublin"),
    ],
)
def test_codes_and_cities_are_found(name: str, token: str, city: str) -> None:
    (hint,) = hints_of(name, REVERSE_NAME)
    assert hint.token == token
    assert plain(city).startswith(plain(hint.candidates[0].city)[:6])


@pytest.mark.parametrize(
    "name",
    [
        "s3-1-w.amazonaws.com",
        "ec2-1-2-3-4.eu-west-1.compute.amazonaws.com",
        "dub.example",  # the domain says whose it is, not where
        "www.cdn.net.example.org",
        "ae-5.r24.bb.example.net",
        "global.edge.core.example.net",
        "dubious.example.org",
        "localhost",
        "",
    ],
)
def test_names_without_a_place_give_nothing(name: str) -> None:
    assert hints_of(name, ROUTER_NAME) == []


def test_a_name_that_means_several_places_has_them_all() -> None:
    (hint,) = hints_of("ae1.birmingham2.example.net", ROUTER_NAME)
    assert {one.country for one in hint.candidates} >= {"GB", "US"}


@given(st.text(max_size=80))
def test_any_name_gives_hints_or_none(name: str) -> None:
    for hint in hints_of(name, REVERSE_NAME):
        assert hint.candidates
        assert hint.text


def test_what_the_provider_says_of_a_region() -> None:
    hint = region_hint("Europe (Ireland)", "Dublin", "IE", "DUB")
    assert hint is not None
    assert (hint.candidates[0].city, hint.candidates[0].iata) == ("Dublin", "DUB")
    assert region_hint("US West (Oregon)", None, "US", None) is None
    assert region_hint(None, "Nowhereville", "US", None) is None
    by_code = region_hint("x", None, None, "SIN")
    assert by_code is not None
    assert by_code.candidates[0].country == "SG"


def test_airports_and_cities_are_spelled_alike() -> None:
    found = airport("GRU")
    assert found is not None
    assert found.city == cities("saopaulo")[0].city
    assert airport("???") is None
    lon = airport("LON")
    assert lon is not None
    assert lon.iata == "LHR"


def test_the_largest_city_of_a_circle() -> None:
    paris = Position(48.86, 2.35)
    found = largest_city(paris, 100)
    assert found is not None
    assert found.city == "Paris"
    assert with_airport(found).iata is not None
    assert largest_city(Position(-48.0, -123.0), 500) is None
