"""Counts the engine's instructions per packet with callgrind: `make instructions`.

    python -m tools.engine_instructions [--write] [--binaries DIR]

A count of instructions is the same at any load, unlike time. Each capture is analysed in two sizes, on one thread, JSON
included: the difference of the counts over the difference of the packets leaves out what is done once.
docs/performance.md holds the table.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import captures, document

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/instructions"
# What the engine took at commit 3c11e10, before its files were put into rooms: later builds are compared with it.
BASELINE = {"few": 991.8, "short": 2058.0}


@dataclass(frozen=True, slots=True)
class Size:
    """One capture and what analysing it took."""

    packets: int
    instructions: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A capture in its two sizes."""

    name: str
    smaller: Size
    larger: Size

    @property
    def per_packet(self) -> float:
        """Instructions of each packet more."""
        instructions = self.larger.instructions - self.smaller.instructions
        return instructions / (self.larger.packets - self.smaller.packets)


# Arguments of bench_generate for the smaller and the larger capture: about 60,000 and 120,000 packets, seed 1.
SIZES = {
    "few": ("bulk", ("--flows", "8", "--packets", "60000"), ("--flows", "8", "--packets", "120000")),
    "short": ("short", ("--connections", "2850"), ("--connections", "5700")),
}


def main() -> int:
    """Prints the table; 1 if a program is missing or fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.engine_instructions", description="Instructions per packet of the engine, by callgrind."
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument(
        "--binaries", type=Path, default=target / "release/examples", help="folder of the built examples"
    )
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    arguments = parser.parse_args()
    missing = what_is_missing(arguments.binaries)
    if missing:
        print(f"engine_instructions: {missing}", file=sys.stderr)
        return 1
    try:
        counted = [count(name, arguments.binaries) for name in SIZES]
    except subprocess.CalledProcessError as error:
        print(f"engine_instructions: {error.cmd[0]} failed: {error.stderr}", file=sys.stderr)
        return 1
    text = f"{where()}\n\n{table(counted)}"
    print(text)
    if arguments.write:
        document.write_block("instructions", text)
    return 0


def what_is_missing(binaries: Path) -> str | None:
    """What to do before it can run."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (apt-get install valgrind)"
    if not all((binaries / name).exists() for name in ("analyze", "bench_generate")):
        return f"no examples in {binaries}: cargo build --release --locked --examples --package vmtrace-core"
    return None


def count(name: str, binaries: Path) -> Counted:
    """Makes both sizes of a capture and counts the instructions of each."""
    kind, *sizes = SIZES[name]
    made = [
        captures.make(
            captures.Recipe(f"{name}-{number}", name, str(kind), tuple(size), tuple(size)),
            binaries / "bench_generate",
            FOLDER,
            quick=False,
        )
        for number, size in enumerate(sizes)
    ]
    smaller, larger = (Size(one.packets, instructions(binaries / "analyze", one.path)) for one in made)
    return Counted(name, smaller, larger)


def instructions(program: Path, capture: Path) -> int:
    """Instructions that the program takes for a capture, one thread, JSON included."""
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={os.devnull}", str(program), str(capture), "1"]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return collected(done.stderr)


def collected(report: str) -> int:
    """The count in what callgrind prints."""
    found = re.search(r"Collected : (\d+)", report)
    if found is None:
        raise ValueError(f"no count in the report of callgrind: {report!r}")
    return int(found[1])


def where() -> str:
    """A sentence on date, commit, machine and command."""
    return document.where("instructions do not depend on the load. Command: `make instructions`.")


def table(counted: list[Counted]) -> str:
    """Markdown: a row for each capture."""
    rows = [
        f"| {one.name} | {one.smaller.packets:,} and {one.larger.packets:,} "
        f"| {one.smaller.instructions:,} and {one.larger.instructions:,} "
        f"| {one.per_packet:,.1f} | {one.per_packet / BASELINE[one.name]:.4f} |"
        for one in counted
    ]
    head = [
        "| capture | packets | instructions | instructions of a packet | 3c11e10 = 1 |",
        "|---|---:|---:|---:|---:|",
    ]
    return "\n".join([*head, *rows])


if __name__ == "__main__":
    sys.exit(main())
