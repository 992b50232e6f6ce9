"""How fast packets are recorded without a drop, beside tcpdump and dumpcap: `python -m bench.capture --help`.

Two namespaces joined by a cable. Packets of MTU size come at a given rate (bench.packet_source, on the first
processor), the program under test records them (on the second) with the same buffer and snap length as the others.
Rates go up step by step; at each step the programs take turns, because what else runs on the machine disturbs all of
them: a program has passed if one of its tries lost nothing. Lost is what was sent and is not in the file by the
program's own count.
The second table is a bulk transfer of iperf3 with segmentation offload: few packets a second, 64 KiB each.
"""

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import cable, document
from bench.cable import INTERFACE
from bench.recorders import RECORDERS, VMTRACE, Outcome, Recorder, Recording, Settings
from vmtrace.lab import namespaces

ROOT = Path(__file__).parent.parent
ADDRESSES = ("198.18.9.1", "198.18.9.2")
# An address that the receiving host does not have: it drops the packets right behind the capture.
NOBODY = "198.18.9.9"
SENDING, RECORDING = 0, 1  # processors
_BULK_STORY = "A bulk transfer of iperf3 with segmentation offload, each try:"


@dataclass(frozen=True, slots=True)
class Trial:
    """One program at one rate."""

    recorder: str
    asked: float
    """The step's rate, the same for all programs."""
    rate: float
    """What the generator reached: less, where it has no processor time left."""
    sent: int
    outcome: Outcome

    @property
    def lost(self) -> int:
        """Packets that were sent and are not in the file."""
        return self.sent - self.outcome.written


@dataclass(frozen=True, slots=True)
class Bulk:
    """One program during a bulk transfer."""

    recorder: str
    gigabits: float
    outcome: Outcome


def main() -> int:
    """Measures, and prints two tables; 1 if vmtrace lost packets where another did not."""
    arguments = _arguments()
    missing = namespaces.missing_requirement()
    if missing or len(os.sched_getaffinity(0)) < 2:
        print(f"bench: {missing or 'a sender and a recorder need two processors'}", file=sys.stderr)
        return 1
    recorders = [recorder for recorder in RECORDERS if recorder.installed]
    rates = list(itertools.takewhile(lambda rate: rate <= arguments.most, _rates(arguments.least, arguments.step)))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder, joined() as (sender, receiver):
        settings = Settings(INTERFACE, arguments.buffer_mib, arguments.snaplen, "udp port 9")
        trials = list(measure_rates(recorders, rates, arguments, (sender, receiver, settings, Path(folder))))
        settings = Settings(INTERFACE, arguments.buffer_mib, arguments.snaplen, "tcp")
        bulk = list(measure_bulk(recorders, arguments, (sender, receiver, settings, Path(folder))))
    worse = where_worse(trials)
    judged = "\n".join(worse) if worse else "vmtrace dropped nothing wherever another dropped nothing."
    how = (
        f"buffer {arguments.buffer_mib} MiB, snap length {arguments.snaplen}, up to {arguments.tries} tries at a rate."
    )
    place = document.where(f"{how} Command: `python -m bench.capture`.")
    text = "\n\n".join([place, rates_table(trials), judged, _BULK_STORY, bulk_table(bulk)])
    print(text)
    if not arguments.quick and not arguments.print_only:
        document.write_block("recording", text)
    return 1 if worse else 0


Place = tuple[str, str, Settings, Path]


def measure_rates(
    recorders: Sequence[Recorder], rates: Sequence[float], arguments: argparse.Namespace, place: Place
) -> Iterator[Trial]:
    """Every rate for every program that has not failed at the two rates before."""
    failures = dict.fromkeys([recorder.name for recorder in recorders], 0)
    for rate in rates:
        failed = {name for name, count in failures.items() if count < 2}
        for _ in range(arguments.tries):
            for recorder in recorders:
                if recorder.name in failed:
                    trial = try_rate(recorder, rate, arguments.seconds, place)
                    _say(f"{recorder.name} at {rate:,.0f}/s: {trial.lost:,} of {trial.sent:,} lost")
                    yield trial
                    if trial.lost <= 0:
                        failed.remove(recorder.name)
        for name, count in failures.items():
            failures[name] = count + 1 if name in failed or count >= 2 else 0
        if min(failures.values()) >= 2:
            return


def try_rate(recorder: Recorder, rate: float, seconds: float, place: Place) -> Trial:
    """Records one burst of packets at one rate."""
    sender, receiver, settings, folder = place
    recording = Recording(recorder, settings, receiver, folder / f"{recorder.name}.pcap", RECORDING)
    try:
        source = [sys.executable, "-m", "bench.packet_source", NOBODY, str(rate), str(seconds)]
        sent = json.loads(_run(sender, SENDING, source))
        outcome = recording.stop()
    finally:
        recording.kill()
    return Trial(recorder.name, rate, sent["packets"] / sent["duration_s"], sent["packets"], outcome)


