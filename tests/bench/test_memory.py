"""What connections take in memory: the bounds for a million of them follow from what one more takes."""

import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vmtrace.analyze.read import memory
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
@pytest.mark.parametrize(("kind", "most_bytes"), [("short", 1450), ("open", 13_000)])
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


def peak_of(words: list[str]) -> tuple[int, str]:
    """The largest resident set of a command of vmtrace that ends well, and its errors."""
    measure = [sys.executable, "-I", "-S", "-c", MEASURE]
    command = [*measure, sys.executable, "-m", "vmtrace", *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
    return int(done.stdout), done.stderr


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
    assert peak_of(["corpus", "split", str(capture), "--buckets", "1", "--to", slices, *limit])[0] < 256 * MB
    bucket = ["corpus", "bucket", slices, "--bucket", "0", "--out", str(tmp_path / "out"), *limit]
    assert peak_of(bucket)[0] < 256 * MB


def write_flood(path: Path, syns: int) -> None:
    """SYNs of as many sources to one server, ten microseconds apart."""
    frame = bytes(12) + b"\x08\0" + struct.pack(">BBHHHBBH", 0x45, 0, 40, 0, 0, 64, 6, 0)
    server = bytes((198, 18, 0, 1))
    tail = struct.pack(">IIBBHHH", 7, 0, 0x50, 2, 1000, 0, 0)
    size = len(frame) + 8 + 4 + len(tail)
    record, ends = struct.Struct("<IIII"), struct.Struct(">IIHH")
    assert ends.size == 12
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for number in range(syns):
            head = record.pack(1_700_000_000 + number // 100_000, number % 100_000 * 10, size, size)
            source = (0x0A000000 + number).to_bytes(4, "big")
            file.write(head + frame + source + server + struct.pack(">HH", 1024 + number % 50_000, 443) + tail)


def analysed(words: list[str], before: str = "") -> tuple[int, str, dict[str, Any]]:
    """Exit status, errors and document of `vmtrace analyze`, in a shell that ran `before`."""
    command = ["bash", "-c", f'{before} "$0" "$@"', sys.executable, "-m", "vmtrace", "analyze", "--json", "-"]
    done = subprocess.run([*command, *words], check=False, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stderr, json.loads(done.stdout)


@pytest.fixture(scope="module")
def flood(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("flood") / "flood.pcap"
    write_flood(path, 1_000_000)
    return path


def assert_is_summed(document: dict[str, Any], errors: str) -> None:
    assert document["connections"] == [], errors
    assert document["unanswered_syns"]["attempts"] == 1_000_000
    assert "1,000,000 unanswered SYNs are summed by source and server" in errors


@pytest.mark.slow
def test_a_million_unanswered_syns_are_summed_in_no_more_than_the_memory_given(flood: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    peak, errors = peak_of(["analyze", str(flood), "--json", str(out), "--memory", "256MiB"])
    assert_is_summed(json.loads(out.read_text()), errors)
    assert peak < 256 * MB


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pipe", "ulimit"])
def test_a_flood_from_a_pipe_or_in_little_address_space_is_summed_as_well(flood: Path, way: str) -> None:
    before = {"pipe": f"cat {flood} |", "ulimit": "ulimit -v 700000;"}[way]
    given = ["--memory", "256MiB", "-"] if way == "pipe" else [str(flood)]
    status, errors, document = analysed(given, before)
    assert status == 0, errors
    assert_is_summed(document, errors)


@pytest.fixture(scope="module")
def short(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """So many connections that some limits hold them all, and others a part."""
    capture = tmp_path_factory.mktemp("short") / "short.pcap"
    command = [str(binaries / "bench_generate"), "short", str(capture), "--connections", "120000"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return capture


@pytest.mark.slow
def test_where_memory_is_not_enough_a_line_says_so_and_what_was_read_is_written(short: Path) -> None:
    status, errors, document = analysed(["--memory", "128MiB", str(short)])
    assert (status, document["memory_exhausted"], document["interrupted"]) == (1, True, True)
    assert 1000 < len(document["connections"]) < 120_000
    assert [line for line in errors.splitlines() if "stopped because memory is missing" in line and "--memory" in line]


@pytest.mark.slow
@pytest.mark.parametrize("most_kib", [50_000, 100_000, 200_000, 300_000, 500_000, 1_500_000])
def test_little_address_space_ends_with_one_line_and_never_with_a_signal(short: Path, most_kib: int) -> None:
    command = ["bash", "-c", f'ulimit -v {most_kib}; exec "$0" "$@"', sys.executable, "-m", "vmtrace"]
    words = ["analyze", str(short), "--quiet", "--json", "/dev/null"]
    done = subprocess.run([*command, *words], check=False, capture_output=True, text=True, timeout=600)
    lines = done.stderr.splitlines()
    assert done.returncode in (0, 1), lines
    assert len(lines) == done.returncode, lines
    assert done.returncode == 0 or "memory" in lines[0] or "failed to map" in lines[0]


@pytest.mark.parametrize(
    ("own", "files", "most_bytes"),
    [
        ("0::/jobs/one\n", {"jobs/memory.max": "500000", "jobs/one/memory.max": "max"}, 500_000),
        ("4:memory:/a\n1:cpu:/a\n", {"memory/a/memory.limit_in_bytes": "700000"}, 700_000),
        ("4:memory:/elsewhere\n0::/\n", {"memory/memory.limit_in_bytes": "600000"}, 600_000),
        ("", {}, None),
    ],
)
def test_half_of_what_groups_and_machine_allow_is_taken(
    own: str, files: dict[str, str], most_bytes: int | None, tmp_path: Path
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(own)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    known = memory.half_bytes(tmp_path)
    assert known == most_bytes // 2 if most_bytes is not None else known > 1 << 20
