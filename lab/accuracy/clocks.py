"""Clocks of two captures on paths whose queues stand: a study of `make accuracy`.

Both captures of a run have one clock, so that each step that `compare` reports is false, the offset is 0, and delays
are what the two times say. Then one capture's times are moved from an instant on: a step of known size.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.description import Scenario
from vmtrace.lab.edit.capture import parse_capture, pcap_bytes
from vmtrace.lab.edit.clock import StepClock
from vmtrace.lab.edit.editor import edit
from vmtrace.lab.edit.truth import ClockStep
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.impairments import DelayStep, Hold, Impairments, TokenBucket
from vmtrace.lab.scenario import Run, made_once
from vmtrace.lab.transfer import Transfer

CLOSE_S = 0.001
"""How exact steps, offset and delays have to be."""
_SECONDS = 6.0
_ENOUGH_BYTES = 10**9
_DATA_BYTES, _ACK_BYTES = 1500, 52


@dataclass(frozen=True, slots=True)
class Told:
    """One comparison against what is known."""

    name: str
    wanted: tuple[tuple[str, float], ...]
    """Whose clock was set, and by how much the receiver's is further ahead since."""
    found: tuple[tuple[str, float], ...]
    offset_s: float
    offset_error_s: float

    @property
    def steps_right(self) -> bool:
        """All steps and no others, of the right clock and the right size."""
        return len(self.found) == len(self.wanted) and all(
            clock == whose and abs(step_s - by_s) < CLOSE_S
            for (clock, step_s), (whose, by_s) in zip(self.found, self.wanted, strict=True)
        )

    @property
    def offset_right(self) -> bool:
        """Close, and delays with it: they are wrong by as much as the offset."""
        return abs(self.offset_s) < CLOSE_S and self.offset_error_s >= abs(self.offset_s)


def paths(seed: int) -> Iterator[Scenario]:
    """Twenty paths, five kinds by four."""
    dice = random.Random(seed)
    for number in range(4):
        base_s, rate_bps = dice.uniform(0.002, 0.04), dice.choice((1e6, 2e6, 5e6, 10e6))
        full = Impairments(delay_s=base_s, rate_bps=rate_bps, queue_bytes=round(rate_bps / 8 * 0.6))
        empty, some_s = Impairments(delay_s=base_s), dice.uniform(0.3, 0.6)
        bucket = TokenBucket(rate_bps, round(rate_bps / 8 * 0.8), round(rate_bps / 8 * some_s))
        # Less than the ACKs of the data take, one for two packets: they queue, too.
        acks_bps = rate_bps / _DATA_BYTES / 2 * _ACK_BYTES * 0.8
        narrow = TokenBucket(acks_bps, 40 * _ACK_BYTES, round(acks_bps / 8 * some_s))
        held = tuple(Hold(dice.uniform(0.5, 5), dice.uniform(0.05, 0.3)) for _ in range(3))
        longer = DelayStep(_SECONDS * dice.uniform(0.3, 0.7), base_s + dice.uniform(0.005, 0.08))
        kinds = {
            "queue-600ms": (full, empty),
            "queues-both-ways": (full, replace(empty, token_bucket=narrow)),
            "rate-falls": (replace(empty, token_bucket=bucket), empty),
            "rises-and-drains": (replace(full, holds=held), empty),
            "longer-route": (replace(full, delay_steps=(longer,)), empty),
        }
        for name, (forward, reverse) in kinds.items():
            pauses = tuple((round(rate_bps / 8 * at), 0.8) for at in (1, 2.5)) if name == "rises-and-drains" else ()
            transfer = Transfer(payload_bytes=_ENOUGH_BYTES, seconds=_SECONDS, write_pauses=pauses)
            story = f"{rate_bps / 1e6:g} Mbit/s, {base_s * 1e3:.0f} ms each way"
            yield Scenario(f"{name}-{number + 1}", story, transfer, forward, reverse, seed=dice.randrange(10**6))


def judged(done: Run, name: str, dice: random.Random) -> Iterator[Told]:
    """The captures as they are, and with one of the clocks set."""
    yield _told(name, (), done.sender_pcap, done.receiver_pcap)
    whose = dice.choice(("sender", "receiver"))
    by_s = dice.choice((-1, 1)) * dice.choice((dice.uniform(0.005, 0.02), dice.uniform(0.02, 0.6)))
    contents = {
        end: parse_capture(path.read_bytes())
        for end, path in (("sender", done.sender_pcap), ("receiver", done.receiver_pcap))
    }
    frame = round(dice.uniform(0.2, 0.8) * len(contents[whose].frames))
    contents[whose] = edit(contents[whose], StepClock((ClockStep(frame, round(by_s * 1e9)),))).capture
    moved = {end: done.folder / f"{end}.{'moved' if end == whose else 'same'}.pcap" for end in contents}
    for end, path in moved.items():
        path.write_bytes(pcap_bytes(contents[end]))
    yield _told(name, ((whose, by_s if whose == "receiver" else -by_s),), moved["sender"], moved["receiver"])


def _told(name: str, wanted: tuple[tuple[str, float], ...], sender: Path, receiver: Path) -> Told:
    command = [sys.executable, "-m", "vmtrace", "compare", str(sender), str(receiver), "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=module_environment())
    clock = json.loads(done.stdout)["clock"]
    found = tuple((step["clock"], step["step_s"]) for step in clock["steps"])
    return Told(name, wanted, found, clock["offset_s"] or 0.0, clock["offset_error_s"] or 0.0)


def study(options: Options) -> Outcome:
    """Steps and offsets that `compare` finds, on one clock and with one that was set; prints a line for each."""
    dice, all_told = random.Random(options.seed), []
    for scenario in options.chosen(paths(options.seed)):
        for one in judged(made_once(scenario, options.out / scenario.name), scenario.name, dice):
            all_told.append(one)
            print(f"{'right' if one.steps_right and one.offset_right else 'WRONG'} {_line(one)}", flush=True)
    lines = [
        f"{title}: {len(chosen)} comparisons, steps right {sum(one.steps_right for one in chosen)},"
        f" offset right {sum(one.offset_right for one in chosen)},"
        f" farthest {max((abs(one.offset_s) for one in chosen), default=0) * 1e3:.3f} ms"
        for title, chosen in (
            ("one clock", [one for one in all_told if not one.wanted]),
            ("a clock set", [one for one in all_told if one.wanted]),
        )
    ]
    wrong = not all(one.steps_right and one.offset_right for one in all_told)
    return Outcome(f"{len(all_told)} comparisons", lines, failed=wrong)


def _line(one: Told) -> str:
    def steps(of: tuple[tuple[str, float], ...]) -> str:
        return ", ".join(f"{clock} {by_s * 1e3:+.2f} ms" for clock, by_s in of[:4]) or "none"

    error = f"offset {one.offset_s * 1e3:+.3f} ± {one.offset_error_s * 1e3:.1f} ms"
    return f"{one.name}: steps {steps(one.wanted)}, found {steps(one.found)}, {error}"