def measure_bulk(recorders: Sequence[Recorder], arguments: argparse.Namespace, place: Place) -> Iterator[Bulk]:
    """A transfer of iperf3 with offload, recorded by each program in turn."""
    sender, receiver, settings, folder = place
    if shutil.which("iperf3") is None:
        _say("iperf3 is not installed: no bulk transfer")
        return
    for _ in range(arguments.tries):
        for recorder in recorders:
            command = [*namespaces.exec_prefix(receiver), "iperf3", "--server", "--one-off", "--bind", ADDRESSES[1]]
            with subprocess.Popen([*command, "--forceflush"], stdout=subprocess.PIPE, text=True) as server:
                try:
                    for line in server.stdout or []:
                        if "listening" in line:
                            break
                    recording = Recording(recorder, settings, receiver, folder / f"{recorder.name}.pcap", RECORDING)
                    try:
                        client = ["iperf3", "--client", ADDRESSES[1], "--time", str(arguments.seconds), "--json"]
                        report = json.loads(_run(sender, None, [*client, "--length", "1M"]))
                        outcome = recording.stop()
                    finally:
                        recording.kill()
                finally:
                    server.kill()
            gigabits = report["end"]["sum_received"]["bits_per_second"] / 1e9
            _say(f"{recorder.name} at {gigabits:.1f} Gbit/s: {outcome.dropped:,} of {outcome.written:,} dropped")
            yield Bulk(recorder.name, gigabits, outcome)


def rates_table(trials: Sequence[Trial]) -> str:
    """The highest rate at which each lost nothing, and what a packet cost it there."""
    lines = [
        "| program | packets/s without a drop | ratio to vmtrace | CPU ns/packet (least of all tries) |",
        "|---|---:|---:|---:|",
    ]
    own = highest(trials, VMTRACE.name)
    for name in dict.fromkeys(trial.recorder for trial in trials):
        rate = highest(trials, name)
        costs = [t.outcome.cpu_s * 1e9 / t.outcome.written for t in trials if t.recorder == name and t.outcome.written]
        ratio = f"{rate / own:.2f}" if own else "-"
        lines.append(f"| {name} | {rate:,.0f} | {ratio} | {min(costs):,.0f} |")
    return "\n".join(lines)


def bulk_table(bulk: Sequence[Bulk]) -> str:
    """Each try of each program."""
    lines = ["| program | Gbit/s | packets | dropped | CPU s |", "|---|---:|---:|---:|---:|"]
    lines += [
        f"| {one.recorder} | {one.gigabits:.1f} | {one.outcome.written:,} | {one.outcome.dropped:,} "
        f"| {one.outcome.cpu_s:.2f} |"
        for one in bulk
    ]
    return "\n".join(lines)


def highest(trials: Sequence[Trial], name: str) -> float:
    """The highest rate at which a program lost nothing; 0 if there is none."""
    return max((trial.rate for trial in _passed(trials, name)), default=0.0)


def where_worse(trials: Sequence[Trial]) -> list[str]:
    """What breaks the promise that vmtrace keeps up with the others, by the steps' rates."""
    own = _highest_step(trials, VMTRACE.name)
    return [
        f"WORSE: {name} lost nothing at {_highest_step(trials, name):,.0f} packets/s, vmtrace at most at {own:,.0f}"
        for name in dict.fromkeys(trial.recorder for trial in trials)
        if _highest_step(trials, name) > own
    ]


def _highest_step(trials: Sequence[Trial], name: str) -> float:
    return max((trial.asked for trial in _passed(trials, name)), default=0.0)


def _passed(trials: Sequence[Trial], name: str) -> Iterator[Trial]:
    return (trial for trial in trials if trial.recorder == name and trial.lost <= 0)


@contextmanager
def joined() -> Iterator[tuple[str, str]]:
    """A sending and a receiving namespace; UDP messages are cut into packets before they cross."""
    with cable.joined(ADDRESSES) as names:
        hardware = _program("ip", "netns", "exec", names[1], "cat", f"/sys/class/net/{INTERFACE}/address").strip()
        _program("ip", "-n", names[0], *f"neighbour replace {NOBODY} lladdr {hardware} dev {INTERFACE}".split())
        _program("ip", "netns", "exec", names[0], "ethtool", "-K", INTERFACE, "tx-udp-segmentation", "off")
        yield names


def _rates(least: float, step: float) -> Iterator[float]:
    return (least * step**number for number in itertools.count())


def _run(namespace: str, processor: int | None, command: Sequence[str]) -> str:
    pinned = ["taskset", "-c", str(processor)] if processor is not None else []
    words = [*namespaces.exec_prefix(namespace), *pinned, *command]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT)
    return done.stdout


def _program(*words: str) -> str:
    return namespaces.run_program(words)


def _say(line: str) -> None:
    print(f"bench: {line}", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.capture", description=__doc__.splitlines()[0])
    parser.add_argument("--least", type=float, default=200_000, help="first rate, packets/s (200,000)")
    parser.add_argument("--most", type=float, default=1_300_000, help="last rate, packets/s (1,300,000)")
    parser.add_argument("--step", type=float, default=1.25, help="factor from one rate to the next (1.25)")
    parser.add_argument("--tries", type=int, default=3, help="tries at each rate until nothing is lost (3)")
    parser.add_argument("--seconds", type=int, default=2, help="how long each try sends (2)")
    parser.add_argument("--buffer-mib", type=int, default=32, help="kernel buffer of all programs (32)")
    parser.add_argument("--snaplen", type=int, default=96, help="snap length of all programs (96)")
    parser.add_argument("--folder", type=Path, help="where the captures are written (the temporary folder)")
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--quick", action="store_true", help="two rates, one try each, and no page written")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.most, arguments.tries, arguments.seconds = arguments.least * arguments.step, 1, 1
    return arguments


if __name__ == "__main__":
    sys.exit(main())
