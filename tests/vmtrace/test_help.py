"""The formatter of help: texts as they are written, examples with their lines."""

import argparse

import pytest

from vmtrace.command_line import dress


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> argparse.ArgumentParser:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")
    made = argparse.ArgumentParser(prog="all", description="Does [all] of it.", epilog="examples:\n  all x\n  all y")
    made.add_argument("--level", choices=["low", "high"], default="low", help="how (default: %(default)s)")
    made.add_argument("--set", metavar="[forward.]NAME", help="[bold]one[/bold], 100%%")
    made.add_argument("--secret", help=argparse.SUPPRESS)
    below = made.add_subparsers(metavar="COMMAND")
    below.add_parser("run", help="run it", description="Run [it].")
    dress(made)
    return made


def test_brackets_and_percent_signs_are_no_markup(parser: argparse.ArgumentParser) -> None:
    text = parser.format_help()
    for words in ("Does [all] of it.", "how (default: low)", "[forward.]NAME", "[bold]one[/bold], 100%"):
        assert words in text
    assert "--secret" not in text


def test_examples_keep_their_lines(parser: argparse.ArgumentParser) -> None:
    assert {"  all x", "  all y"} <= set(parser.format_help().splitlines())


def test_subcommands_have_the_same_look(parser: argparse.ArgumentParser) -> None:
    formatters = {type(one._get_formatter()) for one in _all(parser)}
    assert len(formatters) == 1
    assert next(iter(formatters)).__module__ == "vmtrace.help"


def _all(parser: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    from vmtrace.command_line import every_parser

    found = list(every_parser(parser))
    assert len(found) == 2
    return found
