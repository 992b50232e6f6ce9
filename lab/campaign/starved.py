"""Planted starvation: campaigns whose sender is starved in a known way, or is not, and whether reports say so.

`python -m vmtrace.lab.campaign.starved --seeds 20` makes a run for each seed and prints a line each. In turn: a host
that is frozen for hundreds of milliseconds, a program that shares its processor with neighbours, and a path that loses
packets or has little rate, whose host is in order. Right is a host stall, one by which the program lacked a processor
by the host's own counters, and none of both. Needs root.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vmtrace.lab.campaign import run as campaign_run
from vmtrace.lab.campaign.settings import Campaign, Host
from vmtrace.lab.guest import kernel
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.planted_seeds import Judged, PlantedWorld, add_seeds, all_seeds
from vmtrace.lab.profiles import PROFILES
from vmtrace.lab.profiles.profile import Profile
from vmtrace.lab.stalls import Stalls

_PAIRS = 6
_LACKED = "lacked a processor"
_AGREE = "own counters agree"
_PLAN = """
[[entries]]
index = "I_0"
pairs = {pairs}
probe = "50 kB"
data = "{data}"
"""


@dataclass(frozen=True, slots=True)
class Starved:
    """One world: a profile, and what a report on it must say."""

    cause: str
    """`frozen`, `shared` or `path`."""
    profile: Profile
    data: str


def world(seed: int) -> Starved:
    """One of three in turn, its size drawn."""
    dice = random.Random(f"{seed}/starved")
    cause = ("frozen", "shared", "path")[seed % 3]
    if cause == "frozen":
        stalls = Stalls(0.03, 0.13, 0.1, dice.uniform(0.4, 0.8))
        return Starved(cause, replace(PROFILES["planetlab"], stalls=stalls), "2 MB")
    if cause == "shared":
        profile = PROFILES["starved-container"]
        if profile.shared is None:
            raise ValueError("the profile shares nothing")
        shared = replace(profile.shared, neighbours=dice.choice((3, 4, 6)), weight=dice.choice((16, 24)))
        return Starved(cause, replace(profile, shared=shared), "2 MB")
    return Starved(cause, PROFILES[dice.choice(("lossy", "clean", "token-bucket"))], "6 MB")


def run(starved: Starved, seed: int, folder: Path) -> dict[str, Any]:
    """The verdict on the data transfers of a run in this world; raises what the lab raises."""
    folder.mkdir(parents=True)
    plan = folder / "plan.toml"
    plan.write_text(_PLAN.format(pairs=_PAIRS, data=starved.data))
    arguments = ("--plan", str(plan), "--quiet")
    # The kernel of a frozen host must stand still, too: one that goes on sends when its timers expire.
    host = Host.GUEST_KERNEL if starved.cause == "frozen" and kernel.find() else Host.NAMESPACE
    campaign = Campaign(starved.profile, seed, host, congestion_control="cubic", sender_arguments=arguments)
    campaign_run.run(campaign, folder / "run", lambda _line: None)
    words = [sys.executable, "-m", "vmtrace", "report", str(folder / "run"), "--json", "-", "--quiet"]
    done = subprocess.run(words, check=True, capture_output=True, text=True, env=module_environment(), timeout=240)
    found: dict[str, Any] = json.loads(done.stdout)["runs"][0]["verdict"]["by_role"]["data"]
    return found


def is_right(starved: Starved, verdict: dict[str, Any]) -> bool:
    """Whether the verdict says what was planted, and nothing of a starved host where there is none."""
    factor, sentence = verdict["factor"], verdict["sentence"]
    lacked = _LACKED in sentence or _AGREE in sentence
    if starved.cause == "frozen":
        return bool(factor == "host_stall")
    if starved.cause == "shared":
        return bool(factor == "host_stall") and lacked
    return factor not in ("host_stall", "application") and not lacked


def judged(starved: Starved, verdict: dict[str, Any]) -> Judged:
    """The verdict in short, and whether it is right."""
    lacked = _LACKED in verdict["sentence"] or _AGREE in verdict["sentence"]
    return Judged(is_right(starved, verdict), f"{verdict['factor']}{', lacked a processor' if lacked else ''}")


def _planted(seed: int) -> PlantedWorld:
    starved = world(seed)
    return PlantedWorld(starved.cause, lambda folder: judged(starved, run(starved, seed, folder)))


def main(words: Sequence[str] | None = None) -> int:
    """See `planted_seeds.all_seeds`."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.campaign.starved", description=__doc__.splitlines()[0])
    add_seeds(parser)
    return all_seeds("starvation", parser.parse_args(words), _planted)


if __name__ == "__main__":
    sys.exit(main())
