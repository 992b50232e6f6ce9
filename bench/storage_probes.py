"""`python -m bench.storage_probes`: what it costs a request to be a probe, and whether probes begin on time.

Requests of 1 kB go through the same SDK to a server on this machine, over TLS on loopback, each on a connection of its
own: by turns in a plain loop, and as `garfinkel2007-probes` makes them (observed, names listened to, digested, logged,
packets recorded). Then `vmtrace storage run` probes the same server once a second, and its report says how many began
late.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench import document
from bench.results import Promise, promises_table
from bench.storage import environment
from bench.storage_sdks import plain_client
from vmtrace.capture.settings import CaptureSettings
from vmtrace.formats.quantities import shown_s
from vmtrace.lab.services import certificates, swift
from vmtrace.lab.services.service import Service as Server
from vmtrace.providers import registry
from vmtrace.providers.clock import RealClock
from vmtrace.providers.exchanges import HttpObserver
from vmtrace.providers.files import craft
from vmtrace.providers.kinds.requester import Requester
from vmtrace.providers.plan import Workload
from vmtrace.providers.recording import Recording, capture_filter
from vmtrace.providers.resolver import Resolver
from vmtrace.providers.service import Target

_MOST_OVERHEAD, _MOST_LATE = 1.05, 0.001
_REQUESTS = Workload("1 kB", 40, 1_000)
_PROBES_S = 1200


@dataclass(frozen=True, slots=True)
class Overhead:
    """Seconds of a request, a median for each turn."""

    provider: str
    plain_s: tuple[float, ...]
    probed_s: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Of the medians of all turns."""
        return statistics.median(self.probed_s) / statistics.median(self.plain_s)


