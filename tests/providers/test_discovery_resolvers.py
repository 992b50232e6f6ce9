"""Lists of resolvers and of landmarks, as people write them."""

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.providers.discovery.order import Landmark, read_landmarks
from vmtrace.providers.discovery.resolvers import Position, Resolver, own_resolvers, parse_position, read_resolvers
from vmtrace.providers.errors import UsageError


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("192.0.2.1", Resolver("192.0.2.1")),
        ("192.0.2.1#5353", Resolver("192.0.2.1", 5353)),
        ("2001:db8::1#53 ch AS559 46.52,6.57", Resolver("2001:db8::1", 53, "CH", "AS559", Position(46.52, 6.57))),
        ("192.0.2.1 - SWITCH net -33.9,-18", Resolver("192.0.2.1", 53, None, "SWITCH net", Position(-33.9, -18.0))),
    ],
)
def test_a_line_is_an_address_and_what_is_known_of_it(line: str, expected: Resolver, tmp_path: Path) -> None:
    path = tmp_path / "resolvers"
    path.write_text(f"# a comment\n\n{line}\n{line}\n")
    assert read_resolvers(path) == [expected]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("example.org", "not an IP address"),
        ("192.0.2.1#0", "a number from 1 to 65535"),
        ("192.0.2.1#dns", "a number from 1 to 65535"),
        ("192.0.2.1 CH 91,0", "out of range"),
        ("192.0.2.1 CH 1,-181", "out of range"),
    ],
)
def test_a_wrong_line_is_named(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "resolvers"
    path.write_text(f"192.0.2.9\n{line}\n")
    with pytest.raises(UsageError, match=reason) as raised:
        read_resolvers(path)
    assert f"{path}:2: " in str(raised.value)


def test_an_empty_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "resolvers"
    path.write_text("# nobody\n")
    with pytest.raises(UsageError, match="no resolver in it"):
        read_resolvers(path)


@given(st.binary(max_size=300))
def test_any_bytes_are_resolvers_or_one_line_of_refusal(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resolvers"
        path.write_bytes(content)
        with suppress(UsageError):
            assert all(1 <= one.port <= 65535 for one in read_resolvers(path))


def test_this_host_has_resolvers_or_says_what_to_do() -> None:
    with suppress(UsageError):
        assert all(one.port == 53 for one in own_resolvers())


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_a_position_is_read_as_written(lat: float, lon: float) -> None:
    assert parse_position(f"{lat!r},{lon!r}") == Position(lat, lon)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "nan,0", "inf,0", "90.1,0", "0,180.1", "a,b"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"position is LAT,LON|out of range"):
        parse_position(text)


def test_landmarks_have_an_address_a_place_and_maybe_a_name(tmp_path: Path) -> None:
    path = tmp_path / "landmarks"
    path.write_text("192.0.2.1 48.86,2.35 Paris, an anchor\n# no\n2001:db8::1 -1,2\n")
    assert read_landmarks(path) == (
        Landmark("192.0.2.1", Position(48.86, 2.35), "Paris, an anchor"),
        Landmark("2001:db8::1", Position(-1.0, 2.0)),
    )


@pytest.mark.parametrize(("line", "reason"), [("192.0.2.1", "its position"), ("x 1,2", "IP address"), ("::1 1", "LAT")])
def test_a_wrong_landmark_is_named(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "landmarks"
    path.write_text(line)
    with pytest.raises(UsageError, match=reason):
        read_landmarks(path)
