"""What replies add up to, and which resolvers lie."""

import pytest

from vmtrace.providers.discovery.front_ends import FrontEnds, liars
from vmtrace.providers.discovery.question import Question, Reply, Status
from vmtrace.providers.discovery.resolvers import Resolver

NAME = "s3.example.org"


def reply(resolver: str, *addresses: str, time_ns: int = 0, name: str = NAME) -> Reply:
    return Reply(Question(name, "A"), Resolver(resolver), time_ns, Status.ANSWERED, addresses)


def seen(*replies: Reply) -> FrontEnds:
    found = FrontEnds()
    for one in replies:
        found.add(one)
    return found


def test_an_address_has_its_times_its_count_and_its_resolvers() -> None:
    found = seen(reply("r1", "a", time_ns=20), reply("r2", "a", "b", time_ns=10), reply("r1", "a", time_ns=30))
    first, second = found.all()
    assert (first.address, first.first_seen_ns, first.last_seen_ns, first.count) == ("a", 10, 30, 3)
    assert first.resolvers == {"r1", "r2"}
    assert (second.address, second.count, second.resolvers) == ("b", 1, {"r2"})


def test_no_more_addresses_are_kept_than_allowed() -> None:
    found = FrontEnds(most=2)
    found.add(reply("r1", "a", "b", "c", "d"))
    assert (len(found), found.left_out) == (2, 2)


def test_addresses_of_one_resolver_are_rare_and_of_one_resolver_alone_unknown() -> None:
    found = seen(reply("r1", "a"), reply("r2", "a"), reply("r3", "x"))
    assert found.rare() == {"r3": {NAME: ["x"]}}
    assert seen(reply("r1", "x")).rare() == {}


def test_one_of_ten_is_still_rare_and_two_of_ten_are_not() -> None:
    honest = [reply(f"r{number}", "a") for number in range(8)]
    assert seen(*honest, reply("r8", "x"), reply("r9", "y")).rare() == {"r8": {NAME: ["x"]}, "r9": {NAME: ["y"]}}
    assert seen(*honest, reply("r8", "x"), reply("r9", "x")).rare() == {}


@pytest.mark.parametrize(
    ("speaking", "believed", "caught"),
    [
        ({}, True, {"r3": [(NAME, "x"), (NAME, "y")]}),
        ({(NAME, "y"): True}, True, {}),  # it steers its users to a front end that others do not see
        ({}, False, {}),  # the service speaks no TLS anywhere: nobody can be caught
    ],
)
def test_a_liar_gives_addresses_that_do_not_speak_tls(
    speaking: dict[tuple[str, str], bool], believed: bool, caught: dict[str, list[tuple[str, str]]]
) -> None:
    found = seen(reply("r1", "a"), reply("r2", "a"), reply("r3", "x", "y"))
    assert liars(found.rare(), lambda _pairs: speaking, lambda _name: believed) == caught


def test_of_a_thousand_rare_addresses_a_few_are_tried() -> None:
    found = seen(reply("r1", "a"), reply("r2", "a"), reply("r3", *(f"x{number}" for number in range(1000))))
    tried: list[tuple[str, str]] = []

    def speaks(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], bool]:
        tried.extend(pairs)
        return {}

    caught = liars(found.rare(), speaks, lambda _name: True)
    assert len(tried) < 10
    assert len(caught["r3"]) == 1000


def test_what_a_liar_alone_gave_is_not_believed() -> None:
    found = seen(reply("r1", "a"), reply("r2", "a", "x"), reply("r3", "x", "y"))
    assert found.seen_by_others(NAME, "x", ["r3"])
    assert not found.seen_by_others(NAME, "y", ["r3"])
    assert not found.seen_by_others(NAME, "never", [])