def main() -> int:
    """Measure, print; status 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m bench.storage_probes", description="The cost of being a probe.")
    parser.add_argument("--quick", action="store_true", help="a look; nothing is written")
    arguments = parser.parse_args()
    rounds, probes_s = (2, 20) if arguments.quick else (9, _PROBES_S)
    with tempfile.TemporaryDirectory(prefix="vmtrace-bench-") as name:
        folder = Path(name)
        chain = certificates.make(folder / "certificates")
        with swift.started(chain) as server, environment(server.environment):
            found = [compare(provider, server, rounds, folder / provider) for provider in ("s3", "swift")]
            lateness = probed(probes_s, folder / "run")
    promised = promises(found, lateness)
    text = "\n\n".join(
        [document.where("Command: `python -m bench.storage_probes`."), table(found), said(lateness, probes_s),
         promises_table(promised)]
    )  # fmt: skip
    print(text)
    if not arguments.quick:
        document.write_block("storage-probes", text)
    return 0 if all(promise.kept for promise in promised) else 1


def promises(found: Sequence[Overhead], lateness: dict[str, Any]) -> list[Promise]:
    """What is promised of probes."""
    kept = [
        Promise(f"{one.provider}: a probe's request / a plain one", one.ratio, "<=", _MOST_OVERHEAD) for one in found
    ]
    return [*kept, Promise("late probes, at one a second", lateness["late_share"], "<=", _MOST_LATE)]


def table(found: Sequence[Overhead]) -> str:
    """Medians of each service."""
    lines = ["| service | plain SDK, ms | as a probe, ms | ratio |", "|---|---:|---:|---:|"]
    for one in found:
        plain_ms, probed_ms = (statistics.median(times) * 1e3 for times in (one.plain_s, one.probed_s))
        lines.append(f"| {one.provider} | {plain_ms:.2f} | {probed_ms:.2f} | {one.ratio:.3f} |")
    return "\n".join(lines)


def said(lateness: dict[str, Any], probes_s: float) -> str:
    """How late probes began."""
    late_after, median, largest = (
        shown_s(lateness[key]) for key in ("late_after_s", "median_late_s", "largest_late_s")
    )
    return (
        f"One probe a second on average for {shown_s(probes_s)}: of {lateness['probes']} probes {lateness['late']} "
        f"began more than {late_after} late; {median} in the median, {largest} at most."
    )


def compare(provider: str, server: Server, rounds: int, folder: Path) -> Overhead:
    """By turns, so that whatever else the machine does falls on both."""
    plain, probed_s = [], []
    with closing(_Bench(provider, server, folder)) as bench:
        bench.plain()  # what is loaded late is loaded now
        bench.probed()
        for number in range(rounds):
            plain.append(bench.plain())
            probed_s.append(bench.probed())
            took = f"plain {plain[-1] * 1e3:.2f} ms, as a probe {probed_s[-1] * 1e3:.2f} ms"
            print(f"bench: {provider}, turn {number + 1} of {rounds}: {took}", file=sys.stderr, flush=True)
    return Overhead(provider, tuple(plain), tuple(probed_s))


class _Bench:
    """A container, files, and both ways to make requests. Each way returns the median time of a request."""

    def __init__(self, provider: str, server: Server, folder: Path) -> None:
        self._provider, self._server, self._folder = registry.find(provider), server, folder
        self._target = Target(provider, f"probes-{provider}")
        self._service = registry.build(self._provider, self._target)
        self._service.create_container()
        folder.mkdir()
        self._files = craft(folder / "files", _REQUESTS, self._service.part_bytes)
        self._turns = 0

    def plain(self) -> float:
        """The SDK in a loop, its connections closed after each request."""
        assert self._target.container is not None
        names = [f"plain/{number}" for number in range(len(self._files))]
        with plain_client(self._provider.name, self._target.container) as client:
            client.login()
            client.close()
            times = []
            for name, file in zip(names, self._files, strict=True):
                for request in (partial(client.upload, file.path, name), partial(client.download, name)):
                    began_s = time.perf_counter()
                    request()
                    client.close()
                    times.append(time.perf_counter() - began_s)
        self._service.delete(names)
        return statistics.median(times)

    def probed(self) -> float:
        """As probes make them; the packets of a turn are recorded in one piece."""
        self._turns += 1
        settings = CaptureSettings("lo", capture_filter([self._server.endpoint_url], []))
        recording = Recording(None, settings, self._folder / f"{self._turns}.pcap")
        recording.start()
        try:
            times, references = self._timed()
        finally:
            recording.stop()
        self._service.delete(references)
        return statistics.median(times)

    def _timed(self) -> tuple[list[float], list[str]]:
        times, references = [], []
        log = (self._folder / f"{self._turns}.jsonl").open("w")
        with log, HttpObserver() as observer, Resolver(RealClock()) as resolver:
            service = registry.build(self._provider, self._target)
            observer.begin(own_thread=True)
            service.login()
            observer.end(keep_connections=False)
            requester = Requester(observer, resolver, self._provider.error_of)
            for number, file in enumerate(self._files):
                began_s = time.perf_counter()
                up = requester.upload(service, f"run/{number}", file)
                json.dump(up.record, log)
                between_s = time.perf_counter()
                assert up.reference is not None, up.error
                references.append(up.reference)
                down = requester.download(service, up.reference, file.size_bytes, file.sha256)
                json.dump(down.record, log)
                times += [between_s - began_s, time.perf_counter() - between_s]
            service.close()
        return times, references

    def close(self) -> None:
        """Leave nothing."""
        self._service.remove_container()
        self._service.close()


def probed(probes_s: float, run: Path) -> dict[str, Any]:
    """A run of its own, one probe a second; what its report says of late ones."""
    vmtrace = [sys.executable, "-m", "vmtrace", "storage"]
    words = ["--plan", "garfinkel2007-probes", "--sizes", "1kB", "--mean-interval", "1s", "--for", f"{probes_s}s"]
    subprocess.run([*vmtrace, "run", "--provider", "s3", "--out", str(run), *words], stdout=sys.stderr, check=True)
    report = run.with_suffix(".json")
    subprocess.run([*vmtrace, "report", str(run), "--json", str(report)], stdout=subprocess.DEVNULL, check=True)
    (one,) = _lateness(json.loads(report.read_text()))
    return one


def _lateness(report: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for run in report["runs"]:
        yield run["campaign"]["lateness"]


if __name__ == "__main__":
    sys.exit(main())
