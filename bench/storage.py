"""`python -m bench.storage`: what recording and logging cost a transfer with a storage service's SDK.

The same files go up and down again through the same SDK, by turns in a plain loop and as `vmtrace storage run` does it
(observed, digested, logged, with the packets recorded), against a real server on this machine over TLS. Compared is the
time from the first object's begin to the last one's end, of uploads and downloads together; for each direction there is
a new client, logged in before.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import document
from bench.results import Promise, promises_table
from bench.storage_sdks import plain_client
from vmtrace.capture.interruption import Interruption
from vmtrace.capture.settings import CaptureSettings
from vmtrace.lab.services import azurite, certificates, swift
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import craft
from vmtrace.providers.journal import Journal
from vmtrace.providers.plan import DOWNLOAD, UPLOAD, Workload
from vmtrace.providers.recording import Recorded, Recording, capture_filter
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.service import Target
from vmtrace.providers.transaction import Transactor
from vmtrace.providers.transfer import Item, Job

_MOST_OVERHEAD = 1.05
_WORKLOADS = (Workload("100x4kB", 100, 4_000), Workload("10x10MB", 10, 10_000_000))
_QUICK_WORKLOADS = (Workload("50x4kB", 50, 4_000), Workload("2x1MB", 2, 1_000_000))


@dataclass(frozen=True, slots=True)
class Turn:
    """One way through all files, up and down: time, and the client's processor time with login and recording thread."""

    took_s: float
    cpu_s: float
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """Turns of one service and workload, in pairs."""

    provider: str
    workload: str
    plain: tuple[Turn, ...]
    recorded: tuple[Turn, ...]

    @property
    def ratio(self) -> float:
        """Of the medians: from turn to turn the server's share scatters by more than what is measured."""
        recorded, plain = (statistics.median(turn.took_s for turn in turns) for turns in (self.recorded, self.plain))
        return recorded / plain

    @property
    def dropped(self) -> int:
        """Packets that no capture has."""
        return sum(turn.dropped for turn in self.recorded)


def main() -> int:
    """Measure, print; status 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.storage", description="The cost of vmtrace storage run.")
    parser.add_argument("--quick", action="store_true", help="a look; nothing is written")
    parser.add_argument("--rounds", type=int, default=0, help="pairs of turns (default 9; quick: 2)")
    arguments = parser.parse_args()
    workloads = _QUICK_WORKLOADS if arguments.quick else _WORKLOADS
    rounds = arguments.rounds or (2 if arguments.quick else 9)
    found = [one for workload in workloads for one in compare_all(workload, rounds)]
    text = "\n\n".join(
        [document.where("Command: `python -m bench.storage`."), table(found), promises_table(promises(found))]
    )
    print(text)
    if not arguments.quick:
        document.write_block("storage", text)
    return 0 if all(promise.kept for promise in promises(found)) else 1


def promises(found: Sequence[Compared]) -> list[Promise]:
    """What is promised of `vmtrace storage run`."""
    kept = [
        Promise(f"{one.provider}, {one.workload}: recorded / plain", one.ratio, "<=", _MOST_OVERHEAD) for one in found
    ]
    return [*kept, Promise("packets dropped", float(sum(one.dropped for one in found)), "<=", 0)]


def table(found: Sequence[Compared]) -> str:
    """Medians of each service and workload."""
    lines = [
        "| service | workload | plain SDK, s | recorded, s | ratio | client's CPU, plain, s | recorded, s | dropped |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        both = (one.plain, one.recorded)
        times = [f"{statistics.median(turn.took_s for turn in turns):.3f}" for turns in both]
        cpu = [f"{statistics.median(turn.cpu_s for turn in turns):.3f}" for turns in both]
        cells = [one.provider, one.workload, *times, f"{one.ratio:.3f}", *cpu, str(one.dropped)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def compare_all(workload: Workload, rounds: int) -> Iterator[Compared]:
    """Each service that can be had here."""
    with tempfile.TemporaryDirectory(prefix="vmtrace-bench-") as name:
        folder = Path(name)
        chain = certificates.make(folder / "certificates")
        with swift.started(chain) as server:
            for provider in ("s3", "swift"):
                yield compare(provider, server, workload, rounds, folder / provider)
        if azurite.missing_requirement() is None:
            with azurite.started(chain) as server:
                yield compare("azure-blob", server, workload, rounds, folder / "azure-blob")


def compare(provider: str, server: Server, workload: Workload, rounds: int, folder: Path) -> Compared:
    """By turns, so that whatever else the machine does falls on both."""
    plain, recorded = [], []
    with environment(server.environment):
        bench = _Bench(provider, server, workload, folder)
        bench.plain()  # what is loaded late is loaded now
        bench.recorded()
        for number in range(rounds):
            if number % 2:
                recorded.append(bench.recorded())
                plain.append(bench.plain())
            else:
                plain.append(bench.plain())
                recorded.append(bench.recorded())
            took = f"plain {plain[-1].took_s:.2f} s, recorded {recorded[-1].took_s:.2f} s"
            print(
                f"bench: {provider}, {workload.name}, pair {number + 1} of {rounds}: {took}",
                file=sys.stderr,
                flush=True,
            )
        bench.close()
    return Compared(provider, workload.name, tuple(plain), tuple(recorded))


class _Timed(Recording):
    """`cpu_s` is taken between begin and end of a recording; to open it and to end it is no transfer's cost."""

    cpu_s = 0.0

    def start(self) -> None:
        super().start()
        self.cpu_s = -time.process_time()

    def stop(self) -> Recorded:
        self.cpu_s += time.process_time()
        return super().stop()


