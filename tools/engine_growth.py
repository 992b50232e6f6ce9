"""Does the engine's work grow faster than a capture? `make growth`; a part of `make budget`.

    python -m tools.engine_growth [--size N] [--only NAME]... [--profile NAME]

Each family of `tools.growing` is analysed in three sizes, on one thread, JSON included: N, 2 N and 4 N records. What
the second doubling adds over what the first added is 2 for work in proportion, a little more for n log n, 4 for n
squared. What is done once falls out. Callgrind counts instructions, the same at any load; more than 2.3 fails.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import sched_getaffinity
from pathlib import Path

from tools import engine_instructions, growing

FOLDER = engine_instructions.ROOT / "build/growth"
MOST = 2.3
# Records of the smallest of three captures: enough for what grows with the square to show.
SIZE = 1_000
# Of these, what is doubled is not records: depth, and what a frame of 64 KiB holds.
_SIZES = {"vlan_tags": 64, "tunnels": 16}


@dataclass(frozen=True, slots=True)
class Growth:
    """Instructions for a family in three sizes, each twice the one before."""

    family: str
    instructions: tuple[int, int, int]

    @property
    def ratio(self) -> float:
        """What the second doubling adds over what the first added."""
        small, middle, large = self.instructions
        return (large - middle) / max(middle - small, 1)

    @property
    def grows_too_fast(self) -> bool:
        """Faster than n log n, and by more than what is counted for each capture alone."""
        small, middle, large = self.instructions
        return self.ratio > MOST and large - middle > small / 10


def main(words: Sequence[str]) -> int:
    """Prints the table; 1 if a program is missing or fails, or a family grows too fast."""
    options = _options().parse_args(words)
    binaries = engine_instructions.binaries(options.profile)
    missing = engine_instructions.what_is_missing(binaries)
    if missing:
        print(f"engine_growth: {missing}", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    families = [family for family in growing.FAMILIES if not options.only or family in options.only]
    try:
        with ThreadPoolExecutor(len(sched_getaffinity(0))) as pool:
            found = list(pool.map(lambda family: grown(family, options.size, binaries / "analyze"), families))
    except subprocess.CalledProcessError as error:
        print(f"engine_growth: {error.cmd[-2]} failed: {error.stderr}", file=sys.stderr)
        return 1
    print(table(found))
    lines = too_fast(found)
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.engine_growth", description="How the engine's instructions grow with a capture."
    )
    parser.add_argument(
        "--size", type=int, default=SIZE, metavar="N", help=f"of the smallest capture (default: {SIZE})"
    )
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this family alone")
    parser.add_argument("--profile", default=None, metavar="NAME", help="Cargo's, of the built examples")
    return parser


def grown(family: str, size: int, program: Path) -> Growth:
    """Writes the three captures of a family and counts what each takes."""
    size = _SIZES.get(family, size)
    counts = []
    for times in (1, 2, 4):
        path = FOLDER / f"{family}-{times}"
        growing.write(family, times * size, path)
        counts.append(engine_instructions.instructions(program, path))
        path.unlink()
    return Growth(family, (counts[0], counts[1], counts[2]))


def too_fast(found: Sequence[Growth]) -> list[str]:
    """A line for each that grows too fast."""
    return [
        f"growth: {one.family}: twice as much takes {one.ratio:.2f} times the instructions, at most {MOST} are allowed"
        for one in found
        if one.grows_too_fast
    ]


def table(found: Sequence[Growth]) -> str:
    """A row for each family."""
    rows = ["| family | instructions, three sizes | growth |", "|---|---:|---:|"]
    for one in found:
        counts = ", ".join(f"{count:,}" for count in one.instructions)
        rows.append(f"| {one.family} | {counts} | {one.ratio:.2f} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
