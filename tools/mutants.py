"""`python -m tools.mutants FILE ...`: changes a file in one place at a time, runs its tests, prints what none notices.

A mutant is the file with one comparison turned, one constant moved by one, one condition negated, or one `and` made an
`or`. It is tried in a copy of the repository's Python, with the tests named after the file, or those of `--tests`.
Survivors that matter get a test; the others stand in `tools/mutants.md`, with the reason.
"""

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
_ROOMS = ("capture", "formats", "sender", "receiver", "vmtrace", "analyze", "tests", "lab")
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed source: where, and what was done."""

    line: int
    change: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """All of a source."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for change in _changes(node):
            changed = copy.deepcopy(tree)
            line = getattr(node, "lineno", 0)
            _apply(next(one for place, one in enumerate(ast.walk(changed)) if place == number), change)
            yield Mutant(line, change, ast.unparse(changed))


def _changes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _TURNED:
        yield f"{type(node.ops[0]).__name__} to {_TURNED[type(node.ops[0])].__name__}"
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} to {node.value + 1}"
    elif isinstance(node, ast.BoolOp):
        yield "And to Or" if isinstance(node.op, ast.And) else "Or to And"
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "negate"


def _apply(node: ast.AST, change: str) -> None:
    if isinstance(node, ast.Compare):
        node.ops[0] = _TURNED[type(node.ops[0])]()
    elif isinstance(node, ast.Constant):
        node.value = int(str(node.value)) + 1
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if change == "And to Or" else ast.And()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        node.test = ast.UnaryOp(ast.Not(), node.test)


def named_after(file: Path) -> list[str]:
    """Test files named after it, or if there are none after the innermost folder that has some."""
    there = sorted((ROOT / "tests" / file.parts[0]).rglob("test_*.py"))
    for name in (file.stem, *reversed(file.parts[1:-1])):
        found = [path for path in there if f"{path.stem}_".startswith(f"test_{name}_")]
        if found:
            return [str(path.relative_to(ROOT)) for path in found]
    return []


def survives(file: Path, mutant: Mutant, place: Path, tests: Sequence[str]) -> bool:
    """Whether its tests pass with the mutant in its place."""
    (place / file).write_text(mutant.source)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHONPATH": str(place), "HOME": str(Path.home())}
    try:
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, check=False, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"  {file}:{mutant.line}: {mutant.change}: not over after {_SECONDS} s, taken for noticed", flush=True)
        return False
    return done.returncode == 0


def main(words: Sequence[str]) -> int:
    """See the head of this module. Exit status: the number of survivors, at most 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="of the repository, as sender/wire/keys.py")
    parser.add_argument("--most", type=int, default=40, metavar="N", help="mutants of a file, drawn at random")
    parser.add_argument("--tests", nargs="+", metavar="FILE", help="instead of those named after each file")
    arguments = parser.parse_args(words)
    left = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for room in _ROOMS:
            ignored = shutil.ignore_patterns("engine", "__pycache__")
            shutil.copytree(ROOT / room, place / room, symlinks=True, ignore=ignored)
        shutil.copy(ROOT / "pyproject.toml", place)
        for file in arguments.files:
            source = (ROOT / file).read_text()
            found, tests = list(mutants(source)), arguments.tests or named_after(file)
            some = random.Random(0).sample(found, min(arguments.most, len(found)))
            alive = [one for one in sorted(some, key=lambda one: one.line) if survives(file, one, place, tests)]
            (place / file).write_text(source)
            left += len(alive)
            print(f"{file}: {len(alive)} of {len(some)} survive (of {len(found)})", flush=True)
            for one in alive:
                print(f"  {file}:{one.line}: {one.change}", flush=True)
    return min(left, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
