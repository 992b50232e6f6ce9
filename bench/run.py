"""Speed beside peers, in one run on the same files: `make bench`, or `python -m bench.run --help`."""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import captures, document, peers, results
from bench.captures import Capture
from bench.measure import Cost, cost_of
from bench.results import Row
from bench.trials import Trial, run_in_turns

ROOT = Path(__file__).parent.parent
# The captures on which all peers run; on the others only vmtrace, and what a promise compares it with.
WITH_ALL_PEERS = frozenset({"few", "short"})
WITH_ONE_PROCESSOR = frozenset({"many", "one"})
# All captures of a full run together.
NEEDED_BYTES = 8 * 10**9


def main() -> int:
    """Measures, prints the tables, and writes them to docs/performance.md unless the run is a quick one."""
    arguments = _arguments()
    folder = ROOT / "build/bench"
    if not arguments.quick and not captures.room_for(folder, NEEDED_BYTES):
        print(f"bench: {folder} needs {NEEDED_BYTES / 1e9:.0f} GB free; make room or use --quick", file=sys.stderr)
        return 1
    rows, single, wrong = _measure(arguments, folder)
    promises = results.promises(results.Figures(rows, single))
    # On small files the start of the interpreter is most of the cost.
    judged = "Promises are not judged on small files." if arguments.quick else results.promises_table(promises)
    text = "\n".join([_where(arguments), "", results.table(rows), "", judged, "", *wrong]).rstrip()
    print(text)
    (folder / "results.json").write_text(
        json.dumps({"rows": [asdict(row) for row in rows], "promises": [asdict(p) for p in promises], "wrong": wrong})
    )
    if not arguments.quick and arguments.only is None:
        document.write_block("measured", text)
        print(f"\nwritten to {document.DOCUMENT.relative_to(ROOT)}")
    return 1 if wrong else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small files, one run each: for CI")
    parser.add_argument(
        "--repeat", type=int, default=9, help="runs of each quick program, in turns of three; the best counts (9)"
    )
    parser.add_argument("--prefix", type=int, default=500_000, help="packets given to slow peers (500,000)")
    parser.add_argument("--only", action="append", choices=[r.name for r in captures.RECIPES], help="these captures")
    parser.add_argument("--binaries", type=Path, help="folder of the built examples bench_*")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.repeat, arguments.prefix = 1, min(arguments.prefix, 20_000)
    return arguments


def _binaries(arguments: argparse.Namespace) -> Path:
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    folder: Path = arguments.binaries or target / "release/examples"
    return folder


def _measure(arguments: argparse.Namespace, folder: Path) -> tuple[list[Row], dict[str, Cost], list[str]]:
    """Rows in the order of the captures, costs on one processor, and every answer that was not the truth."""
    rows: list[Row] = []
    single: dict[str, Cost] = {}
    wrong: list[str] = []
    binaries = _binaries(arguments)
    out = folder / "out.json"
    for recipe in captures.RECIPES:
        if arguments.only is not None and recipe.name not in arguments.only:
            continue
        _say(f"{recipe.title}: making the capture")
        capture = captures.make(recipe, binaries / "bench_generate", folder, quick=arguments.quick)
        asked = (_trial(capture, peer, arguments.repeat) for peer in _peers(capture, binaries, arguments.prefix))
        trials = [trial for trial in asked if trial is not None]
        run_in_turns(trials, say=_say)
        measured = [trial for trial in trials if trial.costs]
        rows += [_row(capture, trial) for trial in measured if trial.cpus is None]
        single |= [(capture.name, trial.least) for trial in measured if trial.cpus is not None]
        cost_of(peers.vmtrace(out).call(capture.path))
        wrong += _check(capture, out)
    return rows, single, wrong


def _peers(capture: Capture, binaries: Path, prefix_packets: int) -> Iterator[peers.Peer]:
    walker = binaries / "bench_walk"
    yield peers.vmtrace()
    if capture.name in WITH_ONE_PROCESSOR:
        yield replace(peers.vmtrace(), cpus=1)
    if capture.name in WITH_ALL_PEERS:
        yield peers.walk(walker)
        yield peers.minimal(binaries / "bench_minimal")
        yield from peers.others(prefix_packets)
    if capture.name == "full":
        yield from peers.readers(walker)


def _trial(capture: Capture, peer: peers.Peer, repeat: int) -> Trial | None:
    if not peer.installed:
        _say(f"{capture.name}: {peer.name} is not installed, its row is left out")
        return None
    if peer.prefix_packets is None:
        return Trial(peer.name, peer.call(capture.path), capture.packets, repeat, peer.cpus)
    path, packets = captures.prefix(capture, peer.prefix_packets)
    return Trial(peer.name, peer.call(path), packets, 1, peer.cpus)


def _row(capture: Capture, trial: Trial) -> Row:
    return Row(capture.name, trial.name, trial.packets, trial.packets == capture.packets, trial.least)


def _check(capture: Capture, answer: Path) -> list[str]:
    """A quick answer must also be right: connections and retransmissions against what the generator counted.

    The answer is read connection by connection: this process must stay small (see `measure.cost_of`).
    """
    found = {"connections": 0, "data_segments": 0, "retransmitted_segments": 0}
    for connection in _connections(answer):
        found["connections"] += 1
        for direction in (connection["client_to_server"], connection["server_to_client"]):
            found["data_segments"] += direction["data_segments"]
            found["retransmitted_segments"] += direction["loss"]["retransmitted_segments"]
    return [
        f"WRONG: {capture.name}: {name} is {value}, the truth is {getattr(capture, name)}"
        for name, value in found.items()
        if value != getattr(capture, name)
    ]


def _connections(answer: Path) -> Iterator[dict[str, Any]]:
    """The connections of a JSON document of vmtrace: each begins a line, what follows the last ends its line."""
    decoder = json.JSONDecoder()
    with answer.open() as lines:
        for line in lines:
            if line.startswith('{"id":'):
                yield decoder.raw_decode(line)[0]


def _where(arguments: argparse.Namespace) -> str:
    return document.where(
        f"best of {arguments.repeat}, slow peers on the first {arguments.prefix:,} packets once. "
        f"Command: `make bench`{' with `--quick`' if arguments.quick else ''}."
    )


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
