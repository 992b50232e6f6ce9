"""No two Python files import each other in a circle, and the folders of a room stand one above the other.

A package may declare the order of its folders in its `__init__.py`, lowest first: `FLOORS = ("read", "tables")`. A
folder (or a module that is listed there) imports from those below it alone. Imports inside functions count, those for
types do not.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = sorted(path.parent.name for path in ROOT.glob("*/__init__.py") if path.parent.name not in ("tests", "tools"))


def sources() -> dict[str, Path]:
    """Modules by their dotted names, as `analyze.trace`."""
    found = [path.relative_to(ROOT) for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    named = {".".join(path.with_suffix("").parts): ROOT / path for path in found if "engine" not in path.parts}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


def plain(name: str) -> str:
    """`vmtrace.analyze.trace` is `analyze.trace`."""
    rest = name.removeprefix("vmtrace.")
    return rest if rest.split(".")[0] in ROOMS else name


def imported(source: str) -> Iterator[str]:
    """Dotted names of what a module imports when it runs."""
    tree = ast.parse(source)
    for_types = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    left_out = {id(node) for branch in for_types for part in branch.body for node in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (plain(f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (plain(alias.name) for alias in node.names)


def graph(texts: Mapping[str, str]) -> dict[str, set[str]]:
    """For each module those it imports."""

    def module(name: str) -> str | None:
        return name if name in texts else name.rpartition(".")[0] if name.rpartition(".")[0] in texts else None

    return {
        name: {found for found in map(module, imported(text)) if found and found != name}
        for name, text in texts.items()
    }


def circles(edges: Mapping[str, set[str]]) -> list[str]:
    """Modules that are left when those that import nothing that is left are taken away, again and again."""
    left = {name: set(targets) for name, targets in edges.items()}
    while free := [name for name, targets in left.items() if not targets & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def upwards(edges: Mapping[str, set[str]], package: str, floors: tuple[str, ...]) -> list[str]:
    """Imports within a package that do not lead to a lower floor."""

    def floor(name: str) -> str | None:
        inner = name.removeprefix(f"{package}.").split(".")[0] if name.startswith(f"{package}.") else None
        return inner if inner in floors else None

    pairs = [(name, target) for name, targets in edges.items() for target in sorted(targets)]
    return [
        f"{name} imports {target}"
        for name, target in pairs
        if (above := floor(name)) and (below := floor(target)) and floors.index(below) > floors.index(above)
    ]


def declared(text: str) -> tuple[str, ...]:
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLOORS":
            assert isinstance(node.value, ast.Tuple)
            parts = [one.value if isinstance(one, ast.Starred) else ast.Tuple([one]) for one in node.value.elts]
            return tuple(name for part in parts for name in ast.literal_eval(part))
    return ()


@cache
def of_the_house() -> dict[str, set[str]]:
    return graph({name: path.read_text() for name, path in sources().items()})


def test_no_files_import_each_other_in_a_circle() -> None:
    edges = of_the_house()
    assert len(edges) > 500
    # What imports a circle is left with it; the circle itself is among these.
    assert circles({name: targets for name, targets in edges.items() if name not in ROOMS}) == []


def test_folders_import_downwards_only() -> None:
    wrong = []
    for package, path in sources().items():
        if path.name == "__init__.py":
            folders = {
                inner.parent.name for inner in path.parent.glob("*/__init__.py") if not inner.parent.is_symlink()
            }
            floors = declared(path.read_text())
            if floors and folders - set(floors):
                wrong.append(f"{package}: FLOORS lacks {sorted(folders - set(floors))}")
            wrong += upwards(of_the_house(), package, floors)
    assert wrong == []


def lost(texts: Mapping[str, str], packages: frozenset[str]) -> list[str]:
    """Imports of the house's own modules that lead to no file: it moved, say. What a module defines, mypy knows."""
    rooms = {name.partition(".")[0] for name in texts if "/" not in name}

    def is_there(name: str) -> bool:
        package, _, last = name.rpartition(".")
        if name in texts or last == "_engine" or package.endswith("._engine"):
            return True
        return package in texts and (package not in packages or bool(re.search(rf"\b{last}\b", texts[package])))

    return [
        f"{name} imports {found}"
        for name, text in texts.items()
        for found in imported(text)
        if found.partition(".")[0] in rooms and "." in found and not is_there(found)
    ]


def test_every_import_leads_to_a_file_that_is_there() -> None:
    outside = [path for folder in ("tests", "tools", "bench") for path in (ROOT / folder).rglob("*.py")]
    texts = {name: path.read_text() for name, path in sources().items()}
    tests = {"/".join(path.relative_to(ROOT).parts): path.read_text() for path in outside}
    assert lost(texts | tests, frozenset(name for name, path in sources().items() if path.stem == "__init__")) == []


@pytest.mark.parametrize("room", ["analyze", "cloudwatch", "corpus", "providers"])
def test_every_part_of_a_room_has_its_floor(room: str) -> None:
    inside = {path.stem for path in (ROOT / room).iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    floors = declared((ROOT / room / "__init__.py").read_text())
    assert sorted(inside - {"__init__"}) == sorted(floors)


def test_analyze_has_few_parts() -> None:
    assert len(declared((ROOT / "analyze/__init__.py").read_text())) <= 10


def test_a_circle_and_an_import_upwards_are_found() -> None:
    texts = {
        "analyze.a.one": "def f():\n    from vmtrace.analyze.b import two\n",
        "analyze.b.two": "from vmtrace.analyze.a.one import f\n",
        "analyze.c": "if TYPE_CHECKING:\n    from vmtrace.analyze.a import one\n",
    }
    assert circles(graph(texts)) == ["analyze.a.one", "analyze.b.two"]
    assert upwards(graph(texts), "analyze", ("a", "b")) == ["analyze.a.one imports analyze.b.two"]
    moved = {"analyze.d": "from vmtrace.analyze.b.three import g", "analyze.e": "from vmtrace.analyze.b import four"}
    assert lost(texts | moved | {"analyze.b": ""}, frozenset({"analyze.b"})) == [
        "analyze.d imports analyze.b.three.g",
        "analyze.e imports analyze.b.four",
    ]
    assert declared('"""A room."""\nFLOORS = ("a", "b")\n') == ("a", "b")
