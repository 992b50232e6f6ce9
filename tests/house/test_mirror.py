"""Every source file has a test. There is no list of exceptions; a file without functions has nothing to test.

Python: `room/part/name.py` is tested by a `test_name*.py` or `test_part*.py` somewhere in `tests/room/`.
Rust: a file of the core holds its tests, or a test file of the core names it: by its own name (`decode_fragments.rs`
tests `decode/fragments.rs`), or among the `Subjects:` of its module comment. A test file names at most a dozen, so that
none stands for a whole room.
The binding only converts: it is tested from Python, by `tests/analyze/test_engine*.py`.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from tests.rust_source import is_tests, product

ROOT = Path(__file__).parents[2]
CORE = ROOT / "analyze/engine/core"
TOOL_FOLDERS = ("bench", "tools")
MOST_SUBJECTS = 12


def defines_functions(source: str) -> bool:
    """Those that do something: the functions of a protocol are a docstring and no more."""
    functions = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return any(len(one.body) > 1 or ast.get_docstring(one) is None for one in functions)


def python_sources() -> list[Path]:
    rooms = [path.parent.name for path in ROOT.glob("*/__init__.py")]
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


def subjects(test: str) -> set[str]:
    """The files that a test of `core/tests` says it tests, by their paths in the sources."""
    comment = " ".join(line.removeprefix("//!") for line in test.splitlines() if line.startswith("//!"))
    return set(re.findall(r"`([\w/]+\.rs)`", comment.partition("Subjects:")[2]))


def names(test: str, source: str) -> bool:
    """Whether the name of a test file is that of a source, as `rtt_samples.rs` is of `tcp/rtt/samples.rs`.

    One word is the name of many files: it counts together with that of a folder the file is in, but for `tcp`.
    """
    words, parts = test.removesuffix(".rs").split("_"), source.removesuffix("/mod.rs").removesuffix(".rs").split("/")

    def has(name: str) -> bool:
        part = name.split("_")
        return any(words[at : at + len(part)] == part for at in range(len(words)))

    in_folder = any(has(folder) for folder in parts[:-1] if folder != "tcp")
    return has(parts[-1]) and ("_" in parts[-1] or in_folder)


def rust_is_tested(source: str, text: str, tests: Mapping[str, str]) -> bool:
    if re.search(r"#\[test\]|proptest!", text) or not re.search(r"\bfn \w", product(text)):
        return True
    return any(source in subjects(test) or names(name, source) for name, test in tests.items())


def rust_files() -> dict[str, str]:
    return {path.relative_to(CORE / "src").as_posix(): path.read_text() for path in (CORE / "src").rglob("*.rs")}


def rust_sources() -> dict[str, str]:
    return {name: text for name, text in sorted(rust_files().items()) if not is_tests(name)}


def rust_tests() -> dict[str, str]:
    """The files of `core/tests`, and those of tests that need what is private: they stand among the sources."""
    tests = {path.name: path.read_text() for path in sorted((CORE / "tests").glob("*.rs"))}
    return tests | {name: text for name, text in rust_files().items() if is_tests(name)}


def test_every_rust_file_of_the_core_has_a_test_that_names_it() -> None:
    sources, tests = rust_sources(), rust_tests()
    assert len(sources) > 200
    assert [name for name, text in sources.items() if not rust_is_tested(name, text, tests)] == []


def test_the_subjects_of_a_rust_test_are_there_and_few() -> None:
    for name, test in rust_tests().items():
        found = subjects(test)
        assert [path for path in found if not (CORE / "src" / path).is_file()] == [], name
        assert len(found) <= MOST_SUBJECTS, name


def test_a_rust_file_without_its_own_test_is_missed() -> None:
    code = "pub fn judge() {}"
    folder_only = {"gaps_at_sender.rs": "//! Gaps.\n//!\n//! Subjects: `tcp/gaps/causes.rs`.\n"}
    assert not rust_is_tested("tcp/gaps/watch.rs", code, folder_only)
    assert rust_is_tested("tcp/gaps/causes.rs", code, folder_only)
    assert not rust_is_tested("decode/tcp.rs", code, {"tcp_rows.rs": ""})
    assert rust_is_tested("tcp/rtt/samples.rs", code, {"rtt_samples.rs": ""})
    assert rust_is_tested("tcp/token_bucket/mod.rs", code, {"token_bucket_start.rs": ""})
    assert rust_is_tested("tcp/gaps/watch.rs", code + "\n#[cfg(test)]\nmod tests { #[test] fn a() {} }", {})


def test_the_binding_is_tested_from_python() -> None:
    assert list((ROOT / "tests/analyze").rglob("test_engine*.py"))
