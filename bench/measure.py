"""What one run of a program costs: wall time, CPU time, peak memory. Knows nothing of captures."""

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost. `peak_bytes` is the largest resident set of any one of its processes."""

    wall_s: float
    cpu_s: float
    peak_bytes: int


class ProgramError(Exception):
    """A measured program ended with an error."""


def cost_of(
    command: Sequence[str | Path], *, cpus: int | None = None, timeout_s: float = 3600, with_descendants: bool = False
) -> Cost:
    """Runs a command to its end, its output thrown away, on at most `cpus` processors.

    With `with_descendants` processes count, too, that others than the command itself have started and not waited for.

    The peak that the kernel reports for a child begins with its parent's size at the fork: keep this process small
    (no numpy here).

    Raises:
        ProgramError: it ended with an error, or took longer than `timeout_s`.
    """
    words = [str(word) for word in command]
    allowed = sorted(os.sched_getaffinity(0))
    if with_descendants:
        _adopt_orphans()
    started = time.monotonic()
    os.sched_setaffinity(0, allowed[:cpus])  # inherited by the child
    try:
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=_environment()) as process:
            os.sched_setaffinity(0, allowed)
            error, usage = _wait(process, timeout_s)
    finally:
        os.sched_setaffinity(0, allowed)
    wall_s = time.monotonic() - started
    if process.returncode != 0:
        raise ProgramError(f"{' '.join(words)}: status {process.returncode}: {error.strip()[-300:]}")
    usages = [usage, *(_orphans() if with_descendants else ())]
    return Cost(wall_s, sum(one.ru_utime + one.ru_stime for one in usages), max(one.ru_maxrss for one in usages) * 1024)


def _adopt_orphans() -> None:
    """From now on this process is the parent of descendants whose own one ends (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    if ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise ProgramError("processes of other processes cannot be measured here")


def _orphans() -> Iterator[resource.struct_rusage]:
    """What they and their children cost, once they have ended."""
    while True:
        try:
            yield os.wait4(-1, 0)[2]
        except ChildProcessError:
            return


def _environment() -> dict[str, str]:
    """This one's, but that Python may keep the modules it compiles, as pip does when it installs them."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _wait(process: subprocess.Popen[bytes], timeout_s: float) -> tuple[str, resource.struct_rusage]:
    """Reads standard error to its end and reaps the process by wait4, which alone gives this child's own usage."""
    killer = threading.Timer(timeout_s, process.kill)
    killer.start()
    try:
        error = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    return error.decode("utf-8", "replace"), usage
