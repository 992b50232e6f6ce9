"""Planted causes: campaigns against stand-ins with one known cause each, drawn by a seed, and whether reports name it.

`python -m vmtrace.lab.services.planted --kind surge --seeds 20` makes a run for each seed, reports on it, prints a
line each and, at the end, how many were right beside the machine's load. Causes of a surge and a sweep: an allowance
(token bucket), the path's rate, an unscaled window, a processor quota of the client, a slow service. Of availability:
the client's own link is down, or the service is. Needs root.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from vmtrace.lab import cpu_quota, namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.impairments import TokenBucket
from vmtrace.lab.planted_seeds import Judged, PlantedWorld, add_seeds, all_seeds
from vmtrace.lab.services import certificates, delayed_path, fault_proxy, swift
from vmtrace.lab.services.delayed_path import DelayedPath, Planted
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import Place, Service

_BEHIND = "198.18.2.14"
_NEAR = 0.06
"""By which a rate that is named may differ from the one that was planted."""
_RUNS_WITHIN_S = 240.0
Record = dict[str, Any]

_SURGE = """
kind = "surge"
threads = [1, 2, 4]
step = 3
size = "{size}"
directions = ["download"]
for = 9
"""
_SWEEP = """
kind = "sweep"
connections = [2, 3, 4]
part_sizes = ["5 MiB"]
size = "20 MiB"
sources = ["tmpfs"]
repeat = 1

[merge]
parts = []
"""
_AVAILABILITY = """
kind = "availability"
every = 1
sizes = ["20 kB"]
for = 24
directions = ["download"]
pair = 1
"""


@dataclass(frozen=True, slots=True)
class World:
    """One cause, as it is planted and as a report must say it."""

    kind: str
    cause: str
    plan: str
    rtt_s: float
    planted: Planted = delayed_path.NOTHING
    rate_bps: float = 0.0
    """Of the path; 0 is as fast as this machine."""
    queue_bytes: int = 0
    faults: tuple[Fault, ...] = ()
    quota: float = 0.0
    limit_bps: float | None = None
    """That the report must name."""
    outage_s: tuple[float, float] | None = None
    """When the cause begins and ends, after the first request."""


def surge_world(seed: int) -> World:
    """One of five causes in turn, its size drawn."""
    slow = _Slow("GET", "stock", (0.3, 0.6), _SURGE.format(size="100 kB"))
    return _limited_world("surge", seed, _SURGE.format(size="1 MB"), lambda bucket: Planted(token_bucket=bucket), slow)


def sweep_world(seed: int) -> World:
    """The same of uploads in parts."""
    slow = _Slow("PUT", "sweep", (3.0, 5.0), _SWEEP)
    return _limited_world("sweep", seed, _SWEEP, lambda bucket: Planted(upload_bucket=bucket), slow)


class _Slow(NamedTuple):
    """Requests that a slow service delays, by how much, and the plan that meets it."""

    method: str
    what: str
    delay_s: tuple[float, float]
    plan: str


def _limited_world(kind: str, seed: int, plan: str, behind: Callable[[TokenBucket], Planted], slow: _Slow) -> World:
    dice = random.Random(f"{seed}/{kind}")
    cause = ("allowance", "network", "window", "cpu", "service")[seed % 5]
    rate_bps = float(dice.choice((15e6, 25e6, 40e6, 55e6)))
    match cause:
        case "allowance":
            planted = behind(TokenBucket(rate_bps, 200_000, 200_000))
            return World(kind, cause, plan, 0.02, planted, 100e6, 1_000_000, limit_bps=rate_bps)
        case "network":
            queue_bytes = round(rate_bps / 8 * 0.06)
            return World(kind, cause, plan, 0.02, rate_bps=rate_bps, queue_bytes=queue_bytes, limit_bps=rate_bps)
        case "window":
            return World(kind, cause, plan, dice.uniform(0.06, 0.12), Planted(window_scaling=False))
        case "cpu":
            return World(kind, cause, plan, 0.004, quota=dice.uniform(0.06, 0.1))
        case _:
            fault = Fault(Action.DELAY, slow.method, slow.what, delay_s=dice.uniform(*slow.delay_s), times=100_000)
            return World(kind, cause, slow.plan, 0.01, faults=(fault,))


def availability_world(seed: int) -> World:
    """The client's own link goes down, or the service refuses connections."""
    dice = random.Random(f"{seed}/availability")
    begins_s = dice.uniform(4.0, 8.0)
    cause = ("own", "service")[seed % 2]
    return World("availability", cause, _AVAILABILITY, 0.01, outage_s=(begins_s, begins_s + dice.uniform(4.0, 7.0)))


WORLDS: dict[str, Callable[[int], World]] = {
    "surge": surge_world,
    "sweep": sweep_world,
    "availability": availability_world,
}


