"""What connections take in memory: the bounds for a million of them follow from what one more takes."""

import subprocess
import sys
from pathlib import Path

import pytest

from vmtrace.corpus.inputs import CapturesFound, Input
from vmtrace.corpus.planning import planned

# The kernel counts a process as large as the one that it was forked from: this one is small.
MEASURE = """
import os, sys
to_nowhere = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=to_nowhere)
_, status, usage = os.wait4(process, 0)
print(usage.ru_maxrss * 1024)
sys.exit(os.waitstatus_to_exitcode(status))
"""
FEW, MANY = 15_000, 45_000
MB = 1 << 20


def peak_bytes(binaries: Path, capture: Path) -> int:
    """The largest resident set of the engine on one thread, JSON included."""
    command = [sys.executable, "-I", "-S", "-c", MEASURE, str(binaries / "analyze"), str(capture), "1"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most_bytes"), [("short", 1900), ("open", 13_000)])
def test_one_more_connection_takes_no_more_than_its_bound(
    binaries: Path, tmp_path: Path, kind: str, most_bytes: int
) -> None:
    peaks = []
    for connections in (FEW, MANY):
        capture = tmp_path / f"{connections}.pcap"
        command = [str(binaries / "bench_generate"), kind, str(capture), "--connections", str(connections)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        peaks.append(peak_bytes(binaries, capture))
        capture.unlink()
    each_bytes = (peaks[1] - peaks[0]) / (MANY - FEW)
    assert 100 < each_bytes < most_bytes


def peak_of(words: list[str]) -> int:
    """The largest resident set of a command of vmtrace."""
    measure = [sys.executable, "-I", "-S", "-c", MEASURE]
    command = [*measure, sys.executable, "-m", "vmtrace", *words]
    return int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


@pytest.mark.slow
def test_commands_of_a_corpus_keep_within_the_memory_they_are_given(binaries: Path, tmp_path: Path) -> None:
    """A bucket as large as one is planned for so much memory, all of it short connections."""
    capture, slices = tmp_path / "short.pcap", str(tmp_path / "slices")
    command = [str(binaries / "bench_generate"), "short", str(capture), "--connections", "28000"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    found = CapturesFound((Input(str(capture), capture.stat().st_size, "v"),), (0,), ())
    assert found.inputs[0].size_bytes > 50 * MB
    several = CapturesFound(found.inputs * 40, found.starts_ns * 40, ())
    assert planned(several, 1, None, 256 * MB).buckets in (39, 40)
    limit = ["--quiet", "--memory", "256MiB"]
    assert peak_of(["corpus", "split", str(capture), "--buckets", "1", "--to", slices, *limit]) < 256 * MB
    assert peak_of(["corpus", "bucket", slices, "--bucket", "0", "--out", str(tmp_path / "out"), *limit]) < 256 * MB
