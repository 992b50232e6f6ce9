"""What a user names: host names, the providers' lists, lists of the user's own."""

from pathlib import Path

import airportsdata
import pytest

from vmtrace.providers.discovery.names import BUILT_IN, Target, host_name, read_lists, targets
from vmtrace.providers.errors import UsageError

OWN = """
[mine]
name = "store.{region}.example.org"
[mine.regions]
north = "Northern store"
south = { label = "Southern store", city = "Nice", country = "FR", iata = "NCE", name = "south.example.org" }
"""


def test_the_built_in_lists_have_names_with_their_regions() -> None:
    found = {one.region: one for one in targets(["aws-s3"])}
    assert found["eu-west-1"] == Target(
        "s3.eu-west-1.amazonaws.com", "aws-s3", "eu-west-1", "Europe (Ireland)", "Dublin", "IE", "DUB"
    )
    assert {"aws-s3", "aws-glacier", "azure", "swift"} <= read_lists(BUILT_IN).keys()


def test_every_airport_of_the_built_in_lists_is_one_of_its_country() -> None:
    airports = airportsdata.load("IATA")
    wrong = [
        (one.name, one.iata)
        for content in read_lists(BUILT_IN).values()
        for one in content
        if one.iata is not None and airports[one.iata]["country"] != one.country
    ]
    assert wrong == []


def test_a_region_narrows_the_lists_and_not_the_names_given_alone() -> None:
    found = targets(["aws-s3", "Storage.Example.org."], regions=["sa-east-1"])
    assert [one.name for one in found] == ["s3.sa-east-1.amazonaws.com", "storage.example.org"]


def test_a_name_of_a_list_given_alone_keeps_its_region() -> None:
    assert targets(["s3.eu-west-1.amazonaws.com"])[0].region == "eu-west-1"


def test_a_list_of_the_users_own_stands_beside_the_built_in(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    north, south = targets(["mine"], path)
    assert (north.name, north.label, north.city) == ("store.north.example.org", "Northern store", None)
    assert (south.name, south.city, south.iata) == ("south.example.org", "Nice", "NCE")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("mine = 3", "no table"),
        ("[mine]\nname = 'a.{region}.b.org'", "a table of regions"),
        ("[mine]\nname = 'a.b.org'\n[mine.regions]\nx = 3", "expected a label"),
        ("[mine]\nname = 'a.b.org'\n[mine.regions]\nx = { labell = 'X' }", "did you mean label"),
        ("[mine]\nname = 'a b.org'\n[mine.regions]\nx = 'X'", "not a host name"),
        ("[mine", "Expected"),
    ],
)
def test_a_wrong_list_is_refused_with_its_place(content: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(content)
    with pytest.raises(UsageError, match=reason) as raised:
        targets(["mine"], path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize(
    ("word", "reason"), [("nolist", "the lists are"), ("a..b", "not a host name"), ("1.2.3.4", "no")]
)
def test_what_is_neither_name_nor_list_is_refused(word: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        targets([word])


def test_an_unknown_region_is_refused() -> None:
    with pytest.raises(UsageError, match="not in the lists named"):
        targets(["aws-s3"], regions=["mars-1"])


def test_names_beyond_ascii_are_asked_as_idna() -> None:
    assert host_name("Bücher.example") == "xn--bcher-kva.example"