def run(world: World, folder: Path) -> Record:
    """The report's record of a run in this world; raises what the lab raises."""
    folder.mkdir(parents=True)
    chain = certificates.make(folder / "certificates", names=delayed_path.CERTIFICATE_NAMES)
    plan = folder / "plan.toml"
    plan.write_text(world.plan)
    with ExitStack() as stack:
        path = stack.enter_context(
            delayed_path.joined(folder, world.rtt_s, world.rate_bps, world.queue_bytes, world.planted)
        )
        place = path.places["s3"]
        behind = stack.enter_context(swift.started(chain, Place(_BEHIND, place.namespace) if world.faults else place))
        service = behind
        if world.faults:
            service = stack.enter_context(fault_proxy.started(behind, world.faults, chain, place)).service
        before = stack.enter_context(cpu_quota.quota("planted", world.quota)) if world.quota else []
        if world.outage_s is not None:
            stack.enter_context(_outage(world, path, folder / "run"))
        command = [sys.executable, "-m", "vmtrace", "storage", "run", "--provider", "s3", "--out", str(folder / "run")]
        command += ["--plan", str(plan), "--interface", path.client_device]
        command += ["--option", "max_attempts=2"] if world.outage_s else []
        visible = cpu_quota.visible_again() if before else []
        _call([*before, *path.client_command([*visible, *command])], service)
    report = [sys.executable, "-m", "vmtrace", "storage", "report", str(folder / "run"), "--json", "-"]
    done = subprocess.run(report, check=False, capture_output=True, text=True, timeout=_RUNS_WITHIN_S)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"the report ended with status {done.returncode}")
    record: Record = json.loads(done.stdout)["runs"][0]
    return record


def judged(world: World, record: Record) -> Judged:
    """Right where most rows say the cause and, if it has one, its rate."""
    if world.kind == "availability":
        faults = [one["fault"] for one in record["outages"]]
        return Judged(bool(faults) and set(faults) == {world.cause}, ", ".join(faults) or "no outage")
    rows = record["surge"] if world.kind == "surge" else record["sweep"]
    name = "limited_by" if world.kind == "surge" else "bottleneck"
    # What is acknowledged shows the rate behind a sender, and seldom the burst: there a bucket may be a path.
    accepted = {world.cause, "network"} if (world.kind, world.cause) == ("sweep", "allowance") else {world.cause}
    right = sum(row[name] in accepted and _is_near(row["limit_bps"], world.limit_bps) for row in rows)
    said = ", ".join(_said(row[name], row["limit_bps"]) for row in rows)
    return Judged(2 * right > len(rows), said)


def _said(word: str | None, limit_bps: float | None) -> str:
    return f"{word}" if limit_bps is None else f"{word} {limit_bps / 1e6:.1f}"


def _is_near(found_bps: float | None, planted_bps: float | None) -> bool:
    if planted_bps is None:
        return True
    return found_bps is not None and abs(found_bps / planted_bps - 1) <= _NEAR


def _call(words: Sequence[str], service: Service) -> None:
    done = subprocess.run(
        list(words),
        check=False,
        capture_output=True,
        text=True,
        timeout=_RUNS_WITHIN_S,
        env={**module_environment(), **service.environment},
    )
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"{done.returncode}")


@contextmanager
def _outage(world: World, path: DelayedPath, run_folder: Path) -> Iterator[None]:
    """For a while after the first request the link of the client is down, or the service refuses all connections."""
    if world.outage_s is None:
        raise ValueError("no outage in this world")
    over = threading.Event()
    begins_s, ends_s = world.outage_s
    client, device = path.client_namespace, path.client_device
    if world.cause == "own":
        down = ["ip", "-n", client, "link", "set", device, "down"]
        up = ["ip", "-n", client, "link", "set", device, "up"]
    else:
        nft = [*namespaces.exec_prefix(path.path.hosts["receiver"].namespace), "nft"]
        rule = f"ip daddr {path.places['s3'].address} tcp dport {delayed_path.PORT} reject with tcp reset"
        chain = f"chain input {{ type filter hook input priority 0; {rule} ; }}"
        down = [*nft, f"table ip planted {{ {chain}; }}"]
        up = [*nft, "delete table ip planted"]
    routes = namespaces.run_program(["ip", "-n", client, "route", "show"])

    def carry_out() -> None:
        log = run_folder / "requests.jsonl"
        while not (log.exists() and log.stat().st_size):
            if over.wait(0.1):
                return
        over.wait(begins_s)
        namespaces.run_program(down)
        over.wait(ends_s - begins_s)
        namespaces.run_program(up)
        if world.cause == "own":
            for line in routes.splitlines():
                subprocess.run(
                    ["ip", "-n", client, "route", "replace", *line.split()], check=False, capture_output=True
                )

    thread = threading.Thread(target=carry_out, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _planted(world: World) -> PlantedWorld:
    rate = "" if world.limit_bps is None else f" {world.limit_bps / 1e6:.0f}"
    return PlantedWorld(f"{world.cause}{rate}", lambda folder: judged(world, run(world, folder)))


def main(words: Sequence[str] | None = None) -> int:
    """See `planted_seeds.all_seeds`."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.services.planted", description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=sorted(WORLDS), required=True, help="what is run")
    add_seeds(parser)
    arguments = parser.parse_args(words)
    return all_seeds(arguments.kind, arguments, lambda seed: _planted(WORLDS[arguments.kind](seed)))


if __name__ == "__main__":
    sys.exit(main())
