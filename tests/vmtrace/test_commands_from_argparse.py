"""Whatever a parser has, typer can tell of."""

import argparse

import typer
from typer.testing import CliRunner

from vmtrace.commands.from_argparse import add_command


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description="Does [all] of it.", epilog="examples:\n  vmtrace all x\n\nMore\nwords.")
    made.add_argument("source", metavar="SOURCE", help="where from")
    made.add_argument("rest", metavar="REST", nargs="*", help="more of them")
    made.add_argument("--level", "-l", choices=["low", "high"], default="low", help="how (default: %(default)s)")
    made.add_argument("--many", action="append", metavar="X", help="several")
    made.add_argument("--maybe", nargs="?", const="", metavar="Y", help="with or without [Y]")
    made.add_argument("--must", required=True, type=int, help="needed")
    made.add_argument("--secret", help=argparse.SUPPRESS)
    group = made.add_argument_group("other things")
    one = group.add_mutually_exclusive_group()
    one.add_argument("--this", action="store_true", help="this one")
    one.add_argument("--that", action="store_const", const=4, dest="which", help="that one, 100%%")
    return made


def help_of(*words: str) -> str:
    app = typer.Typer()
    add_command(app, "all", parser())
    app.command("else")(lambda: None)
    return CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "120", "TERM": "dumb"}).output


def test_every_kind_of_option_is_shown() -> None:
    text = help_of("all")
    for words in (
        *("Does [all] of it.", "SOURCE", "where from", "--level", "-l", "low|high", "how (default: low)", "--many"),
        *("[Y]", "with or without [Y]", "--must", "needed", "other things", "--this", "that one, 100%"),
    ):
        assert words in text
    assert "--secret" not in text


def test_examples_keep_their_lines_and_prose_is_joined() -> None:
    lines = [line.strip() for line in help_of("all").splitlines()]
    assert "vmtrace all x" in lines
    assert "More words." in lines


def test_subparsers_are_subcommands() -> None:
    top = argparse.ArgumentParser(description="Emulated paths.")
    below = top.add_subparsers()
    run = below.add_parser("run", description="Run a profile.")
    run.add_argument("--seed", metavar="N", help="of the dice")
    below.add_parser("profiles", description="List them.")
    app = typer.Typer()
    add_command(app, "lab", top)
    app.command("else")(lambda: None)
    env = {"COLUMNS": "120", "TERM": "dumb"}
    assert "profiles" in CliRunner().invoke(app, ["lab", "--help"], env=env).output
    assert "of the dice" in CliRunner().invoke(app, ["lab", "run", "--help"], env=env).output
