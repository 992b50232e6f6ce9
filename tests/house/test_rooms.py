"""The arrows between the rooms point one way, and the rooms for a bare VM need nothing but the standard library."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Each room, and the rooms it may import.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "formats": frozenset(),
    "capture": frozenset({"formats"}),
    "analyze": frozenset({"formats"}),
    "corpus": frozenset({"analyze", "formats"}),
    "sender": frozenset({"capture", "formats"}),
    "receiver": frozenset({"capture", "sender", "formats"}),
    "cloudwatch": frozenset({"capture", "formats"}),
    "providers": frozenset({"capture", "formats"}),
    "lab": frozenset({"sender", "receiver", "capture", "formats"}),
    "vmtrace": frozenset(
        {"formats", "capture", "analyze", "corpus", "sender", "receiver", "cloudwatch", "providers", "lab"}
    ),
}
# Outside the product: no room may lean on them.
OUTSIDE = frozenset({"tests", "bench", "tools", "samples"})
# These start from copied folders on the system Python of a bare VM; rich is used where it happens to be installed.
STANDARD_LIBRARY_ONLY = ("formats", "capture", "sender", "receiver")


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of each absolute import in a module's source."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "vmtrace":
            yield from ((node.lineno, f"vmtrace.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module


def top(name: str) -> str:
    """The room that a dotted name is of, or the library."""
    first, _, rest = name.partition(".")
    second = rest.partition(".")[0]
    return second if first == "vmtrace" and second in MAY_IMPORT else first


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


def test_imports_are_found_wherever_they_stand() -> None:
    source = (
        "import os.path\ndef f():\n    from vmtrace.sender.wire import Frame\n    from vmtrace import capture, cli\n"
    )
    found = list(imports(source))
    assert [line for line, _ in found] == [1, 3, 4, 4]
    assert [top(name) for _, name in found] == ["os", "sender", "capture", "vmtrace"]


def test_a_room_is_imported_by_its_one_name() -> None:
    """In a checkout the folders could be imported, too: every module would be there twice."""
    python = [path for room in (*MAY_IMPORT, *OUTSIDE) for path in modules(room)]
    assert len(python) > 1000
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in python
        for line, name in imports(path.read_text())
        if name.split(".")[0] in MAY_IMPORT.keys() - {"vmtrace"}
    ]
    assert wrong == []


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_the_rooms_it_may(room: str) -> None:
    forbidden = (frozenset(MAY_IMPORT) | OUTSIDE) - MAY_IMPORT[room] - {room}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(room)
        for line, name in imports(path.read_text())
        if top(name) in forbidden
    ]
    assert wrong == []


@pytest.mark.parametrize("room", STANDARD_LIBRARY_ONLY)
def test_what_runs_on_a_bare_vm_needs_only_the_standard_library(room: str) -> None:
    allowed = sys.stdlib_module_names | MAY_IMPORT[room] | {room, "rich"}
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules(room)
        for line, name in imports(path.read_text())
        if top(name) not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize("room", sorted(MAY_IMPORT.keys() - {"lab"}))
def test_the_walk_through_a_room_is_short_and_names_functions_that_are_there(room: str) -> None:
    text = (ROOT / room / "README.md").read_text()
    assert len(text.splitlines()) <= 40
    steps = re.findall(r"^\| \d+ \| `([\w/.]+)` \| `(\w+)` \|", text, re.MULTILINE)
    assert len(steps) >= 8
    assert [at for at in steps if not re.search(rf"\bdef {at[1]}\b", (ROOT / room / at[0]).read_text())] == []
    files = re.findall(r"`((?:\w+/)*\w+\.py)`", text)
    assert [file for file in files if not (ROOT / room / file).is_file()] == []


def test_every_folder_with_python_is_a_known_room() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/*.py") if not path.parent.name.startswith(".")}
    assert folders - {"build", "target"} <= frozenset(MAY_IMPORT) | OUTSIDE


def test_the_core_of_the_engine_knows_no_files_no_clock_and_no_python() -> None:
    impure = re.compile(r"\bstd::fs\b|\bSystemTime\b|\bInstant::now\b|\bpyo3\b|\bstd::env\b")
    wrong = []
    for path in sorted((ROOT / "analyze/engine/core/src").rglob("*.rs")):
        product = path.read_text().split("#[cfg(test)]")[0]
        if path.name == "tests.rs" or "tests" in path.parts:
            continue
        for number, line in enumerate(product.splitlines(), 1):
            if impure.search(line) and not line.lstrip().startswith("//"):
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert wrong == []