class _Bench:
    """A container, files, and both ways to move them."""

    def __init__(self, provider: str, server: Server, workload: Workload, folder: Path) -> None:
        self._provider, self._workload, self._server = registry.find(provider), workload, server
        self._container = f"bench-{os.urandom(6).hex()}"
        self._target = Target(provider, self._container)
        self._service = registry.build(self._provider, self._target)
        self._service.create_container()
        folder.mkdir()
        self._files = craft(folder / "files", workload, self._service.part_bytes)
        self._folder = RunFolder.create(folder / "run", {})
        self._journal = Journal(folder / "run")
        self._turns = 0

    def plain(self) -> Turn:
        """The SDK in a loop; a client of its own for each direction, as each transaction has."""
        names = [f"plain/{number}" for number in range(len(self._files))]
        took_s, began_cpu_s = 0.0, time.process_time()
        for direction in (UPLOAD, DOWNLOAD):
            with plain_client(self._provider.name, self._container) as client:
                client.login()
                began_s = time.perf_counter()
                for name, file in zip(names, self._files, strict=True):
                    if direction == UPLOAD:
                        client.upload(file.path, name)
                    else:
                        client.download(name)
                took_s += time.perf_counter() - began_s
        cpu_s = time.process_time() - began_cpu_s
        self._service.delete(names)
        return Turn(took_s, cpu_s)

    def recorded(self) -> Turn:
        """As `vmtrace storage run` does it, both transactions of a pair."""
        self._turns += 1
        items = [Item(f"run/{number}", file) for number, file in enumerate(self._files)]
        settings = CaptureSettings("lo", capture_filter([self._server.endpoint_url], []))
        took_s, cpu_s, dropped = 0.0, 0.0, 0
        with HttpObserver() as observer:
            transactor = Transactor(
                lambda: registry.build(self._provider, self._target),
                self._provider.error_of,
                observer,
                self._folder,
                self._journal,
                Interruption(),
                self,
            )
            for direction in (UPLOAD, DOWNLOAD):
                number = 2 * self._turns + (direction == DOWNLOAD)
                recording = _Timed(None, settings, self._folder.capture_path(number))
                record = transactor.run(Job(number, self._workload, 1, direction, items), recording).record
                assert record["status"] == "complete", record["error"]
                took_s += (record["end_ns"] - record["login"]["end_ns"]) / 1e9
                cpu_s += recording.cpu_s
                dropped += record["capture"]["dropped"]
        self._service.delete([item.name for item in items])
        return Turn(took_s, cpu_s, dropped)

    def moved(self, size_bytes: int) -> None:
        """Nobody is told."""

    def close(self) -> None:
        """Leave nothing."""
        self._service.remove_container()
        self._service.close()
        self._journal.close()
        self._folder.close()


@contextmanager
def environment(values: Mapping[str, str]) -> Iterator[None]:
    """What the SDKs read, for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


if __name__ == "__main__":
    sys.exit(main())
