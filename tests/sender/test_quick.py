"""Plans out of iperf3's options: what each means, and what does not go together."""

from __future__ import annotations

import argparse
import re

import pytest

from vmtrace.sender import quick
from vmtrace.sender.command import build_parser
from vmtrace.sender.errors import UsageError
from vmtrace.sender.plan import Plan
from vmtrace.sender.plan_record import plan_from_record, plan_record


def given(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["host", *words])


def plan(*words: str) -> Plan:
    arguments = given(*words)
    assert quick.is_wanted(arguments)
    made = quick.plan_of(arguments)
    assert plan_from_record(plan_record(made)) == made
    return made


def test_time_streams_and_direction_are_those_of_iperf3() -> None:
    made = plan("-t", "30", "-P", "4", "-R")
    (entry,) = made.entries
    assert (made.duration_s, made.repeat, made.fill) == (30.0, None, True)
    assert (entry.data.streams, entry.data.direction, entry.probe.direction) == (4, "download", "download")
    assert entry.data.bytes == 4 * 256 * 1024


@pytest.mark.parametrize("words", [["-P", "2"], ["-R"], ["--bidir"], ["-C", "cubic"]])
def test_without_a_length_it_is_ten_seconds(words: list[str]) -> None:
    assert plan(*words).duration_s == 10.0


def test_a_size_is_moved_once() -> None:
    made = plan("-n", "1 GB", "--bidir", "-C", "bbr")
    (entry,) = made.entries
    assert (made.repeat, made.duration_s, made.fill) == (1, None, False)
    assert (entry.data.bytes, entry.data.direction) == (10**9, "both")
    assert entry.data.options.congestion_control == entry.probe.options.congestion_control == "bbr"


def test_a_stream_has_a_byte_at_least() -> None:
    assert plan("-n", "1", "-P", "8").entries[0].data.bytes == 8


def test_without_these_options_a_plan_is_wanted() -> None:
    assert not quick.is_wanted(given("--plan", "lee2011"))


@pytest.mark.parametrize("other", [["--plan", "lee2011"], ["--repeat", "2"], ["--for", "1h"], ["--scale", "2"]])
def test_it_does_not_go_with_a_plan(other: list[str]) -> None:
    with pytest.raises(UsageError, match=f"-t makes its own plan: it cannot be combined with {other[0]}"):
        quick.is_wanted(given("-t", "10", *other))


@pytest.mark.parametrize(
    "words",
    [["-t", "0"], ["-t", "x"], ["-n", "0"], ["-n", "x"], ["-P", "0"], ["-t", "1", "-n", "1"], ["-R", "--bidir"]],
)
def test_what_makes_no_plan_is_wrong_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        given(*words)


def test_the_folder_is_named_by_the_time() -> None:
    assert re.fullmatch(r"vmtrace-\d{8}-\d{6}", str(quick.new_folder()))
