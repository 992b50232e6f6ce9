"""`make swarm-demo`: the study's Figs. 5 and 6 with a store, a tracker and eight seeds of known rates, and the proof.

Runs everything twice, against the store behind TLS and against a plain one, then `vmtrace swarm report` on both, and
holds the report to what the lab knows: rates, kernel counters, digests. Needs root, for the namespaces.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from vmtrace.capture.options import add_out
from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.swarm import experiment
from vmtrace.lab.swarm.experiment import Experiment, Outcome
from vmtrace.lab.swarm.programs import SwarmLabError

_STORE_BPS = 16e6
_SEEDS_BPS = (8e6, 8e6, 4e6, 12e6, 8e6, 6e6, 10e6, 8e6)
_SIZE_BYTES = 12_000_000
RATE_WITHIN, COUNTERS_WITHIN = 0.03, 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; returns 0 if the report holds."""
    parser = argparse.ArgumentParser(prog="vmtrace.lab.swarm.demo", description=main.__doc__)
    add_out(parser, "output folder", "FOLDER", required=True)
    parser.add_argument("--repeat", default="3", help="repeats of each combination (default: 3)")
    parser.add_argument("--seeds", default="0,1,2,4,8", help="numbers of seeds (default: 0,1,2,4,8)")
    options = parser.parse_args(arguments)
    try:
        namespaces.require()
        outcomes = {name: _run(name, options) for name in ("https", "http")}
    except (namespaces.LabUnavailableError, SwarmLabError) as error:
        print(f"vmtrace: {error}", file=sys.stderr)
        return 1
    folders = [str(one.run_folder) for one in outcomes.values()]
    outputs = ["--html", str(options.out / "report.html"), "--csv", str(options.out / "tables")]
    _report([*folders, *outputs, "--figures", str(options.out / "figures"), "--prices", "bocchi2014"])
    wrong = [line for one in outcomes.values() for line in _check(one)]
    print("\n".join([*wrong, f"the report {'holds' if not wrong else 'does not hold'}: {options.out / 'report.html'}"]))
    return 1 if wrong else 0


def _run(scheme: str, options: argparse.Namespace) -> Outcome:
    plan = ["--seeds", options.seeds, "--repeat", options.repeat, "--capacity-time", "4s", "--web-request", "1MiB"]
    print(f"== {scheme}", flush=True)
    one = Experiment(
        _SIZE_BYTES, _STORE_BPS, _SEEDS_BPS, scheme, [*plan, "--name", f"store by {scheme}"], forbidden=True
    )
    outcome = experiment.run(one, options.out / scheme)
    print(outcome.done.errors, end="", flush=True)
    return outcome


def report_of(outcome: Outcome) -> dict[str, Any]:
    """The JSON report on a run in the lab."""
    document: dict[str, Any] = json.loads(_report([str(outcome.run_folder), "--json", "-", "--quiet"], shown=False))
    return document


def _check(outcome: Outcome) -> list[str]:
    """What in the report is not as the lab knows it, a line each; prints what is compared."""
    document, wrong = report_of(outcome), []
    rates = {host.address: host.payload_bps for host in outcome.hosts.values()}
    for row in document["data_sets"][0]["capacities"]:
        known = rates[row["address"].rpartition(":")[0]]
        if known is None or row["capacity_bps"] is None:
            wrong.append(f"{row['address']}: its capacity was not measured")
            continue
        off = row["capacity_bps"] / known - 1
        print(
            f"{row['address']}: capacity {row['capacity_bps'] / 1e6:.2f} Mbit/s, known {known / 1e6:.2f} ({off:+.1%})"
        )
        wrong += [f"{row['address']}: the capacity is {off:+.1%} off"] if abs(off) > RATE_WITHIN else []
    for run in document["runs"]:
        if run["status"] != "finished" or not run["digest_ok"] or run["agrees"] is not True:
            wrong.append(
                f"download {run['number']}: {run['status']}, digest {run['digest_ok']}, agrees {run['agrees']}"
            )
    largest = max(abs(run["apart"]) for run in document["runs"] if run["apart"] is not None)
    print(f"packets and the client's counters are at most {largest:.2%} apart")
    return wrong


def _report(words: Sequence[str], *, shown: bool = True) -> str:
    command = [sys.executable, "-m", "vmtrace", "swarm", "report", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=module_environment())
    if shown:
        print(done.stdout, flush=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
