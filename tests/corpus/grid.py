"""The whole grid, compared byte by byte with one process: `make corpus` prints the table of docs/corpus.md.

Each corpus is run with each number of workers and of buckets. Workers are processes of a Dask cluster of this machine.
"""

import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.corpus.corpora import BUCKETS, CORPORA, WORKERS
from tests.corpus.oracle import assert_same, one_process, run
from vmtrace.corpus import workers


@contextmanager
def small_runs() -> Iterator[None]:
    """Small captures are cut as large ones are: where files can stand apart, each is a run of its own."""
    with (
        patch("vmtrace.corpus.planning.ONE_TASK_BYTES", 0),
        patch("vmtrace.corpus.planning._LEAST_RUN_BYTES", 1),
        patch("vmtrace.corpus.planning._RUNS_PER_WORKER", 1000),
    ):
        yield


@contextmanager
def _workers(count: int) -> Iterator[workers.Workers]:
    if count == 1:
        yield workers.ThisProcess()
    else:
        with workers.local_cluster(count, 512 << 20) as several:
            yield several


def main() -> None:
    """Print a row for each corpus; fails at the first difference."""
    started_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="vmtrace-grid-") as folder, small_runs():
        paths = {name: [str(path) for path in make(Path(folder, name))] for name, make in CORPORA.items()}
        oracles = {name: one_process(some) for name, some in paths.items()}
        runs: dict[str, set[int]] = {name: set() for name in CORPORA}
        for count in WORKERS:
            with _workers(count) as several:
                for name, some in paths.items():
                    for buckets in BUCKETS:
                        out = Path(folder, f"{name}-{count}-{buckets}")
                        runs[name].add(run(some, out, buckets, several).runs)
                        assert_same(out, some, oracles[name])
            sys.stderr.write(f"{count} workers: equal, {time.monotonic() - started_s:.0f} s\n")
    _print(paths, {name: len(oracle) for name, oracle in oracles.items()}, runs, time.monotonic() - started_s)


def _print(paths: dict[str, list[str]], connections: dict[str, int], runs: dict[str, set[int]], took_s: float) -> None:
    grid = f"workers {', '.join(map(str, WORKERS))} x buckets {', '.join(map(str, BUCKETS))}"
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.0f}"
    lines = [f"{time.strftime('%Y-%m-%d')}, {machine}: {grid}, {took_s:.0f} s in all", ""]
    lines += ["| corpus | captures | runs | connections | runs of the grid that were equal |", "|---|---|---|---|---|"]
    for name, some in paths.items():
        cut = "-".join(map(str, sorted({min(runs[name]), max(runs[name])})))
        equal = len(WORKERS) * len(BUCKETS)
        what = name.replace("_", " ")
        lines.append(f"| {what} | {len(some)} | {cut} | {connections[name]} | {equal} of {equal} |")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
