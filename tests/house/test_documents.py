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
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("*/README.md")])
PAGES_OF_COMMANDS = (
    "capture", "cloudwatch", "corpus", "cost", "discovery", "findings", "queue", "report", "storage", "swarm",
    "verdict",
)  # fmt: skip
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
    for part in [part for line in shell_lines(document) for part in re.split(r" \| ", line)]:
        before, *words = [*words_of(part)] or [""]
        if Path(before).name != "vmtrace" or not words or words[0].startswith("-"):
            continue
        shown = help_of(words[0])
        below = next((word for word in words[1:2] if word.isalpha()), None)
        if below is not None and re.search(rf"^(?:    |│ ){below} ", shown, re.MULTILINE):
            shown = help_of(words[0], below)
        options = {word.split("=")[0] for word in words[1:] if word.startswith("--")}
        wrong += [f"{part}: no {option}" for option in options if not re.search(rf"{option}\b", shown)]
    assert wrong == []


def words_of(line: str) -> list[str]:
    """The words of a command line, from the command on: `sudo -E` before it, and a comment after it, are none of it."""
    words = shlex.split(line, comments=True)
    if words[:1] == ["sudo"]:
        words = words[2:] if words[1:2] == ["-E"] else words[1:]
    return words


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_relative_link_leads_to_a_file(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text())
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_into_a_document_leads_to_a_heading(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", document.read_text())
    wrong = [f"{name}#{anchor}" for name, anchor in links if anchor not in anchors(document, name)]
    assert wrong == []


def anchors(document: Path, name: str) -> set[str]:
    """What the headings of a document that a link names (itself by no name) are called, as GitHub makes it of them."""
    headings = re.findall(r"^#+ (.*)$", (document.parent / name if name else document).read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES_OF_COMMANDS)
def test_the_page_of_a_command_begins_with_the_question_that_it_answers(page: str) -> None:
    heading, first = re.split(r"\n\n+", (ROOT / f"docs/{page}.md").read_text())[:2]
    assert "?" in heading or "?" in first.partition("`vmtrace")[0], first


def test_the_order_ci_runs_is_the_order_the_readme_tells() -> None:
    run = ROOT / ".ci/run"
    assert os.access(run, os.X_OK)
    assert "make test" in run.read_text()
    assert "make test" in (ROOT / "README.md").read_text()


def test_every_figure_that_can_be_written_is_explained() -> None:
    source = "".join(path.read_text() for path in sorted((ROOT / "analyze").rglob("*.py")))
    names = set(re.findall(r'"((?:figure-\d|along-the)[a-z0-9-]*)', source))
    names |= set(re.findall(r'^NAME = "([a-z-]+)"', source, re.MULTILINE))
    shown = "".join((ROOT / f"docs/{page}.md").read_text() for page in ("report", "swarm"))
    assert len(names) > 12
    assert {name for name in names if f"`{name}`" not in shown} == set()
