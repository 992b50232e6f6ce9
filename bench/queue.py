"""`python -m bench.queue`: a queue run at a set rate through the queue proxy, held to the proxy's truth.

What must hold (docs/queue.md): no message unaccounted for, the memory of each process within 64 MiB of its start,
latency from the due time within 2 ms of the proxy's at the median and at 99 %, and sends less than 5 ms late at 99 %.
Prints the figures as JSON; exit status 1 where one of them misses.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from vmtrace.analyze.reports.queues.latency import times_of
from vmtrace.analyze.reports.queues.messages import Messages
from vmtrace.analyze.reports.queues.records import QueueRun
from vmtrace.analyze.reports.queues.run_folder import read_queue_run
from vmtrace.analyze.reports.queues.tables import Report, reports_of
from vmtrace.analyze.reports.queues.wire import measure
from vmtrace.capture.host_facts import host_facts
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import certificates, elasticmq, moto, queue_proxy
from vmtrace.lab.services.queue_proxy import QueueProxy

_MEMORY_BYTES = 64 << 20
_NEAR_S = 0.002
_LATE_S = 0.005
SERVERS = {"elasticmq": elasticmq.started, "moto": moto.started}


def main(words: list[str] | None = None) -> int:
    """Run, compare, print; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.queue", description=__doc__.splitlines()[0])
    parser.add_argument("--server", choices=sorted(SERVERS), default="elasticmq")
    parser.add_argument("--rate", default="200", help="messages per second (default 200)")
    parser.add_argument("--duration", default="10min", help="(default 10min)")
    parser.add_argument("--no-capture", action="store_true", help="record no packets")
    parser.add_argument("--warm-up", action="store_true", help="let the server run in for 15 s before")
    parser.add_argument("--keep", type=Path, help="keep the run in this folder")
    arguments = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="vmtrace-queue-bench-") as name:
        out = arguments.keep or Path(name) / "run"
        chain = certificates.make(Path(name) / "certificates")
        with SERVERS[arguments.server](chain) as server, queue_proxy.started(server, [], chain) as proxy:
            more = ["--no-capture"] if arguments.no_capture else []
            if arguments.warm_up:  # a JVM that has not compiled its paths yet is no truth about anything
                _run(Path(name) / "warm", proxy, ["--rate", arguments.rate, "--duration", "15s", "--no-capture"])
            status = _run(out, proxy, ["--rate", arguments.rate, "--duration", arguments.duration, *more])
            run = read_queue_run(out)
            (report,) = reports_of([(run, measure(run))])
            figures = {"server": arguments.server, "rate_per_s": float(arguments.rate), **_figures(run, report, proxy)}
    print(json.dumps(figures, indent=1))
    return status or int(not all(figures["holds"].values()))


def _run(out: Path, proxy: QueueProxy, more: list[str]) -> int:
    words = [sys.executable, "-m", "vmtrace", "queue", "run", "--provider", "sqs", "--out", str(out)]
    words += [*more, "--senders", "8", "--receivers", "1", "--deleters", "1"]
    words += ["--ca-bundle", str(proxy.service.ca_path)]
    environment = {**module_environment(), **proxy.service.environment}
    return subprocess.run(words, env=environment, stdout=subprocess.DEVNULL, check=False).returncode


def _figures(run: QueueRun, report: Report, proxy: QueueProxy) -> dict[str, Any]:
    messages = Messages(run)
    (stage,) = run.stages
    measured_s = times_of(messages, stage).due_s
    truth_s = _truth_s(proxy, run.start_ns or 0)
    apart = {f"p{q}": float(np.percentile(measured_s, q) - np.percentile(truth_s, q)) for q in (50, 99)}
    late = {row.after: row.quantiles.p99_s or 0.0 for row in report.lateness}
    grown = max((row.most_bytes or 0) - (row.start_bytes or 0) for row in report.processes)
    fates = report.fates
    accounted = fates.delivered + fates.pending + (fates.lost or 0) + (fates.lost_in_flight or 0) + fates.refused
    row = next(one for one in report.latency if one.from_ == "due")
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": host_facts(None, metadata=False).as_record().get("cpu"),
        "messages": fates.planned,
        "delivered": fates.delivered,
        "proxy_delivered": len(truth_s),
        "rates_per_s": {one.operation: one.messages_per_s for one in report.rates},
        "latency_from_due_s": {"p50": row.quantiles.p50_s, "p99": row.quantiles.p99_s, "max": row.quantiles.max_s},
        "latency_beyond_proxy_s": apart,
        "late_p99_s": late,
        "memory_grown_bytes": grown,
        "dropped_packets": report.wire.dropped,
        "wire_per_message": report.wire_per_message,
        "holds": {
            "accounted": accounted + fates.unsent == fates.planned and fates.delivered == len(truth_s),
            "memory": grown <= _MEMORY_BYTES,
            "latency": all(abs(value) <= _NEAR_S for value in apart.values()),
            "lateness": late.get("due", 1.0) < _LATE_S,
        },
    }


def _truth_s(proxy: QueueProxy, since_ns: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """From the due time to when the proxy passed the first delivery on."""
    first: dict[int, float] = {}
    for one in proxy.passed():
        if one.what == "delivered" and one.sent_ns >= since_ns:
            first.setdefault(one.number, (one.time_ns - one.due_ns) / 1e9)
    return np.array(list(first.values()), np.float64)


if __name__ == "__main__":
    sys.exit(main())
