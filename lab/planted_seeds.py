"""Worlds with a planted truth, one for each seed: run, judged, and printed a line each beside the machine's load.

What is run and what is right is the affair of `services/planted.py` and `campaign/starved.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vmtrace.lab import cpu_quota, namespaces

ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Judged:
    """What a report said of a world."""

    right: bool
    said: str


@dataclass(frozen=True, slots=True)
class PlantedWorld:
    """A world: what was planted, in words, and how it is run in a folder that is not there yet."""

    truth: str
    judged_in: Callable[[Path], Judged]


def add_seeds(parser: ArgumentParser) -> None:
    """Which worlds."""
    parser.add_argument("--seeds", type=int, default=20, help="so many worlds (default 20)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="the first seed (default 0)")


def all_seeds(kind: str, arguments: Namespace, world: Callable[[int], PlantedWorld]) -> int:
    """Seeds one after the other; the exit status says whether nine tenths were right."""
    reason = namespaces.missing_requirement() or cpu_quota.missing_requirement()
    if reason is not None:
        print(f"vmtrace: {reason}", file=sys.stderr)
        return 1
    right = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        planted, load = world(seed), os.getloadavg()[0]
        with tempfile.TemporaryDirectory(prefix="vmtrace-planted-") as name:
            found = _tried(planted, Path(name))
        right += found.right
        mark = "right" if found.right else "WRONG"
        print(f"{kind} {seed}: load {load:.1f}, planted {planted.truth}: {mark}: {found.said}", flush=True)
    print(f"{kind}: {right} of {arguments.seeds} right", flush=True)
    return int(right < 0.9 * arguments.seeds)


def _tried(planted: PlantedWorld, folder: Path) -> Judged:
    """What could not be run twice (a stand-in that does not come up) is not right either."""
    said = ""
    for attempt in range(ATTEMPTS):
        try:
            return planted.judged_in(folder / str(attempt))
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            said = f"not run: {str(error).splitlines()[-1]}"
    return Judged(False, said)
