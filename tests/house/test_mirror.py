"""Every source file has a test. There is no list of exceptions; a file without functions has nothing to test.

Python: `room/part/name.py` is tested by a `test_name*.py` or `test_part*.py` somewhere in `tests/room/`.
Rust: a file of the core holds its tests, or they stand in a `tests.rs` (or folder `tests/`) beside it, or in a file of
`core/tests/` that has the name of the file or of a folder it is in among its words (`read_damage.rs` tests `read/`).
The binding only converts: it is tested from Python, by `tests/analyze/test_engine*.py`.
"""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "analyze/engine/core"
TOOL_FOLDERS = ("bench", "tools")


def defines_functions(source: str) -> bool:
    return any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for node in ast.walk(ast.parse(source)))


def python_sources() -> list[Path]:
    rooms = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["python-packages"]
    found = [path for room in (*rooms, *TOOL_FOLDERS) for path in (ROOT / room).rglob("*.py")]
    return sorted(path for path in found if defines_functions(path.read_text()))


def names_of_tests(source: Path) -> set[str]:
    """What a test file for `source` may be called, before a further `_...` or `.py`."""
    relative = source.relative_to(ROOT)
    room, parts = relative.parts[0], [*relative.parts[1:-1], relative.stem.strip("_")]
    if relative.stem == "__init__":
        parts = parts[:-1] or [room]
    return {f"test_{part.strip('_')}" for part in parts} | {"test_" + "_".join(parts)}


def has_test(source: Path) -> bool:
    stems = [path.stem for path in (ROOT / "tests" / source.relative_to(ROOT).parts[0]).rglob("test_*.py")]
    return any(stem == name or stem.startswith(f"{name}_") for stem in stems for name in names_of_tests(source))


def test_every_python_file_has_a_test() -> None:
    assert [str(path.relative_to(ROOT)) for path in python_sources() if not has_test(path)] == []


def test_every_script_has_a_test() -> None:
    scripts = [path for path in (ROOT / "tools").iterdir() if path.is_file() and not path.suffix]
    wanted = {f"test_{path.name.replace('-', '_')}.py" for path in scripts}
    assert wanted - {path.name for path in (ROOT / "tests/tools").glob("test_*.py")} == set()


def rust_is_tested(source: Path) -> bool:
    text = source.read_text()
    if re.search(r"#\[test\]|proptest!", text) or not re.search(r"\bfn \w", text):
        return True
    beside = {source.parent / "tests.rs", source.parent / "tests", source.parent / f"{source.stem}_tests.rs"}
    beside |= {source.with_suffix("") / "tests.rs", source.with_suffix("") / "tests"}
    words = {word for path in (CORE / "tests").glob("*.rs") for word in path.stem.split("_")}
    names = {*source.relative_to(CORE / "src").parts[:-1], source.stem}
    return any(path.exists() for path in beside) or bool(words & names)


def test_every_rust_file_of_the_core_has_a_test() -> None:
    sources = sorted((CORE / "src").rglob("*.rs"))
    assert sources
    assert [str(path.relative_to(ROOT)) for path in sources if not rust_is_tested(path)] == []


def test_the_binding_is_tested_from_python() -> None:
    assert list((ROOT / "tests/analyze").rglob("test_engine*.py"))
