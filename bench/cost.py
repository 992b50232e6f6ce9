"""`python -m bench.cost`: how fast `vmtrace cost` replays a trace of accesses, and how much memory it takes.

The trace is made first: objects drawn by a Zipf law, a tenth of the accesses writes, a tenth from the service's region.
Measured is the whole replay of `vmtrace cost` in a process of its own: reading, numbering the objects, the ledger of
what is stored, and one cache by each policy.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from bench import document
from bench.results import Promise, promises_table

_ROOT = Path(__file__).parent.parent
_PAGE = _ROOT / "docs/cost.md"
_PART_ROWS = 1_000_000
_ZIPF = 1.1
_REPLAY = """
import resource, sys, time
from pathlib import Path
from vmtrace.providers.costs.simulate import Wanted, replay
wanted = Wanted(region="eu", archive_after_s=7 * 86400.0, cache_sizes_bytes=(20 * 10**12,))
replay(Path(sys.argv[1]), wanted)  # what is compiled is compiled now
begun_s, begun_cpu_s = time.monotonic(), time.process_time()
found = replay(Path(sys.argv[2]), wanted)
took_s, cpu_s = time.monotonic() - begun_s, time.process_time() - begun_cpu_s
print(found.rows, found.objects, took_s, cpu_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@dataclass(frozen=True, slots=True)
class Replayed:
    """One trace."""

    form: str
    accesses: int
    objects: int
    took_s: float
    cpu_s: float
    """Of all threads: what a machine that others use does not make longer."""
    peak_mib: float

    @property
    def rate(self) -> float:
        """Millions of accesses a second."""
        return self.accesses / self.took_s / 1e6

    @property
    def cpu_rate(self) -> float:
        """Millions of accesses a second of one processor."""
        return self.accesses / self.cpu_s / 1e6


def main() -> int:
    """Measure, print; status 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.cost", description="The speed of vmtrace cost on traces.")
    parser.add_argument("--quick", action="store_true", help="a look; nothing is written")
    arguments = parser.parse_args()
    sizes = (("csv", 2), ("parquet", 4)) if arguments.quick else (("csv", 10), ("parquet", 10), ("parquet", 100))
    with tempfile.TemporaryDirectory(prefix="vmtrace-bench-") as name:
        found = [measured(Path(name), form, millions * 1_000_000) for form, millions in sizes]
    text = "\n\n".join(
        [document.where("Command: `python -m bench.cost`."), table(found), promises_table(promises(found))]
    )
    print(text)
    if not arguments.quick:
        document.write_block("cost", text, _PAGE)
    return 0 if all(promise.kept for promise in promises(found)) else 1


def promises(found: list[Replayed]) -> list[Promise]:
    """What is promised of a replay."""
    rates = [
        Promise(f"{one.form}, {one.accesses:,}: accesses per CPU-second", one.cpu_rate, ">=", 1, "M") for one in found
    ]
    first, last = (one for one in (found[-2], found[-1]))
    return [*rates, Promise("memory of the longest over the one before", last.peak_mib / first.peak_mib, "<=", 1.5)]


def table(found: list[Replayed]) -> str:
    """A Markdown table."""
    lines = [
        "| trace | accesses | objects | seconds | M accesses/s | M accesses/CPU-s | peak memory, MiB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        cells = (
            one.form,
            f"{one.accesses:,}",
            f"{one.objects:,}",
            f"{one.took_s:.1f}",
            f"{one.rate:.2f}",
            f"{one.cpu_rate:.2f}",
        )
        lines.append(f"| {' | '.join(cells)} | {one.peak_mib:,.0f} |")
    return "\n".join(lines)


def measured(folder: Path, form: str, accesses: int, objects: int = 1_000_000) -> Replayed:
    """Make a trace and replay it."""
    first, path = made(folder / f"first.{form}", 1000, objects), made(folder / f"trace.{form}", accesses, objects)
    words = [sys.executable, "-c", _REPLAY, str(first), str(path)]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=_ROOT)
    rows, names, took_s, cpu_s, peak_kib = done.stdout.split()
    return Replayed(form, int(rows), int(names), float(took_s), float(cpu_s), int(peak_kib) / 1024)


def made(path: Path, accesses: int, objects: int) -> Path:
    """A trace; the same for the same numbers."""
    random = np.random.default_rng(1)
    names = pa.array([f"runs/{number:08}" for number in range(objects)])
    sizes = random.integers(1, 1000, objects) * 1_000_000
    writer: csv.CSVWriter | parquet.ParquetWriter | None = None
    for begin in range(0, accesses, _PART_ROWS):
        rows = min(_PART_ROWS, accesses - begin)
        drawn = random.zipf(_ZIPF, rows) % objects
        part = pa.table(
            {
                "time": (begin + np.arange(rows)) * 0.7,
                "object": names.take(pa.array(drawn)),
                "bytes": sizes[drawn],
                "operation": pa.array(["read", "write"]).take(pa.array((random.random(rows) < 0.1).astype(int))),
                "place": pa.array(["home", "eu"]).take(pa.array((random.random(rows) < 0.1).astype(int))),
            }
        )
        if writer is None:
            made_by = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
            writer = made_by(path, part.schema)
        writer.write_table(part)
    if writer is not None:
        writer.close()
    return path


if __name__ == "__main__":
    sys.exit(main())
