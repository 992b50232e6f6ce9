"""What a corpus costs: `make corpus` measures one process against workers, and reading from a store against raw ranges.

Processor time counts, since other work on the machine changes the wall time. Prints a table for docs/corpus.md.
"""

import argparse
import gzip
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bench import captures
from bench.measure import Cost, cost_of

_FILES = 64
_ONE = ("--quiet", "--merge", "--threads", "1")
_MOST_BYTES = 1536 << 20
"""No process of any of these takes more."""
_BULK = captures.Recipe("bulk", "", "bulk", ("--packets", "50000000"), ("--packets", "300000"), ("--flows", "1000"))
_SHORT = captures.Recipe("short", "", "short", ("--connections", "400000"), ("--connections", "5000"))
"""Large enough that the start of the workers, 2.3 s of processor time, counts for little."""
_CORPORA = (("packed", _BULK, True), ("bulk", _BULK, False), ("short", _SHORT, False))
"""A folder's name, what is in it, and whether its captures are compressed."""
_HEADER_BYTES = 24
_RECORD = struct.Struct("<IIII")
_GENERATOR = Path("target/release/examples/bench_generate")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small corpus")
    parser.add_argument("--generator", type=Path, default=_GENERATOR, help="the example bench_generate")
    parser.add_argument("--keep", type=Path, help="work in this folder, and leave it there")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vmtrace-bench-") as folder:
        work = arguments.keep or Path(folder)
        for line in report(arguments.generator, work, quick=arguments.quick):
            print(line, flush=True)


def report(generator: Path, work: Path, *, quick: bool) -> Iterator[str]:
    """The lines of the table."""
    yield "| corpus | command | CPU s | of one process | wall s | of one process | largest process |"
    yield "|---|---|---|---|---|---|---|"
    for name, recipe, packed in _CORPORA:
        made = captures.make(recipe, generator, work / "made", quick=quick)
        folder = work / name
        size_bytes = sum(part.stat().st_size for part in rotate(made.path, folder, _FILES, packed=packed))
        size = f"{_FILES} files{' (gzip)' if packed else ''}, {size_bytes / 1e6:,.0f} MB"
        title = f"{size}, {made.packets:,} packets, {made.connections:,} connections"
        one: Cost | None = None
        for command, words in commands(folder, work):
            cost = cost_of([sys.executable, "-m", "vmtrace", *words], with_descendants=True)
            one = one or cost
            if cost.peak_bytes > _MOST_BYTES:
                raise SystemExit(f"{command}: a process took {cost.peak_bytes >> 20:,} MiB, which is too much")
            yield _row(title, command, cost, one)
    yield from reading(work / "bulk", work)


def _row(title: str, name: str, cost: Cost, one: Cost) -> str:
    shares = (cost.cpu_s / one.cpu_s, cost.wall_s / one.wall_s)
    figures = f"{cost.cpu_s:.1f} | {shares[0]:.2f} | {cost.wall_s:.1f} | {shares[1]:.2f} | {cost.peak_bytes >> 20} MiB"
    return f"| {title} | `{name}` | {figures} |"


def commands(folder: Path, work: Path) -> Iterator[tuple[str, list[str]]]:
    """One process, then a run over the corpus with one worker and with two."""
    shutil.rmtree(work / "one", ignore_errors=True)
    yield "analyze --threads 1", ["analyze", str(folder), "--parquet", str(work / "one"), *_ONE]
    for workers in (1, 2):
        out = work / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = ["corpus", "analyze", str(folder), "--out", str(out), "--quiet", "--workers", str(workers)]
        yield f"corpus analyze --workers {workers}", [*words, "--buckets", "8"]
        shutil.rmtree(out, ignore_errors=True)


def rotate(path: Path, folder: Path, files: int, *, packed: bool) -> list[Path]:
    """A classic pcap file cut into so many, between records.

    Holds one of them at a time: the peak of a child begins at the size of this process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-path.stat().st_size // files)
    written: list[Path] = []
    with path.open("rb") as capture:
        head = capture.read(_HEADER_BYTES)
        while records := b"".join(_records(capture, size)):
            target = folder / f"part-{len(written):03}.pcap{'.gz' if packed else ''}"
            target.write_bytes(gzip.compress(head + records, 6) if packed else head + records)
            written.append(target)
    return written


def _records(capture: BinaryIO, size_bytes: int) -> Iterator[bytes]:
    """The next records of a capture, until they are as large as asked for."""
    taken_bytes = 0
    while taken_bytes < size_bytes and (head := capture.read(_RECORD.size)):
        record = head + capture.read(_RECORD.unpack(head)[2])
        taken_bytes += len(record)
        yield record


def reading(folder: Path, work: Path) -> Iterator[str]:
    """Reading from a store: the engine's rate by the rate of the ranges alone, in the same run."""
    from vmtrace.analyze import _engine
    from vmtrace.analyze.read.stores.listing import find
    from vmtrace.analyze.read.stores.reader import ObjectReader
    from vmtrace.analyze.read.stores.remote import RemoteObject

    bucket = work / "store/bucket"
    bucket.mkdir(parents=True, exist_ok=True)
    large = bucket / "large.pcap"
    parts = sorted(folder.glob("*.pcap"))
    with large.open("wb") as joined:
        for number, part in enumerate(parts):
            joined.write(part.read_bytes()[_HEADER_BYTES if number else 0 :])
    server = [sys.executable, "-m", "vmtrace.lab.services.object_store", str(bucket.parent), "0"]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as store:
        assert store.stdout is not None
        endpoint = store.stdout.readline().strip()
        os.environ.update(AWS_ACCESS_KEY_ID="lab", AWS_SECRET_ACCESS_KEY="lab", AWS_REGION="us-east-1")
        [url] = find("s3://bucket/large.pcap", endpoint)
        raw_s = min(_timed(lambda: _drain(ObjectReader(url))) for _ in range(3))
        split_s = min(_timed(lambda: _engine.analyze([[(RemoteObject(url), str(url))]], threads=2)) for _ in range(3))
        store.terminate()
    rates = [url.size_bytes / 1e6 / taken_s for taken_s in (raw_s, split_s)]
    yield ""
    size = f"{url.size_bytes / 1e6:.0f} MB from a store on loopback"
    yield f"{size}: {rates[0]:.0f} MB/s ranges, {rates[1]:.0f} MB/s analysed."


def _drain(reader: object) -> None:
    read = reader.read  # type: ignore[attr-defined]
    while len(read()):
        pass


def _timed(work: object) -> float:
    started_s = time.monotonic()
    if callable(work):
        work()
    return time.monotonic() - started_s


if __name__ == "__main__":
    main()
