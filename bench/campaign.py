"""`python -m bench.campaign`: a campaign of the study's size, unattended, recorded at both ends over loopback.

Is every pair finished, does the memory of both programs stay flat, and how long does the analysis of all captures take
beside the campaign? Memory is what a program has for itself (RssAnon), once a second; the captures' ring buffers, which
come and go with each transfer, are the kernel's.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import document
from bench.measure import ProgramError
from bench.results import Promise, promises_table
from bench.serving import RECEIVER_READY, environment, serving

ROOT = Path(__file__).parent.parent
_PAIRS_OF_A_ROUND = 30


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was seen of it. Memory in KiB, once a second, of the sender and of the receiver."""

    planned: int
    finished: int
    dropped: int
    campaign_s: float
    analysis_s: float
    sender_kib: tuple[int, ...]
    receiver_kib: tuple[int, ...]
    matching_s: float = 0.0
    """What it takes on top to match the packets of both sides with each other."""


def main() -> int:
    """Measure, print; status 1 if a promise is not kept."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        done = campaign(Path(folder), arguments.rounds, arguments.scale)
    found = promises(done)
    place = document.where(f"`lee2011`, scale {arguments.scale:g}. Command: `python -m bench.campaign`.")
    story = (
        f"{done.finished} of {done.planned} pairs in {done.campaign_s:.0f} s, {done.dropped} packets dropped by the"
        f" captures of both ends; analysed in {done.analysis_s:.1f} s, and in"
        f" {done.matching_s:.1f} s more with both sides' packets matched. Memory, MiB, first tenth to last:"
        f" sender {_told(done.sender_kib)}, receiver {_told(done.receiver_kib)}."
    )
    text = "\n\n".join([place, story, promises_table(found)])
    print(text)
    if not arguments.quick:
        document.write_block("campaign", text)
    return 0 if all(promise.kept for promise in found) else 1


def promises(done: Campaign) -> list[Promise]:
    """What is promised of a campaign."""
    return [
        Promise("pairs finished / planned", done.finished / done.planned, ">=", 1),
        Promise("sender: memory, last tenth / first", growth(done.sender_kib), "<=", 1.25),
        Promise("receiver: memory, last tenth / first", growth(done.receiver_kib), "<=", 1.25),
        Promise("analysis / campaign, time", done.analysis_s / done.campaign_s, "<=", 0.01),
    ]


def growth(kib: Sequence[int]) -> float:
    """Median of the last tenth over that of the first, but for the first second: then modules are still loaded."""
    first, last = _ends(kib)
    return last / first


def campaign(folder: Path, rounds: int, scale: float) -> Campaign:
    """Both programs over loopback, and `vmtrace report` on what they left."""
    run, key = folder / "run", ["--key-file", str(folder / "key")]
    receive = [sys.executable, "-m", "vmtrace.receiver", *key, "--bind", "127.0.0.1", "--port", "0", "--quiet"]
    with serving([*receive, "--out", str(folder / "received")], RECEIVER_READY) as (receiver, port):
        send = [sys.executable, "-m", "vmtrace.sender", "127.0.0.1", "--port", port, *key, "--out", str(run)]
        send += ["--scale", str(scale), "--repeat", str(rounds), "--ping-interval", "10ms", "--quiet"]
        began_s = time.monotonic()
        with subprocess.Popen(send, env=environment()) as sender:
            watch = _Watch(sender.pid, receiver.pid)
            status = sender.wait()
        campaign_s = time.monotonic() - began_s
        watch.stop()
    if status != 0:
        raise ProgramError(f"the sender ended with status {status}")
    analysis_s = _report_s(run, "--no-match-sides")
    matching_s = max(0.0, _report_s(run) - analysis_s)
    pairs = [json.loads(line) for line in (run / "pairs.jsonl").read_text().splitlines()]
    complete = sum(pair["status"] == "complete" for pair in pairs)
    dropped = sum(_dropped(pair[part]["capture"]) for pair in pairs for part in ("probe", "data") if pair[part])
    planned = rounds * _PAIRS_OF_A_ROUND
    return Campaign(
        planned, complete, dropped, campaign_s, analysis_s, tuple(watch.first), tuple(watch.second), matching_s
    )


def _report_s(run: Path, *options: str) -> float:
    """How long a report takes that measures every capture anew."""
    began_s = time.monotonic()
    report = [sys.executable, "-m", "vmtrace", "report", str(run), "--quiet", *options]
    subprocess.run(report, check=True, env=environment(), stdout=subprocess.DEVNULL)
    return time.monotonic() - began_s


class _Watch(threading.Thread):
    """Memory of two processes, once a second."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(daemon=True)
        self.first: list[int] = []
        self.second: list[int] = []
        self._processes = (first, second)
        self._ending = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._ending.wait(1.0):
            seen = [own_kib(process) for process in self._processes]
            if None not in seen:
                self.first.append(seen[0] or 0)
                self.second.append(seen[1] or 0)

    def stop(self) -> None:
        self._ending.set()
        self.join()


def own_kib(process: int) -> int | None:
    """Memory that a process has for itself; None once it has ended."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return None
    found = re.search(r"RssAnon:\s+(\d+) kB", status)
    return int(found.group(1)) if found else None


def _dropped(capture: dict[str, int | None] | None) -> int:
    if capture is None:
        return 0
    return (capture["sender_dropped"] or 0) + (capture["receiver_dropped"] or 0)


def _ends(kib: Sequence[int]) -> tuple[float, float]:
    settled = kib[1:]
    tenth = max(1, len(settled) // 10)
    return statistics.median(settled[:tenth]), statistics.median(settled[-tenth:])


def _told(kib: Sequence[int]) -> str:
    first, last = _ends(kib)
    return f"{first / 1024:.1f} to {last / 1024:.1f}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.campaign", description=__doc__)
    parser.add_argument("--rounds", type=int, default=34, help="rounds of 30 pairs (34: 1,020 pairs)")
    parser.add_argument("--scale", type=float, default=0.05, help="of the plan's sizes (0.05)")
    parser.add_argument("--folder", type=Path, help="where the run is made (the temporary folder)")
    parser.add_argument("--quick", action="store_true", help="one round, and no page written")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = 1
    return arguments


if __name__ == "__main__":
    sys.exit(main())
