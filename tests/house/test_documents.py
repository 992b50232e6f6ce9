"""The documents say what is so: their commands, options, links and targets exist."""

import functools
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("samples/*.md")])
PROMISED_TARGETS = {"setup", "install", "format", "lint", "types", "test", "fuzz", "bench", "accuracy", "demo", "docs"}


def targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))


def shell_lines(document: Path) -> list[str]:
    """The command lines of a document: fenced blocks of `sh`, and inline code."""
    text = document.read_text()
    blocks = re.findall(r"^```(?:sh|bash|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ").strip() for block in blocks for line in block.splitlines()]
    return lines + re.findall(r"`((?:make|vmtrace) [^`\n]+)`", text)


@functools.cache
def help_of(*command: str) -> str:
    script = Path(sys.executable).with_name("vmtrace")
    env = os.environ | {"COLUMNS": "300", "NO_COLOR": "1", "TERM": "dumb"}
    done = subprocess.run([str(script), *command, "--help"], check=False, capture_output=True, text=True, env=env)
    assert done.returncode == 0, f"vmtrace {' '.join(command)} --help: {done.stderr}"
    return done.stdout


def test_the_makefile_has_the_promised_targets_with_a_line_of_help_each() -> None:
    assert targets() >= PROMISED_TARGETS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_named_exists(document: Path) -> None:
    named = {
        word
        for line in shell_lines(document)
        if line.startswith("make ")
        for word in shlex.split(line, comments=True)[1:]
        if re.fullmatch(r"[a-z-]+", word)
    }
    assert named - targets() == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_subcommand_and_option_named_exists(document: Path) -> None:
    wrong = []
    commands = [part for line in shell_lines(document) for part in re.split(r" \| ", line)]
    for line in commands:
        words = shlex.split(line, comments=True)
        if len(words) < 2 or Path(words[0]).name != "vmtrace" or words[1].startswith("-"):
            continue
        options = {word.split("=")[0] for word in words[2:] if word.startswith("--")}
        wrong += [f"{line}: no {option}" for option in options if not re.search(rf"{option}\b", help_of(words[1]))]
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_order_ci_runs_is_the_order_the_readme_tells() -> None:
    run = ROOT / ".ci/run"
    assert os.access(run, os.X_OK)
    assert "make test" in run.read_text()
    assert "make test" in (ROOT / "README.md").read_text()
