"""`python -m bench.storage_campaign`: weeks of probes by simulation, and what their folder and their report cost.

A campaign of `garfinkel2007-probes` (two writes and two reads each) runs against a service in memory with a clock that
jumps instead of waiting. Measured are the growth of memory while it runs, the sizes of its files, and time and memory
of `vmtrace storage report --json` in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import document
from bench.results import Promise, promises_table
from vmtrace.providers import registry
from vmtrace.providers.campaign import run_campaign
from vmtrace.providers.display import Display
from vmtrace.providers.errors import ErrorKind, ServiceError
from vmtrace.providers.kinds.sampling_plan import GARFINKEL2007_PROBES
from vmtrace.providers.order import Order
from vmtrace.providers.service import LocalFile, Sdk, Sink, Stored

_START_NS = 1_174_000_000 * 10**9
_PROBES = 100_000
_MOST_REPORT_S, _MOST_REPORT_BYTES = 30.0, 1 << 30
_SIZES = (1, 1_000)
"""Small ones: what is moved is no part of what is measured."""


class JumpingClock:
    """Passes only by waiting, and by what a simulated request takes."""

    longest_sleep_s = math.inf

    def __init__(self) -> None:
        self._now_ns = _START_NS

    def wall_ns(self) -> int:
        """Simulated."""
        return self._now_ns

    def elapsed_ns(self) -> int:
        """Simulated."""
        return self._now_ns

    def sleep(self, seconds: float) -> None:
        """At once."""
        self._now_ns += max(0, round(seconds * 1e9))


@dataclass
class Simulated:
    """A service in memory whose requests take some simulated milliseconds, longer at noon than at night."""

    clock: JumpingClock
    objects: dict[str, bytes] = field(default_factory=dict)
    sdk: Sdk = field(default_factory=lambda: Sdk("simulated", "1", {}))
    archives: bool = False
    lists_at_once: bool = True
    part_bytes: int | None = None
    endpoint: str = "http://127.0.0.1:9"
    region: str | None = None
    chance: random.Random = field(default_factory=lambda: random.Random(2007))

    def _takes(self) -> None:
        hour = self.clock.wall_ns() // (3600 * 10**9) % 24
        self.clock.sleep(self.chance.lognormvariate(-3.5 + 0.02 * hour, 0.3))

    def login(self) -> None:
        """Nothing to do."""

    def create_container(self) -> None:
        """Nothing to do."""

    def remove_container(self) -> None:
        """Nothing to do."""

    def upload(self, name: str, file: LocalFile) -> Stored:
        """Keep it."""
        self._takes()
        self.objects[name] = file.path.read_bytes()
        return Stored(name, file.md5, True)

    def request_restore(self, reference: str) -> None:
        """Never asked for."""

    def is_restored(self, reference: str) -> bool:
        """Always."""
        return bool(reference)

    def download(self, reference: str, sink: Sink) -> int:
        """Give it back."""
        self._takes()
        sink.write(self.objects[reference])
        return 0

    def delete(self, references: Sequence[str]) -> None:
        """Forget them."""
        for reference in references:
            self.objects.pop(reference, None)

    def own_objects(self, prefix: str) -> Iterator[str]:
        """All."""
        yield from [name for name in self.objects if name.startswith(prefix)]

    def abandon_uploads(self, prefix: str) -> None:
        """There are none."""

    def close(self) -> None:
        """Nothing to do."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One simulated campaign and its report."""

    probes: int
    requests: int
    took_s: float
    grown_bytes: int
    """Resident memory at the end, less that after a tenth of the probes."""
    folder_bytes: int
    report_s: float
    """Processor time: of a busy machine the clock on the wall says little."""
    report_bytes: int


def register(clock: JumpingClock) -> None:
    """Have the service under the name `simulated` in the registry of this process."""
    service = Simulated(clock)
    made = ModuleType("vmtrace.providers.services.simulated")
    vars(made).update(EXTRA="", OPTIONS={}, build=lambda _: service, error_of=_error_of)
    sys.modules[made.__name__] = made
    names = [name for name in registry.names() if name != "simulated"]
    registry.names = lambda: [*names, "simulated"]


