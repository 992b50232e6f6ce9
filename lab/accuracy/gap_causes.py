"""How vmtrace names pauses of known causes, as a matrix: a study of `make accuracy` (root, user-mode-linux)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vmtrace.lab.accuracy import gap_runs
from vmtrace.lab.accuracy.gap_runs import Made, StalledGuest
from vmtrace.lab.accuracy.gap_truth import Gap, Place, Score, Truth, gaps_of, table
from vmtrace.lab.accuracy.study import Options, Outcome
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Hold, Impairments
from vmtrace.lab.stalls import Stalls
from vmtrace.lab.transfer import Transfer

_LIMIT_MS = 20.0
"""Gaps longer than this are judged."""


def transfers(seed: int) -> dict[str, Callable[[Path], Made | None]]:
    """All of them, by name."""
    return {**_guests(seed), **_holds(seed), **_pauses(seed), **_nothing(seed)}


def _path(rtt_ms: float, rate_bps: float, queue_bytes: int = 4_000_000) -> tuple[Impairments, Impairments]:
    return Impairments(delay_s=rtt_ms / 2000, rate_bps=rate_bps, queue_bytes=queue_bytes), Impairments(
        delay_s=rtt_ms / 2000
    )


def _guests(seed: int) -> dict[str, Callable[[Path], Made | None]]:
    found: dict[str, Callable[[Path], Made | None]] = {}
    for rtt_ms, rate_bps, shortest_s, longest_s in (
        (7, 30e6, 0.06, 0.25),
        (33, 20e6, 0.13, 0.35),
        (70, 25e6, 0.3, 0.9),
        (33, 20e6, 0.02, 0.06),
    ):
        for receives in (False, True):
            # The queue holds what the window lets a sender put in flight: two round trips.
            path = _path(rtt_ms, rate_bps, round(2 * rate_bps / 8 * max(rtt_ms, 20) / 1000))
            name = f"guest-{'receives' if receives else 'sends'}-rtt{rtt_ms}-stalls{shortest_s * 1000:.0f}"
            wanted = StalledGuest(name, *path, Stalls(0.4, 1.1, shortest_s, longest_s), seed, guest_receives=receives)
            found[name] = lambda folder, wanted=wanted: gap_runs.run_stalled_guest(wanted, folder)  # type: ignore[misc]
    return found


def _scenario(name: str, path: tuple[Impairments, Impairments], transfer: Transfer, seed: int) -> Scenario:
    return Scenario(name, name, transfer, *path, sender=HostSettings(), receiver=HostSettings(), seed=seed)


def _runner(description: Scenario, otherwise: Truth) -> Callable[[Path], Made | None]:
    return lambda folder: gap_runs.run_path(description, folder, otherwise)


def _holds(seed: int) -> dict[str, Callable[[Path], Made | None]]:
    found = {}
    for rtt_ms, duration_s in ((15, 0.12), (15, 0.035), (60, 0.3)):
        for ways in ("both", "forward", "reverse"):
            for drop in (False, True):
                holds = tuple(Hold(start_s, duration_s, drop) for start_s in (1.1, 1.9, 2.7))
                forward, reverse = _path(rtt_ms, 25e6, 300_000)
                path = (
                    replace(forward, holds=holds if ways != "reverse" else ()),
                    replace(reverse, holds=holds if ways != "forward" else ()),
                )
                kind = "blackout" if drop else "hold"
                name = f"{kind}-{ways}-rtt{rtt_ms}-{duration_s * 1000:.0f}"
                transfer = Transfer(seconds=3.6, payload_bytes=1 << 34, receive_buffer_bytes=150_000)
                found[name] = _runner(_scenario(name, path, transfer, seed), Truth.NOTHING)
    return found


def _pauses(seed: int) -> dict[str, Callable[[Path], Made | None]]:
    found = {}
    for rtt_ms in (15, 60):
        path = _path(rtt_ms, 25e6)
        writes = Transfer(
            seconds=4,
            payload_bytes=4_000_000,
            receive_buffer_bytes=200_000,
            write_pauses=((700_000, 0.35), (1_500_000, 0.8), (2_300_000, 0.2), (3_100_000, 0.5)),
        )
        reads = Transfer(
            seconds=5,
            payload_bytes=3_000_000,
            receive_buffer_bytes=60_000,
            read_pauses=((500_000, 0.4), (1_200_000, 0.9), (2_000_000, 0.25)),
        )
        found[f"app-pauses-rtt{rtt_ms}"] = _runner(
            _scenario(f"app-pauses-rtt{rtt_ms}", path, writes, seed), Truth.APPLICATION
        )
        found[f"reader-pauses-rtt{rtt_ms}"] = _runner(
            _scenario(f"reader-pauses-rtt{rtt_ms}", path, reads, seed), Truth.WINDOW
        )
    trickle = Transfer(seconds=3, payload_bytes=1_000_000, write_bytes=9_000, write_interval_s=0.04)
    found["app-trickle-rtt15"] = _runner(
        _scenario("app-trickle-rtt15", _path(15, 25e6), trickle, seed), Truth.APPLICATION
    )
    return found


def _nothing(seed: int) -> dict[str, Callable[[Path], Made | None]]:
    forward, reverse = _path(45, 15e6, 90_000)
    near, near_back = _path(3, 30e6, 60_000)
    bulk = Transfer(seconds=3, payload_bytes=1 << 34)
    paths = {
        "clean-rtt45": (forward, reverse),
        "loss2-rtt45": (replace(forward, loss=0.02), replace(reverse, loss=0.02)),
        "loss5-rtt3": (replace(near, loss=0.05), near_back),
        "jitter-rtt45": (replace(forward, jitter_s=0.03), replace(reverse, jitter_s=0.03)),
        "slow-1mbit": _path(30, 1e6, 40_000),
    }
    window = replace(bulk, receive_buffer_bytes=30_000)
    found = {name: _runner(_scenario(name, path, bulk, seed), Truth.NOTHING) for name, path in paths.items()}
    found["window-rtt90"] = _runner(_scenario("window-rtt90", _path(90, 40e6), window, seed), Truth.WINDOW)
    return found


def analysis(capture: Path, limit_ms: float | None) -> Mapping[str, Any]:
    """What `vmtrace analyze --json -` says of a capture."""
    command = [sys.executable, "-m", "vmtrace", "analyze", str(capture), "--json", "-"]
    if limit_ms:
        command += ["--oversize-abs", str(limit_ms)]
    document: Mapping[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return document


def gaps(document: Mapping[str, Any], sender: str) -> list[Gap]:
    """The gaps in what an address sent."""
    found = []
    for connection in document["connections"]:
        from_client = connection["client"].rpartition(":")[0].strip("[]") == sender
        found += gaps_of(connection["client_to_server" if from_client else "server_to_client"])
    return found


@dataclass(slots=True)
class Measured:
    """The pauses of all transfers: how they were named at each place; transfers that could not be judged."""

    scores: dict[Place, Score]
    transfers: int = 0
    refused: list[str] = field(default_factory=list)


def study(options: Options) -> Outcome:
    """Pauses longer than 20 ms of transfers whose causes are known; prints a line for each place."""
    measured = Measured({place: Score.empty() for place in Place})
    drawn = options.chosen(gap_runs.Runner(*one) for one in transfers(options.seed).items())
    made_now = gap_runs.each_made(drawn, options.out, options.seed, measured.refused, no_runs=options.no_runs)
    for one, made in made_now:
        measured.transfers += 1
        for place in Place:
            found = gaps(analysis(made.captures[place], _LIMIT_MS), made.data_sender)
            alone = Score.empty()
            for score in (measured.scores[place], alone):
                score.add(place, found, made.events, made.otherwise)
            shown = ", ".join(f"{truth}: {cause} {count}" for (truth, cause), count in sorted(alone.counts.items()))
            print(
                f"{one.name} at the {place}: {shown or 'no gaps'}; false stalls {len(alone.false_stalls)}", flush=True
            )
    wrong = any(score.false_stalls for score in measured.scores.values())
    return Outcome(f"{measured.transfers} transfers", sections(measured), failed=wrong)


def sections(measured: Measured) -> list[str]:
    """The tables in Markdown, line by line."""
    lines = []
    for place, score in measured.scores.items():
        lines += ["", f"#### Causes of pauses, beside the {place} of the data", ""]
        lines += [f"Stalls reported where no host stalled: {len(score.false_stalls)}.", "", table(score)]
    if measured.refused:
        lines += ["", f"Not judged, without a run to rely on: {', '.join(measured.refused)}."]
    return lines
