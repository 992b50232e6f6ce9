from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace.sender.wire.names import RECEIVER, SENDER, path_of, what_is
from vmtrace.sender.wire.records import FILE_KINDS, PARTS

PIECES = st.sampled_from(
    [
        "packets",
        "tcpinfo",
        "host",
        "receiver",
        "sender",
        "..",
        "/",
        "receiver.csv",
        "receiver-2.csv",
        "0001-data.pcap",
        "00001-data.pcap",
        "٠٠٠١-data.pcap",  # noqa: RUF001
    ]
)


@given(
    st.sampled_from(FILE_KINDS),
    st.integers(1, 999_999_999),
    st.sampled_from(PARTS),
    st.sampled_from([SENDER, RECEIVER]),
)
def test_a_name_says_what_it_is(kind: str, sequence: int, part: str, side: str) -> None:
    path = path_of(kind, sequence, part, side)
    what = what_is(path, side)
    assert what is not None
    assert path_of(*what, side) == path
    assert what_is(path, SENDER if side == RECEIVER else RECEIVER) is None


@given(
    st.lists(PIECES | st.text(min_size=1, max_size=20).filter(lambda text: "\0" not in text), min_size=1, max_size=4)
)
def test_any_path_is_a_known_file_under_its_own_name_or_none(pieces: list[str]) -> None:
    path = Path(*pieces)
    what = what_is(path, RECEIVER)
    assert what is None or path_of(*what, RECEIVER) == path


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("host/receiver.csv", ("host", 0, "")),
        ("host/receiver-2.csv", ("host", 2, "")),
        ("host/receiver.facts.json", ("facts", 0, "")),
        ("receiver.jsonl", ("transfers", 0, "")),
    ],
)
def test_files_of_the_whole_side_have_their_names(path: str, what: tuple[str, int, str]) -> None:
    assert what_is(Path(path), RECEIVER) == what
    assert path_of(*what, RECEIVER) == Path(path)


@pytest.mark.parametrize(
    ("kind", "sequence", "part"),
    [
        ("packets", 0, "data"),
        ("packets", -1, "data"),
        ("packets", 10**9, "data"),
        ("packets", 1, "../x"),
        ("packets", 1, ""),
        ("../x", 1, "data"),
        ("", 0, ""),
    ],
)
def test_what_is_no_file_of_a_run_has_no_path(kind: str, sequence: int, part: str) -> None:
    with pytest.raises(ValueError, match="pair|kind"):  # noqa: RUF043
        path_of(kind, sequence, part, RECEIVER)


@pytest.mark.parametrize(
    "name",
    [
        "packets/receiver/0000-data.pcap",
        "packets/receiver/00001-data.pcap",
        "host/receiver-1.csv",
        "host/receiver-٢.csv",
        "receiver.json",
        "packets/0001-data.pcap",
    ],
)
def test_names_that_are_almost_right_are_none(name: str) -> None:
    assert what_is(Path(name), RECEIVER) is None
