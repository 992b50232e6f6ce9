"""What the engine's comments refer to exists: sections of the documents, and each module in the map of its folder."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "analyze/engine"
SOURCES = sorted([*ENGINE.glob("*/src/**/*.rs"), *ENGINE.glob("*/tests/**/*.rs")])
MAPPED = sorted(path.parent.relative_to(ENGINE / "core/src").as_posix() for path in ENGINE.glob("core/src/**/mod.rs"))


def comments(source: Path) -> str:
    """Its comments, each paragraph in one line."""
    lines = (line.strip() for line in source.read_text().splitlines())
    return re.sub(r"\s+", " ", " ".join(re.sub(r"^//[/!]?", "", line) for line in lines if line.startswith("//")))


def headings(document: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", (ROOT / "docs" / document).read_text(), re.MULTILINE))


def sections_cited(text: str) -> Iterator[str]:
    """Numbers of sections of the methods, as `docs/methods.md, section 5` or `sections 2 and 5` cites them."""
    for cited in re.findall(r"docs/methods\.md, sections? ((?:\d[\d.]*(?:, | and )?)+)", text):
        yield from re.findall(r"\d+(?:\.\d+)*", cited)


def test_every_section_of_the_methods_that_a_comment_names_exists() -> None:
    known = {heading.split()[0] for heading in headings("methods.md") if heading[0].isdigit()}
    cited = {(source.name, section) for source in SOURCES for section in sections_cited(comments(source))}
    assert len(cited) > 30
    assert {(name, section) for name, section in cited if section not in known} == set()


def test_the_methods_are_named_by_their_file() -> None:
    """A reader of "methods 6.6" would have to know which document that is."""
    wrong = {
        source.name: re.findall(r"(?<![/\w])methods,? (?:section )?\d[\d.]*", comments(source)) for source in SOURCES
    }
    assert {name: found for name, found in wrong.items() if found} == {}


def test_every_part_of_the_verdict_that_a_comment_names_exists() -> None:
    text = (ROOT / "docs/verdict.md").read_text()
    known = headings("verdict.md") | set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    cited = {
        (source.name, part)
        for source in SOURCES
        for near in re.findall(r"docs/verdict\.md, ([^();.:]+)", comments(source))
        for part in re.findall(r'["`]([^"`]+)["`]', near)
    }
    assert len(cited) > 10
    assert {(name, part) for name, part in cited if part not in known} == set()


@pytest.mark.parametrize("folder", MAPPED)
def test_the_map_of_a_folder_names_each_of_its_modules(folder: str) -> None:
    text = (ENGINE / "core/src" / folder / "mod.rs").read_text()
    head = "\n".join(line for line in text.splitlines() if line.startswith("//!"))
    modules = set(re.findall(r"^(?:pub(?:\([^)]*\))? )?mod (\w+);", text, re.MULTILINE)) - {"tests"}
    assert [name for name in sorted(modules) if not re.search(rf"\b{name}\b", head)] == []


def test_each_item_is_shown_by_itself() -> None:
    """Who looks a field up is shown its own comment and not the one before it."""
    assert [
        source.name for source in SOURCES if re.search(r"^\s*/// See above", source.read_text(), re.MULTILINE)
    ] == []


WALK = ENGINE / "core/src/README.md"


def test_the_walk_of_a_packet_names_functions_that_are_there() -> None:
    steps = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", WALK.read_text(), re.MULTILINE)
    assert len(steps) > 15
    code = {file: (ENGINE / "core/src" / file).read_text() for file, _ in steps}
    assert [step for step in steps if not re.search(rf"\bfn {step[1]}\b", code[step[0]])] == []


def test_the_walk_of_a_packet_is_short_and_its_files_are_there() -> None:
    text = WALK.read_text()
    assert len(text.splitlines()) <= 60
    files = re.findall(r"`((?:\w+/)+\w+\.rs)`", text)
    assert [file for file in files if not (ENGINE / "core/src" / file).is_file()] == []


def test_engine_files_that_the_documents_name_are_there() -> None:
    known = {path.relative_to(ENGINE).as_posix() for path in ENGINE.rglob("*.rs") if "target" not in path.parts}
    named = {
        (document.name, file)
        for document in (*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md")
        for file in re.findall(r"`([\w/.]+\.rs)`", document.read_text())
    }
    assert len(named) > 5
    assert [
        each for each in sorted(named) if not any(f"/analyze/engine/{file}".endswith(f"/{each[1]}") for file in known)
    ] == []
