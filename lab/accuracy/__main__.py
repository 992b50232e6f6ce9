"""`make accuracy`: every ready scenario, its truth, and what vmtrace, tshark and tcptrace read from its captures.

Runs what is missing, judges each run by `lab.accuracy.demands`, and writes the tables into docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lab import namespaces
from lab.accuracy import confusion, demands, readings, tables
from lab.accuracy.tables import Row
from lab.hosts import ADDRESSES
from lab.ready_scenarios import SCENARIOS
from lab.scenario import Run, run

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/accuracy.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# A cut for CI, below a minute: clean, lossy, reordered, copied, with offload, limited by the window.
QUICK = (
    "loss1-cubic-rtt20", "reorder2-cubic-rtt40", "duplicate2-cubic-rtt20", "gso-loss1-cubic-rtt20",
    "zero-window-cubic-rtt20", "tls13-upload-loss1-rtt20",
)  # fmt: skip
_ATTEMPTS = 4


def main() -> int:
    """Measures, prints the tables, writes them down unless only a part was measured; 1 if a demand failed."""
    arguments = _arguments()
    missing = namespaces.missing_requirement()
    if missing and not arguments.keep:
        print(f"accuracy: {missing}", file=sys.stderr)
        return 1
    rows, bad = _rows(arguments)
    if not rows:
        print("accuracy: no good run to judge", file=sys.stderr)
        return 1
    text = "\n".join([_where(len(rows), arguments), "", *tables.sections(rows, bad)])
    print(text)
    if not arguments.quick and not arguments.names:
        _write_document(text)
        print(f"\nwritten to {DOCUMENT.relative_to(ROOT)}")
    return 1 if any(row.misses for row in rows) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make accuracy", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="these scenarios only, and print only")
    parser.add_argument("--quick", action="store_true", help="six scenarios, print only: for CI")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each scenario, with other dice each (1)")
    parser.add_argument("--out", type=Path, default=ROOT / "build/accuracy", help="folder of the runs")
    parser.add_argument("--keep", action="store_true", help="judge good runs that are there already, run the others")
    return parser.parse_args()


def _rows(arguments: argparse.Namespace) -> tuple[list[Row], list[str]]:
    names = arguments.names or (QUICK if arguments.quick else list(SCENARIOS))
    rows, bad = [], []
    for done in _runs(names, arguments):
        if not done.good:
            bad.append(f"{done.folder.name}: {'; '.join(done.truth['problems'])}")
            continue
        rows.append(row(done))
        print(_progress(rows[-1]), file=sys.stderr, flush=True)
    return rows, bad


def _runs(names: list[str] | tuple[str, ...], arguments: argparse.Namespace) -> Iterator[Run]:
    for name in names:
        for repeat in range(arguments.repeat):
            folder = arguments.out / (name if repeat == 0 else f"{name}-{repeat + 1}")
            known = folder / "truth.json"
            if arguments.keep and known.exists() and (truth := json.loads(known.read_text()))["good"]:
                yield Run(folder, truth)
                continue
            scenario = SCENARIOS[name]
            yield run(replace(scenario, seed=scenario.seed + repeat), folder, _ATTEMPTS)


def row(done: Run) -> Row:
    """Everything the tables say of one run."""
    sender = ADDRESSES[done.truth["scenario"]["ip_version"]]["sender"]
    captures = {"sender": done.sender_pcap, "receiver": done.receiver_pcap}
    tools = {"vmtrace": readings.of_vmtrace, "tshark": readings.of_tshark, "tcptrace": readings.of_tcptrace}
    read = {
        (tool, side): reader(capture, sender) for tool, reader in tools.items() for side, capture in captures.items()
    }
    judged = demands.judge(done, read["vmtrace", "sender"], read["vmtrace", "receiver"])
    with tempfile.TemporaryDirectory() as folder:
        labels = confusion.at_the_receiver(done, read["vmtrace", "receiver"].connections, Path(folder))
    return Row(done.folder.name, judged, read, demands.misses(judged), labels)


def _progress(measured: Row) -> str:
    return f"{measured.name:42} {'; '.join(measured.misses.values()) or 'ok'}"


def _where(count: int, arguments: argparse.Namespace) -> str:
    tools = readings.versions()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    again = f" --repeat {arguments.repeat}" if arguments.repeat > 1 else ""
    again += " --keep" if arguments.keep else ""
    return (
        f"Measured {today} with `make accuracy` (`python -m lab.accuracy{again}`): {count} good runs, Linux "
        f"{platform.release()}, {os.cpu_count()} processors. {'; '.join(tools.values())}."
    )


def _write_document(text: str) -> None:
    document = DOCUMENT.read_text()
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*({re.escape(END)})", re.DOTALL)
    DOCUMENT.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", document))


if __name__ == "__main__":
    sys.exit(main())
