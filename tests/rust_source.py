"""Reads Rust sources for the house's tests: what a file imports, and how long its functions are.

Not a parser of Rust: it blanks out comments, literals and tests, and goes by keywords and braces from there. Lines stay
where they are, so that what is found can be named by its line.
"""

import bisect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Module = tuple[str, ...]

# A comment or a literal; lifetimes ('a) are none, as no quote ends them.
NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|b?r(?P<hashes>#*)".*?"(?P=hashes)|b?"(?:\\.|[^"\\])*"'
    r"|b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\])'",
    re.DOTALL,
)
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{")
INLINE_MODULE = re.compile(r"\bmod\s+(\w+)\s*\{")
USE = re.compile(r"(?P<public>\bpub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")
VISIBILITY = re.compile(r"\bpub\s*\(in[^)]*\)")
PATH = re.compile(r"(?<![\w:])(\w+(?:\s*::\s*\w+)+)")
FUNCTION = re.compile(r"\bfn\s+(\w+)")


def blank(text: str) -> str:
    """As long as `text`, with nothing but its line ends."""
    return re.sub(r"[^\n]", " ", text)


def end_of_block(text: str, opening: int) -> int:
    """Where the block ends whose brace opens at `opening`: behind its closing brace."""
    depth = 0
    for brace in re.compile(r"[{}]").finditer(text, opening):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(text)


def product(source: str) -> str:
    """The code of a file without comments, literals and its own tests; every line where it was."""
    text = NO_CODE.sub(lambda found: blank(found[0]), source)
    while tests := TESTS.search(text):
        end = end_of_block(text, tests.end() - 1)
        text = text[: tests.start()] + blank(text[tests.start() : end]) + text[end:]
    return text


def is_tests(path: str) -> bool:
    """A file of nothing but tests, by its path in the sources."""
    *folders, name = path.split("/")
    return "tests" in folders or name == "tests.rs" or name.endswith("_tests.rs")


def module_of(path: str) -> Module:
    """`tcp/rtt/samples.rs` is `tcp::rtt::samples`; `mod.rs` and `lib.rs` stand for their folder."""
    parts = path.removesuffix(".rs").split("/")
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib") else parts)


def leaves(tree: str, before: Module = ()) -> Iterator[tuple[Module, str]]:
    """Each path of a `use` tree, and the name that it has here: `a::{b, c as d}` gives a::b as b and a::c as d."""
    head, brace, rest = tree.partition("{")
    if brace:
        prefix = (*before, *re.findall(r"\w+", head))
        for part in branches(rest[: rest.rindex("}")]):
            yield from leaves(part, prefix)
        return
    path, _, renamed = (word.strip() for word in re.sub(r"\s+", " ", head).partition(" as "))
    names = re.findall(r"\w+|\*", path)
    whole = (*before, *(names[:-1] if names[-1:] == ["self"] and (before or names[1:]) else names))
    if whole:
        yield whole, renamed or whole[-1]


def branches(text: str) -> Iterator[str]:
    """What stands between the commas of a brace, those within inner braces apart."""
    start = depth = 0
    for mark in re.finditer(r"[{},]", text + ","):
        depth += {"{": 1, "}": -1, ",": 0}[mark[0]]
        if mark[0] == "," and depth == 0:
            if text[start : mark.start()].strip():
                yield text[start : mark.start()]
            start = mark.end()


@dataclass(frozen=True, slots=True)
class Named:
    """A path that a file names."""

    path: Module
    """From the root of the crate."""
    line: int
    exported_as: str | None
    """The name by which the file hands it on (`pub use`)."""


def from_root(path: Module, here: Module) -> Module:
    """`path`, as it is written in the module `here`, from the root of the crate."""
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return here + path[1:]
    while path[0] == "super":
        path, here = path[1:], here[:-1]
        if not path:
            return here
    return here + path


def enclosing(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each inline module starts and ends, and its name."""
    for found in INLINE_MODULE.finditer(text):
        yield found.start(), end_of_block(text, found.end() - 1), found[1]


def named(source: str, module: Module) -> Iterator[Named]:
    """The paths that a file names; one that starts with neither crate, super nor self is taken for a child's."""
    text = VISIBILITY.sub(lambda found: blank(found[0]), product(source))
    ends_of_lines = [found.start() for found in re.finditer("\n", text)]
    inline = list(enclosing(text))

    def here(at: int) -> Module:
        return (*module, *(name for start, end, name in inline if start < at < end))

    def line(at: int) -> int:
        return bisect.bisect_left(ends_of_lines, at) + 1

    for use in USE.finditer(text):
        for path, name in leaves(use["tree"]):
            yield Named(from_root(path, here(use.start())), line(use.start()), name if use["public"] else None)
    text = USE.sub(lambda found: blank(found[0]), text)
    for found in PATH.finditer(text):
        path = tuple(re.findall(r"\w+", found[1]))
        yield Named(from_root(path, here(found.start())), line(found.start()), None)


@dataclass(frozen=True, slots=True)
class Import:
    """A file that uses another."""

    of: str
    file: str
    line: int


def imports(files: Mapping[str, str]) -> set[Import]:
    """Every import between the files of a crate, by their paths in its sources.

    What is named by a re-export is an import of the file that hands it on, and of the file that it is from.
    """
    product_files = {path: text for path, text in files.items() if not is_tests(path)}
    homes = {module_of(path): path for path in product_files}
    all_named = {path: list(named(text, module_of(path))) for path, text in product_files.items()}
    handed_on = {
        (*module_of(path), each.exported_as): each.path
        for path, found in all_named.items()
        for each in found
        if each.exported_as
    }

    def files_of(path: Module) -> Iterator[str]:
        home = next((path[:length] for length in range(len(path), 0, -1) if path[:length] in homes), None)
        if home is None:
            return
        yield homes[home]
        behind = handed_on.get(path[: len(home) + 1])
        if behind is not None and len(path) > len(home) and behind != path:
            yield from files_of(behind + path[len(home) + 1 :])

    return {
        Import(of, path, each.line)
        for path, found in all_named.items()
        for each in found
        for of in files_of(each.path)
        if of != path
    }


def circles(found: set[Import]) -> list[list[str]]:
    """Files that import each other, directly or through others (Tarjan's strongly connected components)."""
    after: dict[str, set[str]] = {}
    for each in found:
        after.setdefault(each.file, set()).add(each.of)
    reached = {file: reachable(file, after) for file in after}
    parts = {frozenset(other for other in reached[file] if file in reached.get(other, ())) for file in after}
    return sorted(sorted(part) for part in parts if part)


def reachable(start: str, after: Mapping[str, set[str]]) -> set[str]:
    """All that `start` imports, itself only if something leads back to it."""
    seen: set[str] = set()
    todo = list(after.get(start, ()))
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo.extend(after.get(file, ()))
    return seen


@dataclass(frozen=True, slots=True)
class Function:
    """A function with a body, and the lines from its `fn` to its closing brace."""

    name: str
    line: int
    lines: int


def functions(source: str) -> Iterator[Function]:
    """The functions of a file, its tests apart; closures and attributes count with what they stand in."""
    text = product(source)
    for found in FUNCTION.finditer(text):
        opening = body_of(text, found.end())
        if opening is not None:
            first = text.count("\n", 0, found.start()) + 1
            last = text.count("\n", 0, end_of_block(text, opening)) + 1
            yield Function(found[1], first, last - first + 1)


def body_of(text: str, after_name: int) -> int | None:
    """Where the body opens; none of a declaration, which ends with a semicolon (one of `[u8; 4]` is in brackets)."""
    depth = 0
    for mark in re.compile(r"[(){}\[\];]").finditer(text, after_name):
        if mark[0] in "([":
            depth += 1
        elif mark[0] in ")]":
            depth -= 1
        elif depth == 0:
            return mark.start() if mark[0] == "{" else None
    return None
