"""Runs stand apart, or are joined; what was split twice is refused."""

from typing import Any

import pytest

from vmtrace.corpus.errors import CorpusError
from vmtrace.corpus.joining import checked, current, runs_to_join
from vmtrace.corpus.splitting import Manifest


def manifest(name: str, start_ns: int | None, end_ns: int | None, **more: Any) -> Manifest:
    header = {
        "start_ns": start_ns,
        "end_ns": end_ns,
        "packets": 10,
        "capture": {"packets_without_time": more.pop("timeless", 0)},
    }
    names = more.pop("names", (name,))
    values: dict[str, Any] = {
        "key": name,
        "buckets": 4,
        "packets": 10,
        "fragments": 0,
        "open_datagrams": 0,
        "slices": {},
        "lookups": (),
        "problems": (),
    }
    return Manifest(names=names, header=(header,) * len(names), **(values | more))


def joined(*runs: Manifest, lagging: bool = False) -> list[list[str]]:
    return [[one.key for one in some] for some in runs_to_join(runs, lagging=lagging)]


def test_runs_one_behind_the_other_stand_apart() -> None:
    assert joined(manifest("a", 0, 10), manifest("b", 11, 20), manifest("c", 30, 40)) == [["a"], ["b"], ["c"]]


def test_runs_that_overlap_are_joined_with_all_between() -> None:
    assert joined(manifest("a", 0, 35), manifest("b", 11, 20), manifest("c", 30, 40)) == [["a", "b", "c"]]
    assert joined(manifest("a", 0, 12), manifest("b", 11, 20), manifest("c", 30, 40)) == [["a", "b"], ["c"]]


def test_frames_of_one_time_go_by_the_names_of_their_captures() -> None:
    assert joined(manifest("a", 0, 11), manifest("b", 11, 20)) == [["a"], ["b"]]
    assert joined(manifest("b", 0, 11), manifest("a", 11, 20)) == [["b", "a"]]


def test_frames_without_a_time_take_it_from_the_run_before() -> None:
    assert joined(manifest("a", 0, 10), manifest("b", 11, 20, timeless=1)) == [["a", "b"]]
    assert joined(manifest("a", None, None, timeless=10), manifest("b", 11, 20)) == [["a", "b"]]


def test_a_lag_may_reach_across_a_border() -> None:
    runs = manifest("a", 0, 10), manifest("b", 1_000_000_000, 2_000_000_000)
    assert joined(*runs) == [["a"], ["b"]]
    assert joined(*runs, lagging=True) == [["a", "b"]]


def test_many_waiting_datagrams_take_room_from_those_behind() -> None:
    runs = manifest("a", 0, 1, open_datagrams=1000), manifest("b", 2, 3), manifest("c", 4, 5, fragments=9)
    assert joined(*runs) == [["a", "b", "c"]]
    few = manifest("a", 0, 1, open_datagrams=3), manifest("b", 2, 3), manifest("c", 4, 5, fragments=9)
    assert joined(*few) == [["a"], ["b"], ["c"]]


def test_a_larger_run_takes_the_place_of_smaller_ones() -> None:
    both = manifest("ab", 0, 20, names=("a", "b"))
    assert [one.key for one in current([manifest("a", 0, 10), both, manifest("c", 30, 40)])] == ["ab", "c"]


def test_what_cannot_be_analysed_is_refused() -> None:
    with pytest.raises(CorpusError, match="nothing was split here"):
        checked([])
    with pytest.raises(CorpusError, match="have to be split in one command: a b"):
        checked([manifest("a", 0, 12), manifest("b", 11, 20)])
    with pytest.raises(CorpusError, match="different numbers of buckets"):
        checked([manifest("a", 0, 10), manifest("b", 11, 20, buckets=8)])
    with pytest.raises(CorpusError, match="it was split twice"):
        checked([manifest("one", 0, 10, names=("a",)), manifest("two", 11, 20, names=("a",))])
