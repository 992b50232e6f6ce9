"""Ratios of the engine's instructions, by callgrind: `make budget` fails where `appended` is above what is allowed.

    python -m tools.engine_ratios [--only NAME]... [--profile NAME]

`appended` is what captures of the same seconds take that stand one behind the other in a file, over what the same
packets take in order of time. The others are analysed on two threads: the part of all instructions that the busier
thread takes. Callgrind runs one thread at a time, so who takes what is chance: the best of some tries counts, and
`make instructions` alone asks for it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import kinds
from tools import engine_instructions

_APPENDED = "appended"
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Bound:
    """What is allowed of a ratio, and what is wanted: more is allowed where that is missed today."""

    name: str
    allowed: float
    wanted: float
    # The capture, in multiples of its smaller size: what is done once must weigh little in it.
    times: int


BOUNDS = (
    Bound(_APPENDED, 1.5, 1.5, times=8),
    Bound("few", 0.53, 0.53, times=8),
    Bound("many", 0.53, 0.53, times=2),
    Bound("short", 0.53, 0.53, times=4),
)


def main(words: Sequence[str]) -> int:
    """Prints the table; 1 if a program is missing or fails, or a ratio is above what is allowed."""
    options = _options().parse_args(words)
    binaries = engine_instructions.binaries(options.profile)
    missing = engine_instructions.what_is_missing(binaries)
    if missing:
        print(f"engine_ratios: {missing}", file=sys.stderr)
        return 1
    engine_instructions.FOLDER.mkdir(parents=True, exist_ok=True)
    bounds = [bound for bound in BOUNDS if not options.only or bound.name in options.only]
    try:
        found = [(bound, measured(bound, binaries)) for bound in bounds]
    except subprocess.CalledProcessError as error:
        print(f"engine_ratios: {error.cmd[0]} failed: {error.stderr}", file=sys.stderr)
        return 1
    print(table(found))
    lines = above(found)
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.engine_ratios", description="Ratios of the engine's instructions, by callgrind."
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this one alone")
    parser.add_argument("--profile", default=None, metavar="NAME", help="Cargo's, of the built examples")
    return parser


def measured(bound: Bound, binaries: Path) -> float:
    """The ratio today."""
    program, generator = binaries / "analyze", binaries / "bench_generate"

    def capture(name: str) -> Path:
        return kinds.cut(name, bound.times, generator, engine_instructions.FOLDER).path

    if bound.name == _APPENDED:
        behind, in_order = (
            engine_instructions.instructions(program, capture(name)) for name in (_APPENDED, kinds.IN_ORDER)
        )
        return behind / in_order
    path, best = capture(bound.name), 1.0
    for _ in range(_TRIES):
        counts = by_thread(program, path, threads=2)
        best = min(best, max(counts) / sum(counts))
        if best <= bound.wanted:
            break
    return best


def by_thread(program: Path, capture: Path, threads: int) -> list[int]:
    """Instructions of each thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts"
        options = ["--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={path}"]
        command = ["valgrind", *options, str(program), str(capture), str(threads)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return [of_thread(one.read_text()) for one in sorted(path.parent.glob("counts-*"))]


def of_thread(profile: str) -> int:
    """The sum in what callgrind writes of one thread."""
    found = re.findall(r"^(?:totals|summary): (\d+)", profile, re.MULTILINE)
    return int(found[-1]) if found else 0


def above(found: Sequence[tuple[Bound, float]]) -> list[str]:
    """A line for each ratio that is above what is allowed."""
    return [
        f"ratio: {bound.name}: {ratio:.3f}, at most {bound.allowed:g} is allowed ({bound.wanted:g} is wanted)"
        for bound, ratio in found
        if ratio > bound.allowed
    ]


def table(found: Sequence[tuple[Bound, float]]) -> str:
    """A row for each ratio."""
    rows = ["| ratio | today | allowed | wanted |", "|---|---:|---:|---:|"]
    rows += [f"| {bound.name} | {ratio:.3f} | {bound.allowed:g} | {bound.wanted:g} |" for bound, ratio in found]
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
