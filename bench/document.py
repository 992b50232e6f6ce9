"""docs/performance.md: where a measurement was made, and the block of the page that it replaces."""

import datetime
import os
import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs/performance.md"


def where(how: str) -> str:
    """A sentence on date, commit and machine, with what `how` says of repetitions and the command."""
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], check=False, capture_output=True, text=True
    )
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    return (
        f"Measured {date} at commit {commit.stdout.strip() or 'unknown'}, on {cpu[1] if cpu else platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} processors, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}; {how}"
    )


def write_block(name: str, text: str, document: Path = DOCUMENT) -> None:
    """Put `text` between the comments `NAME: begin` and `NAME: end` of the page."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = document.read_text().split(begin)
    after = rest.split(end)[1]
    document.write_text(f"{before}{begin}\n{text}\n{end}{after}")
