"""`make providers-demo`: the study's plan, scaled, against four stand-ins behind an emulated path, and a queue's.

Runs each service's benchmark (`provider_run`) over a path of its own, then `vmtrace storage report` on all stores and
`vmtrace queue report` on the queue.
Needs root, for the namespaces.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from vmtrace.capture.options import add_out, add_plan
from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import azurite
from vmtrace.lab.services.provider_run import QUEUE_STAND_INS, STAND_INS, Settings

_TELL_EVERY_S = 10.0
_INTERRUPTED = 130
_QUEUE_PLAN = ("--plan", "yoon-latency", "--rate", "20", "--duration", "20s")


def build_parser() -> argparse.ArgumentParser:
    """The options of the demo."""
    parser = argparse.ArgumentParser(prog="python -m vmtrace.lab.services.demo", description=__doc__.splitlines()[0])
    add_out(parser, "where runs and report go", "FOLDER", required=True)
    add_plan(parser, "of vmtrace storage run (default bocchi2014)", default="bocchi2014")
    parser.add_argument("--scale", default="0.01", metavar="X", help="multiply sizes and pauses by X (default 0.01)")
    parser.add_argument("--repeat", default="1", metavar="N", help="rounds of the plan (default 1)")
    parser.add_argument("--rtt", type=float, default=0.02, metavar="SECONDS", help="of the path (default 0.02)")
    parser.add_argument("--rate", type=float, default=100e6, metavar="BPS", help="of the path, bit/s (default 100e6)")
    parser.add_argument(
        "--queue", type=int, default=1_000_000, metavar="BYTES", help="of the bottleneck (default 1000000)"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="services at the same time (default 2)")
    parser.add_argument(
        "--provider",
        action="append",
        choices=sorted([*STAND_INS, *QUEUE_STAND_INS]),
        help="only this one (repeatable; default: all)",
    )
    parser.add_argument("--no-report", action="store_true", help="only the runs")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run the demo; the path of the report is printed last. Returns the exit status."""
    arguments = build_parser().parse_args(words)
    providers = arguments.provider or [*STAND_INS, *QUEUE_STAND_INS]
    reason = _missing(providers)
    if reason:
        print(f"vmtrace: {reason}", file=sys.stderr)
        return 1
    arguments.out.mkdir(parents=True, exist_ok=True)
    plan = ("--plan", arguments.plan, "--scale", arguments.scale, "--repeat", arguments.repeat)
    settings = [
        Settings(
            provider=provider,
            out=str(arguments.out.resolve()),
            rtt_s=arguments.rtt,
            rate_bps=arguments.rate,
            queue_bytes=arguments.queue,
            arguments=_QUEUE_PLAN if provider in QUEUE_STAND_INS else plan,
        )
        for provider in providers
    ]
    for one in settings:
        if one.run_folder.exists():
            print(f"vmtrace: {one.run_folder} exists: remove it, or choose another --out", file=sys.stderr)
            return 2
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        failed = _run_all(settings, arguments.jobs)
    except KeyboardInterrupt:
        print("vmtrace: interrupted", file=sys.stderr)
        return _INTERRUPTED
    done = [one for one in settings if one.provider not in failed]
    if arguments.no_report or not done:
        return int(bool(failed))
    statuses = [int(bool(failed))]
    stores = [one for one in done if one.provider in STAND_INS]
    queues = [one for one in done if one.provider in QUEUE_STAND_INS]
    if stores:
        statuses.append(_report(arguments.out, stores, "storage", "report"))
    if queues:
        statuses.append(_report(arguments.out, queues, "queue", "queue"))
    return max(statuses)


def _missing(providers: Sequence[str]) -> str | None:
    reason = namespaces.missing_requirement()
    if reason is None and "azure-blob" in providers:
        reason = azurite.missing_requirement()
    return reason


def _run_all(settings: Sequence[Settings], jobs: int) -> list[str]:
    """Run each, so many at once; returns the names of those that failed."""
    waiting, failed = list(settings), []
    running: dict[str, tuple[Settings, subprocess.Popen[bytes]]] = {}
    told_s = began_s = time.monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                one = waiting.pop(0)
                command = "queue" if one.provider in QUEUE_STAND_INS else "storage"
                words = " ".join(one.arguments)
                print(f"{one.provider}: vmtrace {command} run --provider {one.provider} {words}", flush=True)
                running[one.provider] = (one, _start(one))
            for name, (one, process) in list(running.items()):
                if process.poll() is not None:
                    del running[name]
                    _tell_end(one, process.returncode)
                    if process.returncode != 0:
                        failed.append(name)
            if running and time.monotonic() - told_s > _TELL_EVERY_S:
                told_s = time.monotonic()
                print(
                    f"{told_s - began_s:4.0f} s: {', '.join(_so_far(one) for one, _ in running.values())}", flush=True
                )
            time.sleep(0.2)
    except KeyboardInterrupt:
        for _, process in running.values():
            process.send_signal(signal.SIGINT)  # they remove their objects and end their servers
        for _, process in running.values():
            process.wait()
        raise
    return failed


def _start(settings: Settings) -> subprocess.Popen[bytes]:
    words = ["setpriv", "--pdeathsig", "INT", sys.executable, "-m", "vmtrace.lab.services.provider_run"]
    return subprocess.Popen(
        [*words, json.dumps(asdict(settings))],
        stdin=subprocess.DEVNULL,
        env=module_environment(),
        start_new_session=True,  # it is told of Ctrl-C once, by us
    )


def _so_far(settings: Settings) -> str:
    log, about = settings.run_folder / "objects.jsonl", settings.run_folder / "run.json"
    if not about.exists():
        return f"{settings.provider}: starting"
    plan = json.loads(about.read_text())["plan"]
    if "workloads" not in plan:
        return f"{settings.provider}: {sum(stage['messages'] for stage in plan['stages'])} messages under way"
    planned = 2 * plan["repeat"] * sum(workload["files"] for workload in plan["workloads"])
    moved = log.read_bytes().count(b"\n") if log.exists() else 0
    return f"{settings.provider}: {moved} of {planned} transfers of objects"


def _tell_end(settings: Settings, status: int) -> None:
    if status == 0:
        truth = json.loads(settings.truth_path.read_text())
        print(
            f"{settings.provider}: done; {truth['server']}, TLS terminated by {truth['tls_terminated_by']}; "
            f"{len(truth['connections_accepted'])} connections accepted by the server, {truth['path_drops']} packets "
            "dropped by the path",
            flush=True,
        )
        return
    last = settings.log_path.read_text(errors="replace").strip().splitlines()[-5:] if settings.log_path.exists() else []
    print("\n".join([f"{settings.provider}: failed with status {status} ({settings.log_path})", *last]), flush=True)


def _report(out: Path, settings: Sequence[Settings], command: str, name: str) -> int:
    page = out / f"{name}.html"
    tables = "tables" if command == "storage" else f"{name}-tables"
    words = [sys.executable, "-m", "vmtrace", command, "report", *(str(one.run_folder) for one in settings)]
    words += ["--html", str(page), "--csv", str(out / tables), "--json", str(out / f"{name}.json")]
    status = subprocess.run(words, env=module_environment(), check=False).returncode
    if status == 0:
        print(f"report: {page.resolve()}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
