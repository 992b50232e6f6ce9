"""Counts the engine's instructions per packet with callgrind: `make instructions`, `make budget`.

    python -m tools.engine_instructions [--check | --freeze | --write] [--only NAME]... [--binaries DIR]

A count of instructions is the same at any load, unlike time. Each kind is analysed in two sizes, on one thread, JSON
included: the difference of the counts over the difference of the packets leaves out what is done once. In the same way
peak memory, of runs without callgrind, over connections or packets.

`--check` compares with bench/budget.tsv and fails where a kind takes more than 3 % above its budget, `--freeze` writes
what was counted there, `--write` into docs/performance.md.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench import document, kinds

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build/instructions"
# Above the budget by so much is still within it; memory comes in pages and blocks.
TOLERANCE = 0.03
MEMORY_TOLERANCE = 0.1
_HEAD = ["capture", "instructions", "bytes", "of", "what"]


@dataclass(frozen=True, slots=True)
class Size:
    """One capture and what analysing it took."""

    packets: int
    connections: int
    instructions: int
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class Counted:
    """A kind of capture in its two sizes."""

    name: str
    smaller: Size
    larger: Size

    @property
    def per_packet(self) -> float:
        """Instructions of each packet more."""
        instructions = self.larger.instructions - self.smaller.instructions
        return instructions / (self.larger.packets - self.smaller.packets)

    def memory(self, of: str) -> float:
        """Bytes of peak memory of each connection more, or packet."""
        bytes_more = self.larger.peak_bytes - self.smaller.peak_bytes
        if of == "connection":
            return bytes_more / (self.larger.connections - self.smaller.connections)
        return bytes_more / (self.larger.packets - self.smaller.packets)


@dataclass(frozen=True, slots=True)
class Budget:
    """What a packet of a kind of capture may cost, and where it applies, the memory of a connection or a packet."""

    instructions: float
    memory_bytes: float | None
    of: str
    what: str


def main() -> int:
    """Prints the table; 1 if a program is missing or fails, or a budget is exceeded."""
    options = _options().parse_args()
    missing = what_is_missing(options.binaries)
    if missing:
        print(f"engine_instructions: {missing}", file=sys.stderr)
        return 1
    budgets = read()
    names = [name for name in kinds.NAMES if not options.only or name in options.only]
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            counted = list(pool.map(lambda name: count(name, options.binaries), names))
    except subprocess.CalledProcessError as error:
        print(f"engine_instructions: {error.cmd[0]} failed: {error.stderr}", file=sys.stderr)
        return 1
    text = table(counted, budgets)
    print(text)
    if options.write:
        profile = options.binaries.parent.name
        command = f"PROFILE={profile} python -m tools.engine_instructions --write"
        how = f"Cargo profile `{profile}`; instructions do not depend on the load. Command: `{command}`."
        document.write_block("instructions", f"{document.where(how)}\n\n{text}")
    if options.freeze:
        freeze(counted, budgets)
    exceeded = above(counted, budgets) if options.check else []
    print(*exceeded, sep="\n", end="\n" if exceeded else "")
    return 1 if exceeded else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.engine_instructions", description="Instructions per packet of the engine, by callgrind."
    )
    parser.add_argument("--binaries", type=Path, default=binaries(), help="folder of the built examples")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this kind of capture alone")
    parser.add_argument("--check", action="store_true", help="fail where a budget is exceeded")
    parser.add_argument("--freeze", action="store_true", help="write what was counted into bench/budget.tsv")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser


def binaries(profile: str | None = None) -> Path:
    """Where Cargo puts the examples of a profile, or of the one that the environment names."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / (profile or os.environ.get("PROFILE", "release")) / "examples"


def what_is_missing(binaries: Path) -> str | None:
    """What to do before it can run."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed (apt-get install valgrind)"
    if not all((binaries / name).exists() for name in ("analyze", "bench_generate")):
        return f"no examples in {binaries}: cargo build --profile PROFILE --locked --examples --package vmtrace-core"
    return None


# --- counting ---


def count(name: str, binaries: Path) -> Counted:
    """Makes both sizes of a capture and counts what each takes."""
    cuts = [kinds.cut(name, times, binaries / "bench_generate", FOLDER) for times in (1, 2)]
    smaller, larger = (
        Size(
            cut.packets,
            cut.connections,
            instructions(binaries / "analyze", cut.path),
            peak_bytes(binaries / "analyze", cut.path),
        )
        for cut in cuts
    )
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


def peak_bytes(program: Path, capture: Path) -> int:
    """The most memory that the program takes for a capture."""
    command = [str(program), str(capture), "1"]
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"VmHWM:\s*(\d+) kB", done.stderr)
    return 1024 * int(found[1]) if found else 0


# --- the budget ---


def read(path: Path = kinds.BUDGET) -> dict[str, Budget]:
    """The budget of each kind of capture."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {
        row["capture"]: Budget(
            float(row["instructions"]), float(row["bytes"]) if row["bytes"] else None, row["of"], row["what"]
        )
        for row in csv.DictReader(lines, dialect="excel-tab")
    }


def freeze(counted: Iterable[Counted], budgets: dict[str, Budget], path: Path = kinds.BUDGET) -> None:
    """Writes what was counted as the budget, its comments as they were."""
    new = {one.name: one for one in counted}
    comments = [line for line in path.read_text().splitlines() if line.startswith("#")]
    rows = ["\t".join(_HEAD)]
    for name, budget in budgets.items():
        one = new.get(name)
        allowed = round(one.per_packet) if one else round(budget.instructions)
        memory = budget.memory_bytes if one is None or budget.memory_bytes is None else one.memory(budget.of)
        rows.append(
            "\t".join([name, str(allowed), "" if memory is None else str(round(memory)), budget.of, budget.what])
        )
    path.write_text("\n".join([*comments, *rows]) + "\n")


def above(counted: Iterable[Counted], budgets: dict[str, Budget]) -> list[str]:
    """A line for each budget that is exceeded."""
    lines = []
    for one in counted:
        budget = budgets[one.name]
        if one.per_packet > budget.instructions * (1 + TOLERANCE):
            more = one.per_packet / budget.instructions - 1
            lines.append(
                f"budget: {one.name} takes {one.per_packet:,.0f} instructions a packet, {more:.1%} above the budget of "
                f"{budget.instructions:,.0f} ({budget.what})"
            )
        allowed = budget.memory_bytes
        if allowed is not None and one.memory(budget.of) > allowed * (1 + MEMORY_TOLERANCE):
            lines.append(
                f"budget: {one.name} takes {one.memory(budget.of):,.0f} bytes a {budget.of}, {allowed:,.0f} are allowed"
            )
    return lines


def table(counted: Iterable[Counted], budgets: dict[str, Budget]) -> str:
    """Markdown: a row for each kind of capture."""
    rows = ["| capture | what | packets | instructions a packet | memory |", "|---|---|---:|---:|---:|"]
    for one in counted:
        budget = budgets[one.name]
        memory = "" if budget.memory_bytes is None else f"{one.memory(budget.of):,.0f} bytes a {budget.of}"
        packets = f"{one.smaller.packets:,} and {one.larger.packets:,}"
        rows.append(f"| {one.name} | {budget.what} | {packets} | {one.per_packet:,.0f} | {memory} |")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
