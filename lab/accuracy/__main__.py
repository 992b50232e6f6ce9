"""`make accuracy`: lab transfers, their truth, and what vmtrace, tshark and tcptrace read from their captures.

Nine parts, each with tables of its own in docs/accuracy.md:
* `numbers`: every ready scenario, judged by `vmtrace.lab.accuracy.demands`;
* `causes`: pauses whose causes are known (`vmtrace.lab.accuracy.gap_causes`);
* `stalls`: stalls longer than the probe, and transfers of many kinds without any (`vmtrace.lab.accuracy.gap_stalls`);
* `limits`: verdicts, limiting factors over time and token buckets (`vmtrace.lab.accuracy.verdicts`);
* `field`: verdicts on kinds that people report from networks of their own (`vmtrace.lab.accuracy.field`);
* `programs`: transfers of real programs (`vmtrace.lab.accuracy.programs`);
* `confidence`: how often the verdicts of those three are right at each confidence (`vmtrace.lab.accuracy.confidence`);
* `controls`: names of congestion controls, beside those that the lab has set (`vmtrace.lab.accuracy.controls`);
* `what-if`: predictions, beside transfers with exactly that change (`vmtrace.lab.accuracy.what_ifs`).
The parameters of all but `numbers` are drawn by a seed, which is the day unless it is given: no rule was made for it.
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
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from vmtrace.capture.options import add_out
from vmtrace.lab import namespaces
from vmtrace.lab.accuracy import (
    confidence,
    confusion,
    control_runs,
    controls,
    demands,
    field,
    field_runs,
    gap_causes,
    gap_stalls,
    programs,
    readings,
    tables,
    verdict_runs,
    verdicts,
    what_if_runs,
    what_ifs,
)
from vmtrace.lab.accuracy.tables import Row
from vmtrace.lab.hosts import ADDRESSES
from vmtrace.lab.ready_scenarios import SCENARIOS
from vmtrace.lab.scenario import Run, run

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/accuracy.md"
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
    if missing and not arguments.keep and not arguments.no_runs:
        print(f"accuracy: {missing}", file=sys.stderr)
        return 1
    parts = ("numbers",) if arguments.quick or arguments.names else arguments.parts
    return max(PARTS[part](arguments) for part in parts)


def _numbers(arguments: argparse.Namespace) -> int:
    rows, bad = _rows(arguments)
    if not rows:
        print("accuracy: no good run to judge", file=sys.stderr)
        return 1
    text = "\n".join([_where(f"{len(rows)} good runs", arguments), "", *tables.sections(rows, bad)])
    print(text)
    if not arguments.quick and not arguments.names:
        _write_document("measured", text)
    return 1 if any(row.misses for row in rows) else 0


def _causes(arguments: argparse.Namespace) -> int:
    out = _folder(arguments, "causes")
    measured = gap_causes.measure(out, arguments.seed, no_runs=arguments.no_runs)
    where = _where(f"{measured.transfers} transfers, seed {arguments.seed}", arguments, "causes")
    _write_document("causes", "\n".join([where, *gap_causes.sections(measured)]))
    return 1 if any(score.false_stalls for score in measured.scores.values()) else 0


def _stalls(arguments: argparse.Namespace) -> int:
    out = _folder(arguments, "stalls")
    measured = gap_stalls.measure(out, arguments.seed, arguments.each, no_runs=arguments.no_runs)
    print("\n".join(gap_stalls.listed(measured)))
    count = f"{measured.transfers} transfers, seed {arguments.seed}, {arguments.each} with a guest at either end"
    _write_document("stalls", "\n".join([_where(count, arguments, "stalls"), *gap_stalls.sections(measured)]))
    return 1 if measured.false_kinds else 0


def _limits(arguments: argparse.Namespace) -> int:
    out = _folder(arguments, "limits")
    drawn = verdict_runs.draw(arguments.seed, arguments.each)
    measured = verdicts.measure(drawn, out, arguments.seed, no_runs=arguments.no_runs)
    count = f"{len(measured.judged)} transfers, seed {arguments.seed}, {arguments.each} of each kind"
    _write_document("limits", "\n".join([_where(count, arguments, "limits"), *verdicts.sections(measured)]))
    return 1 if any(measured.tally(place).wrong_and_sure for place in verdicts.PLACES) else 0


def _field(arguments: argparse.Namespace) -> int:
    drawn = field_runs.draw(arguments.seed, arguments.each)
    measured = field.measure(drawn, _folder(arguments, "field"), arguments.seed, no_runs=arguments.no_runs)
    count = f"{measured.transfers} transfers, seed {arguments.seed}, {arguments.each} of each kind"
    _write_document("field", "\n".join([_where(count, arguments, "field"), "", *field.sections(measured)]))
    return 0


def _programs(arguments: argparse.Namespace) -> int:
    drawn, out = programs.draw(arguments.seed), arguments.out / "programs"
    measured = programs.measure(drawn, out, arguments.seed, no_runs=arguments.no_runs)
    count = f"{len(measured.judged)} transfers, seed {arguments.seed}"
    _write_document("programs", "\n".join([_where(count, arguments, "programs"), "", *programs.sections(measured)]))
    return 1 if measured.count("sender", programs.WRONG) else 0


def _confidence(arguments: argparse.Namespace) -> int:
    told = confidence.collect(arguments.out, arguments.seed, arguments.each)
    if not told:
        print("accuracy: confidence: no transfer of this seed is there; run limits, field, programs", file=sys.stderr)
        return 1
    confidence.write(told, arguments.out / "confidence.json")
    count = f"{len(told)} verdicts on transfers of limits, field and programs, seed {arguments.seed}"
    _write_document("confidence", "\n".join([_where(count, arguments, "confidence"), *confidence.sections(told)]))
    return 0


def _what_if(arguments: argparse.Namespace) -> int:
    pairs = what_if_runs.draw(arguments.seed, arguments.each + 1)
    out = _folder(arguments, "what-if")
    measured = what_ifs.measure(pairs, out, arguments.seed, arguments.times, no_runs=arguments.no_runs)
    count = f"{measured.transfers} pairs, seed {arguments.seed}, each change made {arguments.times} times"
    _write_document("what-if", "\n".join([_where(count, arguments, "what-if"), *what_ifs.sections(measured)]))
    return 1 if any(one.is_far for one in measured.judged["sender"] if one.middle_bps is not None) else 0


def _controls(arguments: argparse.Namespace) -> int:
    drawn, out = control_runs.draw(arguments.seed, arguments.each), _folder(arguments, "controls")
    measured = controls.measure(drawn, out, arguments.seed, no_runs=arguments.no_runs)
    count = f"{len(measured.told)} transfers, seed {arguments.seed}"
    _write_document("controls", "\n".join([_where(count, arguments, "controls"), *controls.sections(measured)]))
    return 1 if measured.wrong_and_sure else 0


def _folder(arguments: argparse.Namespace, part: str) -> Path:
    """Where the transfers of a part are; emptied of this seed's unless they are to be kept."""
    folder: Path = arguments.out / part
    if not arguments.keep and not arguments.no_runs:
        for kept in ("made.json", "*/done.json"):
            for made in folder.glob(f"*-seed{arguments.seed}/{kept}"):
                made.unlink()
    return folder


