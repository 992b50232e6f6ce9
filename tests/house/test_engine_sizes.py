"""The engine's functions and files are small: most are read at a glance, none has to be scrolled through for long.

A function counts from its `fn` to its closing brace, comments and blank lines included, and a file all its lines, tests
too. Functions of tests are left out, and files of nothing else. What breaks a bound is listed longest first.
"""

from pathlib import Path

from tests.rust_source import Function, functions, is_tests

SOURCES = Path(__file__).parents[2] / "analyze/engine/core/src"
MOST_LINES_OF_MEDIAN = 7
MOST_LINES_OF_NINE_IN_TEN = 22
MOST_LINES_OF_FUNCTION = 80
MOST_LINES_OF_FILE = 450


def sources() -> dict[str, str]:
    files = {path.relative_to(SOURCES).as_posix(): path for path in SOURCES.rglob("*.rs")}
    return {name: path.read_text() for name, path in files.items() if not is_tests(name)}


def all_functions() -> list[tuple[str, Function]]:
    """Each with its file, longest first."""
    found = [(name, function) for name, text in sources().items() for function in functions(text)]
    return sorted(found, key=lambda each: -each[1].lines)


def test_half_of_the_functions_fit_in_seven_lines_and_nine_of_ten_in_22() -> None:
    lines = sorted(function.lines for _, function in all_functions())
    assert len(lines) > 1500
    assert lines[len(lines) // 2] <= MOST_LINES_OF_MEDIAN
    assert lines[len(lines) * 9 // 10] <= MOST_LINES_OF_NINE_IN_TEN


def test_no_function_is_longer_than_80_lines() -> None:
    long = [
        f"{name}:{function.line} {function.name}: {function.lines} lines"
        for name, function in all_functions()
        if function.lines > MOST_LINES_OF_FUNCTION
    ]
    assert long == []


def test_no_file_is_longer_than_450_lines() -> None:
    counted = {name: len(text.splitlines()) for name, text in sources().items()}
    long = sorted(((lines, name) for name, lines in counted.items() if lines > MOST_LINES_OF_FILE), reverse=True)
    assert [f"{name}: {lines} lines" for lines, name in long] == []


def test_the_functions_of_tests_do_not_count() -> None:
    text = "fn a() {\n}\n\n#[cfg(test)]\nmod tests {\n    fn b() {\n    }\n}\n"
    assert [each.name for each in functions(text)] == ["a"]


def test_a_long_function_is_measured_whole_whatever_its_braces_hold() -> None:
    body = "    let brace = \"}\"; // }\n    match x { _ => '{' };\n" * 45
    assert [each.lines for each in functions(f"fn long() {{\n{body}}}\n")] == [92]
