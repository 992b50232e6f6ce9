"""Files by the shortest names that tell them apart."""

from hypothesis import given
from hypothesis import strategies as st

from vmtrace.analyze.tables.human_table import short_names


def test_the_name_is_enough_where_it_is_the_only_one() -> None:
    assert short_names(["/a/x.pcap", "b/y.pcap", "-"]) == ["x.pcap", "y.pcap", "-"]


def test_folders_tell_equal_names_apart() -> None:
    assert short_names(["/a/1/x", "/a/2/x", "/b/y"]) == ["1/x", "2/x", "y"]
    assert short_names(["/a/1/x", "/b/1/x"]) == ["a/1/x", "b/1/x"]


@given(st.lists(st.text(), max_size=6, unique=True))
def test_there_is_a_name_for_each(paths: list[str]) -> None:
    assert len(short_names(paths)) == len(paths)
