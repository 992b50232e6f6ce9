"""The short way through the command line: where it is taken, typer would have understood the same."""

import random
from collections.abc import Sequence
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vmtrace import parser
from vmtrace.commands import analysis
from vmtrace.commands.plain import parse
from vmtrace.commands.request import Request

VALUES = st.one_of(st.just("-"), st.just("st\udcff.pcap"), st.text().filter(lambda text: not text.startswith("-")))
OPTIONS = st.one_of(
    st.tuples(st.sampled_from(["--json", "--filter", "--fail-if"]), VALUES),
    st.tuples(st.sampled_from(["--anonymize", "--quiet", "-q", "--no-color", "--debug"])),
)
WORDS = st.sampled_from(
    ["x.pcap", "-", "--", "", "--json", "--filter", "-q", "--quiet", "--debug", "-qq", "--json=out", "--jso", "--limit",
     "5", "--by", "provider", "--merge", "--csv"]
)  # fmt: skip


def understood_by_typer(arguments: Sequence[str]) -> Request | None:
    """What reaches the analysis through the whole parser; None if nothing does."""
    with mock.patch.object(analysis, "run", return_value=0) as run:
        parser.run(list(arguments))
    request: Request | None = run.call_args.args[0] if run.called else None
    return request


@given(
    st.lists(VALUES, min_size=1, max_size=3),
    st.lists(OPTIONS, max_size=5, unique_by=lambda option: option[0].replace("--quiet", "-q")),
    st.randoms(use_true_random=False),
)
def test_a_plain_line_is_read_and_means_what_typer_makes_of_it(
    names: list[str], options: list[tuple[str, ...]], order: random.Random
) -> None:
    pieces: list[tuple[str, ...]] = [*((name,) for name in names), *options]
    order.shuffle(pieces)
    arguments = ["analyze", *(word for piece in pieces for word in piece)]
    request = parse(arguments)
    assert request is not None
    assert request == understood_by_typer(arguments)


@given(st.lists(WORDS, max_size=6))
def test_of_any_words_nothing_is_read_that_typer_reads_otherwise(words: list[str]) -> None:
    request = parse(["analyze", *words])
    if request is not None:
        assert request == understood_by_typer(["analyze", *words])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--version",
        "--help",
        "analyze",
        "analyze -q",
        "analyze --help",
        "analyze x --help",
        "analyze x --json",
        "analyze x --json --quiet",
        "analyze x --json=out",
        "analyze x --json a --json b",
        "analyze x -q --quiet",
        "analyze x --jso out",
        "analyze x --nope",
        "analyze x --threads 2",
        "analyze -- x",
        "analyse x",
    ],
)
def test_everything_else_is_left_to_typer(line: str) -> None:
    assert parse(line.split()) is None
