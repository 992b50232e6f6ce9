"""Servers for a bench, each for the time of a block: iperf3, and vmtrace's receiver."""

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from bench.measure import ProgramError

ROOT = Path(__file__).parent.parent
RECEIVER_READY = r"listening on .*:(\d+)"
_START_S = 20.0


@contextmanager
def serving(words: Sequence[str], ready: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server, from its word that it listens (the port in it is given, too) to the end of the block."""
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()
    ) as server:
        try:
            yield server, _port(server, ready)
        finally:
            server.terminate()
            with suppress(subprocess.TimeoutExpired):
                server.communicate(timeout=10)
            server.kill()


def _port(server: "subprocess.Popen[str]", ready: str) -> str:
    said = ""
    assert server.stdout is not None
    deadline_s = time.monotonic() + _START_S
    while time.monotonic() < deadline_s:
        line = server.stdout.readline()
        if not line:
            break
        said += line
        found = re.search(ready, line)
        if found:
            return found.group(1)
    raise ProgramError(f"a server did not start: {said.strip()[-300:]}")


def environment() -> dict[str, str]:
    """For programs of this tree, wherever they are started."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
