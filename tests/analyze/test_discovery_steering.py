"""Whether answers depend on where the resolver is."""

import random

from vmtrace.analyze.reports.discovery.steering import steering

COUNTRIES = ("CH", "US", "JP", "BR")


def resolvers(each: int = 4) -> dict[str, str | None]:
    return {f"{country}{number}": country for country in COUNTRIES for number in range(each)}


def test_the_same_everywhere_does_not_depend() -> None:
    found = steering(dict.fromkeys(resolvers(), frozenset({"a", "b"})), resolvers())
    assert (found.depends, found.p_value) == (False, None)


def test_an_address_for_each_country_depends() -> None:
    found = steering({label: frozenset({str(country)}) for label, country in resolvers().items()}, resolvers())
    assert found.depends is True
    assert found.p_value is not None
    assert found.p_value < 0.01


def test_a_part_of_a_pool_in_turn_does_not_depend() -> None:
    dice = random.Random(3)
    pool = [f"a{number}" for number in range(10)]
    found = steering({label: frozenset(dice.sample(pool, 3)) for label in resolvers()}, resolvers())
    assert found.depends is False
    assert found.p_value is not None
    assert found.p_value > 0.01


def test_without_countries_or_with_few_resolvers_it_is_unclear() -> None:
    labels = resolvers()
    given = {label: frozenset({label}) for label in labels}
    assert steering(given, dict.fromkeys(labels)).depends is None
    assert steering({"CH0": frozenset({"a"}), "US0": frozenset({"b"})}, labels).depends is None
    assert steering({}, {}).depends is None
    assert steering({"CH0": frozenset()}, labels).depends is None


def test_thousands_of_resolvers_are_judged_by_some() -> None:
    many = {f"r{number}": COUNTRIES[number % 4] for number in range(2000)}
    found = steering({label: frozenset({country}) for label, country in many.items()}, dict(many))
    assert found.depends is True
