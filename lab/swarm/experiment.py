"""One swarm run in the lab: a network with known rates, a real store, a tracker, seeds, and the truth beside the run.

Leaves in the output folder `run/` (of `vmtrace swarm run`), `truth.json`, and what every program said.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from vmtrace.lab import namespaces
from vmtrace.lab.namespaces import DeviceCounters
from vmtrace.lab.services import certificates, fault_proxy, swift
from vmtrace.lab.services.fault_proxy import FaultProxy
from vmtrace.lab.services.faults import Fault
from vmtrace.lab.services.service import Place, Service
from vmtrace.lab.swarm import network, programs
from vmtrace.lab.swarm.network import DEVICE, SwarmHost
from vmtrace.lab.swarm.programs import BUCKET, KEY, Done

STORE, TRACKER, DOWNLOADER = "store", "tracker", "downloader"


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run."""

    size_bytes: int
    store_bps: float | None
    seeds_bps: Sequence[float]
    scheme: str = "https"
    arguments: Sequence[str] = ()
    """Of `vmtrace swarm run`, behind the torrent, the sources and the output folder."""
    forbidden: bool = False
    """Also with the store forbidden: its URL is signed with another secret."""
    faults: Sequence[Fault] = ()
    """What a proxy in front of the store does to requests."""
    dies_after_bytes: int | None = None
    """The first seed is killed when it has sent so much, by its device's counters."""
    by_tracker: bool = True
    """Seeds are found by the tracker; else they are named with --peers."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it."""

    done: Done
    run_folder: Path
    hosts: dict[str, SwarmHost]
    before: dict[str, DeviceCounters]
    after: dict[str, DeviceCounters]
    requests: int | None
    """That reached the proxy; None without one."""

    def sent_bytes(self, name: str) -> int:
        """What a host sent on its device during the run, whole frames, by the kernel's counters."""
        return self.after[name].sent_bytes - self.before[name].sent_bytes


def run(experiment: Experiment, out: Path) -> Outcome:
    """Run it; raises `namespaces.LabUnavailableError` where there are no namespaces."""
    out.mkdir(parents=True, exist_ok=True)
    seeds = [f"seed{number}" for number in range(1, len(experiment.seeds_bps) + 1)]
    rates = {
        DOWNLOADER: None,
        TRACKER: None,
        STORE: experiment.store_bps,
        **dict(zip(seeds, experiment.seeds_bps, strict=True)),
    }
    with ExitStack() as stack:
        hosts = stack.enter_context(network.joined(rates))
        content = os.urandom(experiment.size_bytes)
        (out / "data.bin").write_bytes(content)
        service, proxy = stack.enter_context(_store(experiment, hosts[STORE], content, out))
        info_hash = _torrent(hosts[DOWNLOADER], out)
        url = stack.enter_context(programs.tracker(hosts[TRACKER], info_hash))
        processes = [
            stack.enter_context(
                programs.seed(
                    hosts[name], out / "data.bin", out / "data.torrent", out / f"{name}.log", "--tracker", url
                )
            )
            for name in seeds
        ]
        if experiment.dies_after_bytes is not None:
            stack.enter_context(_death(hosts[seeds[0]], processes[0], experiment.dies_after_bytes))
        peers = [f"{hosts[name].address}:{programs.SEED_PORT}" for name in seeds]
        found = ["--tracker", url] if experiment.by_tracker else ["--peers", ",".join(peers)]
        before = _counters(hosts)
        done = programs.vmtrace(hosts[DOWNLOADER], _words(experiment, service, found, out), service.environment)
        outcome = Outcome(
            done, out / "run", hosts, before, _counters(hosts), None if proxy is None else len(proxy.requests())
        )
        _write_truth(experiment, outcome, out)
        return outcome


@contextmanager
def _store(
    experiment: Experiment, host: SwarmHost, content: bytes, out: Path
) -> Iterator[tuple[Service, FaultProxy | None]]:
    """The store with the object in it, behind the proxy if there are faults."""
    chain = certificates.make(out / "certificates", names=[host.address])
    place = Place(host.address, host.namespace, scheme=experiment.scheme)
    with swift.started(chain, place) as service:
        programs.store_object(host, service, content)
        if not experiment.faults:
            yield service, None
            return
        with fault_proxy.started(service, experiment.faults, chain, place) as proxy:
            yield proxy.service, proxy


@contextmanager
def _death(host: SwarmHost, process: subprocess.Popen[bytes], after_bytes: int) -> Iterator[None]:
    """Kill a seed while the block lasts, once it has sent so much."""
    over = threading.Event()
    begun_bytes = namespaces.device_counters(host.namespace, DEVICE).sent_bytes

    def wait() -> None:
        while not over.wait(0.02):
            if namespaces.device_counters(host.namespace, DEVICE).sent_bytes - begun_bytes >= after_bytes:
                process.kill()
                return

    waiting = threading.Thread(target=wait)
    waiting.start()
    try:
        yield
    finally:
        over.set()
        waiting.join()


def _torrent(host: SwarmHost, out: Path) -> str:
    """Make the torrent as a user does; returns its info hash."""
    words = ["swarm", "seed", str(out / "data.bin"), "--write-torrent", str(out / "data.torrent"), "--duration", "0s"]
    done = programs.vmtrace(host, [*words, "--bind", host.address, "--json"])
    if done.status:
        raise programs.SwarmLabError(f"no torrent was made: {done.errors.strip()}")
    info_hash: str = json.loads(done.output)["info_hash"]
    return info_hash


def _words(experiment: Experiment, service: Service, found: Sequence[str], out: Path) -> list[str]:
    words = ["swarm", "run", str(out / "data.torrent"), "--out", str(out / "run"), *found]
    words += ["--web-seed", f"s3://{BUCKET}/{KEY}", "--endpoint-url", service.endpoint_url]
    if experiment.scheme == "https":
        words += ["--ca-bundle", str(service.ca_path)]
    if experiment.forbidden:
        refused = programs.refused_url(service)
        words += ["--case", "public", "--case", "forbidden", "--forbidden-url", refused]
    return [*words, *experiment.arguments]


def _counters(hosts: dict[str, SwarmHost]) -> dict[str, DeviceCounters]:
    return {name: namespaces.device_counters(host.namespace, DEVICE) for name, host in hosts.items()}


def _write_truth(experiment: Experiment, outcome: Outcome, out: Path) -> None:
    truth = {
        "experiment": {**asdict(experiment), "faults": [asdict(fault) for fault in experiment.faults]},
        "hosts": {
            name: {"address": host.address, "rate_bps": host.rate_bps, "payload_bps": host.payload_bps,
                   "sent_bytes": outcome.sent_bytes(name)}
            for name, host in outcome.hosts.items()
        },
        "requests": outcome.requests,
        "status": outcome.done.status,
    }  # fmt: skip
    (out / "truth.json").write_text(json.dumps(truth, indent=1))
    (out / "run.log").write_text(outcome.done.output + outcome.done.errors)
