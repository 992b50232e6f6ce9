"""`python -m vmtrace.lab.world.load`: 10,000 questions in the lab world: rate kept, unanswered ones, memory.

Names beyond those of the world do not exist there: a reply that says so is a reply. Run with two numbers of names it
shows whether memory follows the number of questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.capture.options import add_out
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.world import plan
from vmtrace.lab.world.plan import World
from vmtrace.lab.world.running import command
from vmtrace.lab.world.standing import Standing, standing

_RATE_PER_S, _RESOLVER_RATE_PER_S = 400, 20
_REPLIED = frozenset({"answered", "no_data", "no_such_name"})


@dataclass(frozen=True, slots=True)
class Load:
    """What came of the questions to resolvers that answer, and what the process took."""

    questions: int
    answerable: int
    unanswered: int
    took_s: float
    peak_bytes: int

    @property
    def rate_per_s(self) -> float:
        """First attempts, over the time from the first to the last."""
        return self.questions / self.took_s if self.took_s else 0.0

    def line(self) -> str:
        """The figures."""
        left = f"{self.unanswered} of {self.answerable:,} answerable unanswered"
        return (
            f"{self.questions:,} questions in {self.took_s:.0f} s ({self.rate_per_s:.0f}/s of {_RATE_PER_S}/s allowed);"
            f" {left}; peak memory {self.peak_bytes / 1e6:.0f} MB"
        )


def load_of(world: World, answers: Iterable[Mapping[str, Any]], peak_bytes: int) -> Load:
    """From the lines of `answers.jsonl`."""
    honest = {one.address for one in world.resolvers if one.behaviour in {plan.HONEST, plan.TRUNCATES}}
    times_ns, answerable, unanswered = [], 0, 0
    for one in answers:
        times_ns.append(one["time_ns"])
        if one["resolver"] in honest:
            answerable += 1
            unanswered += one["status"] not in _REPLIED
    took_s = (max(times_ns) - min(times_ns)) / 1e9 if times_ns else 0.0
    return Load(len(times_ns), answerable, unanswered, took_s, peak_bytes)


def ask(up: Standing, names: int, out: Path) -> Load:
    """One run from the first vantage point, with so many names that do not exist besides those of the world."""
    vantage = next(iter(up.hosts))
    options = ["--only", "A", "--no-traceroute", "--no-capture", "--round-trips", "1", "--quiet"]
    options += ["--rate", str(_RATE_PER_S), "--resolver-rate", str(_RESOLVER_RATE_PER_S)]
    words = command(up, vantage, out, options, [f"n{number}.{plan.DOMAIN}" for number in range(names)])
    process = subprocess.Popen(words, env=module_environment())
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"vmtrace discover run ended with status {process.returncode}")
    with (out / "answers.jsonl").open() as file:
        return load_of(up.world, map(json.loads, file), used.ru_maxrss * 1024)


def main(words: Sequence[str] | None = None) -> int:
    """Returns 0 where no more than 1 % of the answerable questions stayed unanswered."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.world.load", description=__doc__)
    add_out(parser, "where the runs go (must not exist)", "FOLDER", required=True)
    parser.add_argument("--names", type=int, nargs="+", default=[50, 235], help="that do not exist (default: 50 235)")
    arguments = parser.parse_args(words)
    size = {"seed": 1}
    arguments.out.mkdir(parents=True)
    found = []
    with standing(plan.draw(**size), size, arguments.out) as up:
        for names in arguments.names:
            found.append(ask(up, names, arguments.out / f"{names}-names"))
            print(found[-1].line(), flush=True)
    return int(any(one.unanswered > 0.01 * one.answerable for one in found))


if __name__ == "__main__":
    sys.exit(main())