def _error_of(error: Exception) -> ServiceError:
    return error if isinstance(error, ServiceError) else ServiceError(ErrorKind.OTHER, str(error))


class _Watching(Display):
    """Takes the memory after a tenth of the probes."""

    def __init__(self, probes: int) -> None:
        self._after, self._seen = probes // 10, 0
        self.early_bytes = 0

    def progressed(self, line: str) -> None:
        self._seen += 1
        if not self.early_bytes and int(line.split(" ", 1)[0]) >= self._after:
            self.early_bytes = resident_bytes()


def resident_bytes() -> int:
    """Of this process, now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(probes: int, folder: Path) -> Measured:
    """Simulate, then report."""
    clock = JumpingClock()
    register(clock)
    base = GARFINKEL2007_PROBES
    plan = replace(base, sizes_bytes=_SIZES, at_once=1, duration_s=probes * (base.mean_interval_s or 1.0))
    display, began_s = _Watching(probes), time.perf_counter()
    out = folder / f"run-{probes}"
    end = run_campaign(
        Order(provider="simulated", out=out, plan=plan, capture=False, interface="any", metadata=False), display, clock
    )
    took_s = time.perf_counter() - began_s
    assert end.status == "complete", end.error
    grown = resident_bytes() - display.early_bytes
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    report_s, report_bytes, requests = report(out)
    return Measured(probes, requests, took_s, grown, size, report_s, report_bytes)


def report(out: Path) -> tuple[float, int, int]:
    """Seconds of a processor, largest resident memory in bytes, and requests of a report by a process of its own."""
    target = out / "report.json"
    words = [sys.executable, "-m", "vmtrace", "storage", "report", str(out), "--json", str(target), "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    largest = after.ru_maxrss * 1024
    content: dict[str, Any] = json.loads(target.read_bytes())
    return took_s, largest, int(content["runs"][0]["campaign"]["requests"])


def main() -> int:
    """Measure a tenth and the whole, print; status 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.storage_campaign", description=__doc__.splitlines()[0])
    parser.add_argument("--probes", type=int, default=_PROBES, metavar="N", help="of the larger campaign (100000)")
    parser.add_argument("--quick", action="store_true", help="a look: a fiftieth of it, and nothing is written")
    parser.add_argument("--folder", metavar="DIR", help="where the runs are for a while (default: the system's)")
    arguments = parser.parse_args()
    probes = arguments.probes // 50 if arguments.quick else arguments.probes
    with tempfile.TemporaryDirectory(prefix="vmtrace-bench-", dir=arguments.folder) as name:
        found = [measure(count, Path(name)) for count in (probes // 10, probes)]
    text = "\n\n".join(
        [
            document.where("Command: `python -m bench.storage_campaign`."),
            table(found),
            promises_table(promises(found[-1])),
        ]
    )
    print(text)
    if not arguments.quick:
        document.write_block("storage-campaign", text)
    return 0 if all(promise.kept for promise in promises(found[-1])) else 1


def promises(one: Measured) -> list[Promise]:
    """What is promised of a hundred thousand probes."""
    return [
        Promise("report, s of CPU", one.report_s, "<=", _MOST_REPORT_S),
        Promise("report, bytes of memory", float(one.report_bytes), "<=", float(_MOST_REPORT_BYTES)),
    ]


def table(found: Sequence[Measured]) -> str:
    """A line for each campaign."""
    lines = [
        "| probes | requests | simulated in, s | memory grown by, MB | folder, MB | report, CPU s | its memory, MB |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        sizes = [one.grown_bytes / 1e6, one.folder_bytes / 1e6]
        cells = [f"{one.probes:,}", f"{one.requests:,}", f"{one.took_s:.0f}", *(f"{size:.1f}" for size in sizes)]
        cells += [f"{one.report_s:.1f}", f"{one.report_bytes / 1e6:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
