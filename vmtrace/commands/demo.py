"""`vmtrace demo`: the whole story on this machine, from transfers to a report to open.

With root, two hosts in network namespaces and an emulated long path between them; without, a campaign over loopback,
and a word that says so. Either way real transfers by the real sender and receiver, recorded at both ends, and then
`vmtrace report`.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vmtrace.capture.options import add_out
from vmtrace.errors import CommandError
from vmtrace.missing import REPORTS, require

_PROFILE = "ec2-micro-to-campus"
_START_S = 20.0
_END_S = 20.0
# Three of the study's combinations at a tenth of their size: small and large probes, in about two minutes.
_PLAN = """\
name = "demo"
repeat = {repeat}

[[entries]]
index = "I_0"
pairs = 2
probe = {{ bytes = "16 KiB" }}
data = {{ bytes = "800 KiB" }}

[[entries]]
index = "I_5"
pairs = 2
probe = {{ bytes = "50 KiB" }}
data = {{ bytes = "800 KiB" }}

[[entries]]
index = "I_8"
pairs = 2
probe = {{ bytes = "100 KiB" }}
data = {{ bytes = "1600 KiB" }}
"""
_REPORT_LINES = 12
"""Of the report, which stands below what the campaign has printed, on one screen of 40 lines."""
_EXAMPLES = """examples:
  sudo vmtrace demo --out demo           an emulated path between two hosts, recorded at both ends
  vmtrace demo --out demo                without root: over loopback
"""


def build_parser() -> argparse.ArgumentParser:
    """The options of `vmtrace demo`."""
    parser = argparse.ArgumentParser(
        prog="vmtrace demo",
        description="A campaign of connection pairs on this machine, its analysis, and a report to open.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    out = Path("vmtrace-demo")
    add_out(parser, "folder for runs (default: %(default)s)", "DIR", default=out)
    parser.add_argument("--repeat", metavar="N", type=int, default=1, help="rounds of its six pairs (default: 1)")
    parser.add_argument("--all", action="store_true", help="print the whole report, not only what fits on one screen")
    parser.add_argument("--loopback", action="store_true", help="over loopback, also with root")
    return parser


def run(arguments: argparse.Namespace) -> int:
    """Run the campaign and report on it; returns the exit status of the report."""
    if arguments.repeat < 1:
        raise ValueError("--repeat: at least 1")
    require(*REPORTS)
    folder = _new_folder(arguments.out)
    reason = "as asked for" if arguments.loopback else _no_lab()
    with tempfile.TemporaryDirectory(prefix="vmtrace-demo-") as name:
        plan = Path(name) / "demo.toml"
        plan.write_text(_PLAN.format(repeat=arguments.repeat))
        if reason is None:
            _over_the_lab(folder, plan)
        else:
            print(f"demo: over loopback, which loses nothing and takes no time ({reason})", flush=True)
            _over_loopback(folder, plan, Path(name))
    return _report(folder, everything=arguments.all)


def _new_folder(parent: Path) -> Path:
    """A folder for this run: a demo may be run again and again."""
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 1 + max((int(path.name[4:]) for path in parent.glob("run-*") if path.name[4:].isdigit()), default=0)
    return parent / f"run-{number}"


def _no_lab() -> str | None:
    """Why there can be no emulated path here, or None."""
    from vmtrace.lab import namespaces

    return namespaces.missing_requirement()


def _over_the_lab(folder: Path, plan: Path) -> None:
    words = ["lab", "run", _PROFILE, "--out", str(folder), "--plan", str(plan), "--congestion-control", "cubic"]
    from vmtrace import cli

    status = cli.run(words)
    if status == 130:
        raise KeyboardInterrupt
    if status != 0 and not (folder / "pairs.jsonl").exists():
        raise CommandError("the campaign did not take place")
    if status != 0:
        print(
            "demo: this machine was too busy to keep the path's timing; the report is of what was recorded", flush=True
        )


def _over_loopback(folder: Path, plan: Path, work: Path) -> None:
    # The sender says itself what it cannot record, and goes on.
    with _receiver(work) as (key, port):
        words = [sys.executable, "-m", "vmtrace.sender", "127.0.0.1", "--port", port, "--key-file", key]
        status = subprocess.run([*words, "--out", str(folder), "--plan", str(plan), *_capture_words()], check=False)
    if status.returncode == 130:
        raise KeyboardInterrupt
    if status.returncode != 0:
        raise CommandError("the campaign over loopback did not end well")


def _capture_words() -> list[str]:
    """Without the right to record, the demo goes on without packets and says so."""
    from vmtrace.capture.rights import missing_rights

    reason = missing_rights()
    if reason is None:
        return []
    print(f"demo: no packets are recorded: {reason}", flush=True)
    return ["--no-capture"]


@contextmanager
def _receiver(work: Path) -> Iterator[tuple[str, str]]:
    """A receiver on loopback, for as long as the block lasts; its key file and port."""
    key = str(work / "key")
    words = [
        sys.executable,
        "-m",
        "vmtrace.receiver",
        "--key-file",
        key,
        "--bind",
        "127.0.0.1",
        "--port",
        "0",
        "--quiet",
    ]
    words += ["--out", str(work / "received")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield key, _port_of(process)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=_END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _port_of(process: "subprocess.Popen[str]") -> str:
    deadline_s = time.monotonic() + _START_S
    if process.stdout is not None:
        while time.monotonic() < deadline_s:
            line = process.stdout.readline()
            found = re.search(r"listening on .*:(\d+)", line)
            if found:
                return found.group(1)
            if not line:
                break
    said = process.stderr.read() if process.stderr is not None and process.poll() is not None else ""
    raise CommandError(f"the receiver did not start: {said.strip()[-200:]}")


def _report(folder: Path, *, everything: bool) -> int:
    from vmtrace.commands import report

    words = [str(folder), "--html", str(folder / "report.html"), "--figures", str(folder / "figures")]
    arguments = report.build_parser().parse_args([*words, *(["--all"] if everything else [])])
    return report.run(arguments, _REPORT_LINES)
