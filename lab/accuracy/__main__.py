"""`make accuracy`: lab transfers, their truth, and what vmtrace, tshark and tcptrace read from their captures.

The part `numbers` judges every ready scenario (`vmtrace.lab.accuracy.demands`). Each other part is a study with a
table of its own in docs/accuracy.md (`STUDIES`), whose parameters are drawn by a seed: the day unless it is given, so
that no rule was made for it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from vmtrace.capture.options import add_out
from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import (
    clocks,
    confidence,
    confusion,
    controls,
    demands,
    field,
    field_cases,
    gap_causes,
    gap_stalls,
    programs,
    ranking,
    readings,
    tables,
    verdicts,
    what_ifs,
)
from vmtrace.lab.accuracy.study import DOCUMENT, ROOT, Options, Study, write_document
from vmtrace.lab.accuracy.tables import Row
from vmtrace.lab.hosts import ADDRESSES
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run, run

STUDIES = (
    Study("causes", "pauses whose causes are known", gap_causes.study),
    Study("stalls", "stalls longer than the probe, and transfers of many kinds without any", gap_stalls.study),
    Study("limits", "verdicts, limiting factors over time and token buckets", verdicts.study),
    Study("field-cases", "captures that mislead analysers, beside tshark and tcptrace", field_cases.study, False),
    Study("field", "verdicts on kinds that people report from networks of their own", field.study),
    Study("programs", "verdicts on transfers of real programs", programs.study),
    Study("confidence", "how often verdicts of limits, field, programs are right at each confidence", confidence.study),
    Study("controls", "names of congestion controls, beside those that the lab has set", controls.study),
    Study("what-if", "predictions, beside transfers with exactly that change", what_ifs.study),
    Study("ranking", "order of findings, where two faults are planted", ranking.study),
    Study("clocks", "steps and offsets of two captures' clocks, where queues stand", clocks.study),
)
# A cut for CI, below a minute: clean, lossy, reordered, copied, with offload, limited by the window.
QUICK = (
    "loss1-cubic-rtt20", "reorder2-cubic-rtt40", "duplicate2-cubic-rtt20", "gso-loss1-cubic-rtt20",
    "zero-window-cubic-rtt20", "tls13-upload-loss1-rtt20",
)  # fmt: skip
_ATTEMPTS = 4


def main() -> int:
    """Measures, prints the tables, writes them down unless only a part was measured; 1 if a demand failed."""
    arguments = _arguments()
    needing = {"numbers", *(study.name for study in STUDIES if study.needs_hosts)}
    missing = namespaces.missing_requirement() if needing.intersection(arguments.parts) else None
    if missing and not arguments.keep and not arguments.no_runs:
        print(f"accuracy: {missing}", file=sys.stderr)
        return 1
    if arguments.quick or arguments.names:
        return _numbers(arguments)
    return max(_numbers(arguments) if part == "numbers" else _study(part, arguments) for part in arguments.parts)


def _study(part: str, arguments: argparse.Namespace) -> int:
    study = next(one for one in STUDIES if one.name == part)
    out = _folder(arguments, part)
    options = Options(out, arguments.seed, arguments.each, arguments.times, arguments.only, arguments.no_runs)
    outcome = study.measure(options)
    lines = [_where(f"{outcome.count}, seed {arguments.seed}", arguments, part), *outcome.lines]
    print("\n".join(lines))
    if outcome.lines and not arguments.only:
        _write(part, lines)
    return 1 if outcome.failed else 0


def _numbers(arguments: argparse.Namespace) -> int:
    rows, bad = _rows(arguments)
    if not rows:
        print("accuracy: no good run to judge", file=sys.stderr)
        return 1
    text = "\n".join([_where(f"{len(rows)} good runs", arguments), "", *tables.sections(rows, bad)])
    print(text)
    if not arguments.quick and not arguments.names:
        _write("measured", [text])
    return 1 if any(row.misses for row in rows) else 0


def _folder(arguments: argparse.Namespace, part: str) -> Path:
    """Where the transfers of a part are; emptied of this seed's unless they are to be kept."""
    folder: Path = arguments.out / part
    if not arguments.keep and not arguments.no_runs:
        for kept in ("made.json", "*/done.json"):
            for made in folder.glob(f"*-seed{arguments.seed}/{kept}"):
                made.unlink()
    return folder


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make accuracy",
        description=__doc__,
        epilog=_studies(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parts = ["numbers", *(study.name for study in STUDIES)]
    parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="only these (all of them)")
    today = datetime.datetime.now(datetime.UTC).date()
    parser.add_argument("--seed", type=int, default=int(today.strftime("%Y%m%d")), help="of what is drawn (the day)")
    parser.add_argument(
        "--each",
        type=int,
        default=4,
        help="transfers of each kind of limit, and with a stalled guest at either end (4)",
    )
    parser.add_argument("--times", type=int, default=3, help="how often each change of a what-if is made (3)")
    parser.add_argument("--only", default="", metavar="TEXT", help="names with it, in studies; print only")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these scenarios only, and print only")
    parser.add_argument("--quick", action="store_true", help="six scenarios, print only: for CI")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each scenario, with other dice each (1)")
    add_out(parser, "folder of the runs", "FOLDER", default=ROOT / "build/accuracy")
    parser.add_argument("--no-runs", action="store_true", help="judge only what is there (all but numbers)")
    parser.add_argument("--keep", action="store_true", help="judge good runs that are there already, run the others")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in SCENARIOS]:
        parser.error(f"no such scenario: {', '.join(unknown)}; `vmtrace lab scenario --list` has them all")
    return arguments


def _studies() -> str:
    return "studies:\n" + "\n".join(f"  {study.name:12}{study.judges}" for study in STUDIES)


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


def _where(count: str, arguments: argparse.Namespace, part: str = "") -> str:
    tools = readings.versions()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    again = f" --repeat {arguments.repeat}" if arguments.repeat > 1 else ""
    again += f" --parts {part} --seed {arguments.seed} --each {arguments.each}" if part else ""
    again += " --keep" if arguments.keep else ""
    shown = [tools["vmtrace"]] if part else tools.values()
    return (
        f"Measured {today} with `make accuracy` (`python -m vmtrace.lab.accuracy{again}`): {count}, Linux "
        f"{platform.release()}, {os.cpu_count()} processors. {'; '.join(shown)}."
    )


def _write(part: str, lines: list[str]) -> None:
    if write_document(part, lines):
        print(f"\n{part}: written to {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
