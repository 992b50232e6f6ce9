"""`vmtrace discover` in the lab world: a run at each vantage point at the same time, and the report of all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.lab.hosts import module_environment
from vmtrace.lab.world import plan
from vmtrace.lab.world.plan import World
from vmtrace.lab.world.standing import Standing, standing

_LONGEST_S = 900.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What `vmtrace discover` made of the world."""

    world: World
    runs: dict[str, Path]
    report: dict[str, Any]
    took_s: float


def look_at(size: dict[str, int], out: Path, options: Sequence[str] = ()) -> Seen:
    """Put a world up, discover it from every vantage point, report; `size` are the arguments of `plan.draw`."""
    world, began_s = plan.draw(**size), time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    (out / "truth.json").write_text(json.dumps(world.as_record(), indent=1))
    with standing(world, size, out) as up:
        runs = _run_all(up, out, options)
    return Seen(world, runs, report_of(runs.values(), out), time.monotonic() - began_s)


def command(up: Standing, vantage: str, out: Path, options: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    """The command line at a vantage point; `more` are names besides those of the world."""
    world, place = up.world, up.world.vantages[vantage]
    words = [sys.executable, "-m", "vmtrace", "discover", "run", *more]
    words += [*world.names(), plan.NOWHERE, plan.IPV6_ONLY]
    words += ["--names-file", str(names_file(world, out.parent)), "--out", str(out), "--vantage", vantage]
    words += ["--resolvers", str(resolvers_file(world, out.parent)), "--at", f"{place.lat},{place.lon}"]
    words += ["--landmarks", str(landmarks_file(world, out.parent)), "--ca-bundle", str(up.ca_path)]
    words += ["--rate", "150", "--resolver-rate", "20", *options]
    return up.command(vantage, words)


def names_file(world: World, folder: Path) -> Path:
    """The provider's list of its regions, as it says it."""
    lines = ["[lab]", f'name = "s3.{{region}}.{plan.DOMAIN}"', "[lab.regions]"]
    for site in world.sites:
        place = site.place
        said = f'label = "{site.label}", country = "{place.country}"'
        said += f', city = "{place.city}", iata = "{place.iata}"' if site.names_city else ""
        lines.append(f"{site.region} = {{ {said} }}")
    return _written(folder / "names.toml", lines)


def resolvers_file(world: World, folder: Path) -> Path:
    """The list of resolvers, with their places."""
    one_each = (
        f"{one.address}#53 {one.place.country} net-{one.place.iata} {one.place.lat},{one.place.lon}"
        for one in world.resolvers
    )
    return _written(folder / "resolvers.txt", ["# address#port country network position", *one_each])


def landmarks_file(world: World, folder: Path) -> Path:
    """Hosts of known place."""
    lines = [f"{address} {place.lat},{place.lon} {place.city}" for address, place in world.landmarks.items()]
    return _written(folder / "landmarks.txt", lines)


def report_of(runs: Any, out: Path) -> dict[str, Any]:
    """The report of these runs, as JSON; the page and the map are made beside it."""
    path = out / "report.json"
    words = [sys.executable, "-m", "vmtrace", "discover", "report", *map(str, runs), "--json", str(path)]
    words += ["--html", str(out / "report.html"), "--map", str(out / "map.svg"), "--csv", str(out / "tables")]
    done = subprocess.run(words, env=module_environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"vmtrace discover report ended with status {done.returncode}: {done.stderr.strip()}")
    report: dict[str, Any] = json.loads(path.read_text())
    return report


def _run_all(up: Standing, out: Path, options: Sequence[str]) -> dict[str, Path]:
    runs = {vantage: out / vantage for vantage in up.hosts}
    processes = {}
    for vantage, folder in runs.items():
        with (out / f"{vantage}.log").open("wb") as log:
            words = command(up, vantage, folder, options)
            processes[vantage] = subprocess.Popen(words, env=module_environment(), stdout=log, stderr=log)
    try:
        for vantage, process in processes.items():
            if process.wait(_LONGEST_S) != 0:
                last = (out / f"{vantage}.log").read_text(errors="replace").strip().splitlines()[-5:]
                raise RuntimeError(f"vmtrace discover run ended with {process.returncode}: {' / '.join(last)}")
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
    return runs


def _written(path: Path, lines: Sequence[str]) -> Path:
    aside = path.with_name(f".{path.name}")
    aside.write_text("\n".join(lines) + "\n")
    aside.replace(path)
    return path
