"""`python -m bench.transfers`: vmtrace's transfers beside iperf3's, over the same path, in turns, in the same run.

One stream, the same congestion control, the system's socket buffers, nothing recorded. vmtrace once without TCP_INFO
and once with it every 10 ms; iperf3 once as it is, which is what counts, and once with writes of 1 MiB (`-l 1M`).
Paths: loopback, and (as root) a veth pair between two network namespaces. Programs take turns, and ratios are made
within a turn, because a machine's speed changes from minute to minute.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import cable, document
from bench.measure import ProgramError
from bench.results import Promise, promises_table
from bench.serving import RECEIVER_READY, environment, serving
from vmtrace.lab import namespaces

ROOT = Path(__file__).parent.parent
_ADDRESSES = ("198.18.3.1", "198.18.3.2")
_START_S = 20.0
_TURN_S = 300.0
_PLAN = """\
[[entries]]
index = "bulk"
pairs = 1
probe = {{ bytes = 65536, congestion_control = "{control}" }}
data = {{ bytes = {size}, congestion_control = "{control}" }}
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the two ends run: the words before each command line, and the receiver's address."""

    name: str
    near: tuple[str, ...]
    far: tuple[str, ...]
    address: str


@dataclass(frozen=True, slots=True)
class Turn:
    """Goodput of one turn, bits per second."""

    iperf3_bps: float
    iperf3_large_bps: float
    """With writes of 1 MiB."""
    vmtrace_bps: float
    sampled_bps: float


def main() -> int:
    """Measure, print a table; status 1 if a promise is not kept."""
    arguments = _arguments()
    promises, lines = [], []
    for place in _places():
        turns: list[Turn] = []
        for number in range(arguments.turns):
            turns.append(turn(place, arguments.bytes, arguments.control))
            print(f"{place.name}, turn {number + 1}: {_told(turns[-1])}", flush=True)
        promises += promises_of(place.name, turns)
        lines += rows(place.name, turns)
    how = f"{arguments.turns} turns of {arguments.bytes / 2**30:.3g} GiB, {arguments.control}."
    header = ["| path | program | Gbit/s, median | least | most |", "|---|---|---:|---:|---:|"]
    place_line = document.where(f"{how} Command: `python -m bench.transfers`.")
    text = "\n".join([place_line, "", *header, *lines, "", promises_table(promises)])
    print(text)
    if not arguments.quick:
        document.write_block("transfers", text)
    return 0 if all(promise.kept for promise in promises) else 1


def turn(place: Place, size: int, control: str) -> Turn:
    """iperf3, vmtrace without and vmtrace with TCP_INFO, one after another."""
    return Turn(
        iperf3(place, size, control, []),
        iperf3(place, size, control, ["-l", "1M"]),
        vmtrace(place, size, control, ["--tcp-info-interval", "0"]),
        vmtrace(place, size, control, []),
    )


def promises_of(name: str, turns: Sequence[Turn]) -> list[Promise]:
    """What is promised of the medians of the ratios within turns."""
    speed = statistics.median(one.vmtrace_bps / one.iperf3_bps for one in turns)
    sampling = statistics.median(one.sampled_bps / one.vmtrace_bps for one in turns)
    return [
        Promise(f"{name}: goodput, vmtrace / iperf3", speed, ">=", 1.0),
        Promise(f"{name}: goodput, with / without TCP_INFO every 10 ms", sampling, ">=", 0.98),
    ]


def rows(name: str, turns: Sequence[Turn]) -> list[str]:
    """A line of a Markdown table for each program."""
    programs = {
        "iperf3": [one.iperf3_bps for one in turns],
        "iperf3 -l 1M": [one.iperf3_large_bps for one in turns],
        "vmtrace": [one.vmtrace_bps for one in turns],
        "vmtrace, TCP_INFO every 10 ms": [one.sampled_bps for one in turns],
    }
    lines = []
    for program, rates in programs.items():
        shown = " | ".join(f"{rate / 1e9:.1f}" for rate in (statistics.median(rates), min(rates), max(rates)))
        lines.append(f"| {name} | {program} | {shown} |")
    return lines


def iperf3(place: Place, size: int, control: str, more: Sequence[str]) -> float:
    """Goodput as iperf3's receiver has it."""
    with serving([*place.far, "iperf3", "-s", "-1", "-p", "5811", "--forceflush"], r"listening on (\d+)"):
        words = [*place.near, "iperf3", "-c", place.address, "-p", "5811", "-n", str(size), "-C", control, "-J", *more]
        answer = json.loads(_run(words))
    if "error" in answer:  # iperf3 tells of some with status 0
        raise ProgramError(f"iperf3: {answer['error']}")
    return float(answer["end"]["sum_received"]["bits_per_second"])


def vmtrace(place: Place, size: int, control: str, more: Sequence[str]) -> float:
    """Goodput of the data transfer of one pair, as `pairs.jsonl` has it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "plan.toml").write_text(_PLAN.format(size=size, control=control))
        quiet = ["--no-capture", "--no-host-counters", "--quiet"]
        key = ["--key-file", str(folder / "key")]
        receive = [sys.executable, "-m", "vmtrace.receiver", *key, "--bind", place.address, "--port", "0"]
        with serving([*place.far, *receive, "--out", str(folder / "o"), *quiet], RECEIVER_READY) as (_, port):
            send = [
                sys.executable,
                "-m",
                "vmtrace.sender",
                place.address,
                *key,
                "--port",
                port,
                "--out",
                str(folder / "run"),
            ]
            _run([*place.near, *send, "--plan", str(folder / "plan.toml"), *quiet, "--no-fetch", *more])
        (line,) = (folder / "run/pairs.jsonl").read_text().splitlines()
    return float(json.loads(line)["data"]["goodput_bps"])


def _run(words: Sequence[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=_TURN_S, check=False, env=environment())
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(words)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _places() -> Iterator[Place]:
    yield Place("loopback", (), (), "127.0.0.1")
    reason = namespaces.missing_requirement()
    if reason is not None:
        print(f"veth: left out: {reason}")
        return
    with veth_pair() as place:
        yield place


@contextlib.contextmanager
def veth_pair() -> Iterator[Place]:
    """Two namespaces joined by a veth pair."""
    with cable.joined(_ADDRESSES) as names:
        near, far = (tuple(namespaces.exec_prefix(name)) for name in names)
        yield Place("veth", near, far, _ADDRESSES[1])


def _told(one: Turn) -> str:
    return (
        f"iperf3 {one.iperf3_bps / 1e9:.1f} Gbit/s, -l 1M {one.iperf3_large_bps / 1e9:.1f} Gbit/s,"
        f" vmtrace {one.vmtrace_bps / 1e9:.1f} Gbit/s,"
        f" with TCP_INFO {one.sampled_bps / 1e9:.1f} Gbit/s"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.transfers", description=__doc__)
    parser.add_argument("--turns", type=int, default=21, help="turns of all programs on each path (21)")
    parser.add_argument("--bytes", type=int, default=4 << 30, help="bytes of a transfer (4 GiB)")
    parser.add_argument("--control", default="cubic", help="congestion control of all (cubic)")
    parser.add_argument("--quick", action="store_true", help="small transfers, two turns, and no page written")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.turns, arguments.bytes = 2, 1 << 30
    return arguments


if __name__ == "__main__":
    sys.exit(main())