PARTS: dict[str, Callable[[argparse.Namespace], int]] = {
    "numbers": _numbers,
    "causes": _causes,
    "stalls": _stalls,
    "limits": _limits,
    "field": _field,
    "programs": _programs,
    "confidence": _confidence,
    "what-if": _what_if,
    "controls": _controls,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make accuracy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these (all of them)")
    today = datetime.datetime.now(datetime.UTC).date()
    parser.add_argument("--seed", type=int, default=int(today.strftime("%Y%m%d")), help="of what is drawn (the day)")
    parser.add_argument(
        "--each",
        type=int,
        default=4,
        help="transfers of each kind of limit, and with a stalled guest at either end (4)",
    )
    parser.add_argument("--times", type=int, default=3, help="how often each change of a what-if is made (3)")
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
    told = [tools["vmtrace"]] if part else tools.values()
    return (
        f"Measured {today} with `make accuracy` (`python -m vmtrace.lab.accuracy{again}`): {count}, Linux "
        f"{platform.release()}, {os.cpu_count()} processors. {'; '.join(told)}."
    )


def _write_document(part: str, text: str) -> None:
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    pattern = re.compile(f"({re.escape(begin)}\n).*({re.escape(end)})", re.DOTALL)
    written = pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", DOCUMENT.read_text())
    aside = DOCUMENT.with_suffix(".part")
    aside.write_text(written)
    aside.replace(DOCUMENT)
    print(f"\n{part}: written to {DOCUMENT.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
