"""The captures that are measured on: made once from a seed, kept under build/, each with its truth beside it."""

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PCAP_HEADER_BYTES = 24
_RECORD_HEADER = struct.Struct("<IIII")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a capture is made: arguments of the generator, for the real run and for the quick one."""

    name: str
    title: str
    kind: str
    full: tuple[str, ...]
    quick: tuple[str, ...]
    options: tuple[str, ...] = ()
    suffix: str = "pcap"


@dataclass(frozen=True, slots=True)
class Capture:
    """A capture file and what is in it."""

    name: str
    title: str
    path: Path
    packets: int
    connections: int
    data_segments: int
    retransmitted_segments: int

    @property
    def file_bytes(self) -> int:
        """Size of the file."""
        return self.path.stat().st_size


_FEW = ("--flows", "8")
RECIPES = (
    Recipe("few", "8 bulk flows, snap length 96", "bulk", ("--packets", "10000000"), ("--packets", "300000"), _FEW),
    Recipe("short", "100,000 short connections", "short", ("--connections", "100000"), ("--connections", "5000")),
    Recipe(
        "full",
        "full-size packets",
        "bulk",
        ("--packets", "1000000"),
        ("--packets", "50000"),
        (*_FEW, "--snap", "262144"),
    ),
    Recipe(
        "few-pcapng",
        "8 bulk flows, as pcapng",
        "bulk",
        ("--packets", "10000000"),
        ("--packets", "300000"),
        (*_FEW, "--format", "pcapng"),
        "pcapng",
    ),
    Recipe("many", "1,000 bulk flows", "bulk", ("--packets", "10000000"), ("--packets", "300000"), ("--flows", "1000")),
    Recipe("one", "one huge flow", "bulk", ("--packets", "10000000"), ("--packets", "300000"), ("--flows", "1")),
    Recipe("million", "1,000,000 short connections", "short", ("--connections", "1000000"), ("--connections", "20000")),
    Recipe("open", "300,000 connections left open", "open", ("--connections", "300000"), ("--connections", "10000")),
    Recipe("small", "a file of 1 MB", "bulk", ("--packets", "9700"), ("--packets", "9700"), ("--flows", "2")),
)


def make(recipe: Recipe, generator: Path, folder: Path, *, quick: bool) -> Capture:
    """The capture of a recipe, made now unless it is there from an earlier run of the same generator."""
    folder.mkdir(parents=True, exist_ok=True)
    arguments = [*(recipe.quick if quick else recipe.full), *recipe.options]
    path = folder / f"{recipe.name}{'-quick' if quick else ''}.{recipe.suffix}"
    truth_path = path.with_name(path.name + ".truth.json")
    if not truth_path.exists() or truth_path.stat().st_mtime < generator.stat().st_mtime:
        truth_path.unlink(missing_ok=True)
        subprocess.run([str(generator), recipe.kind, str(path), *arguments], check=True)
        os.sync()  # or the first program measured shares the machine with the file's way to the disk
    truth = json.loads(truth_path.read_text())
    return Capture(
        name=recipe.name,
        title=recipe.title,
        path=path,
        packets=truth["packets"],
        connections=truth["connections"],
        data_segments=truth["data_segments"],
        retransmitted_segments=truth["retransmitted_segments"],
    )


def prefix(capture: Capture, packets: int) -> tuple[Path, int]:
    """The first `packets` packets as a file of their own, for programs that would take hours; and how many they are.

    A pcapng file is not cut: its pcap twin stands for it.
    """
    if packets >= capture.packets or capture.path.suffix != ".pcap":
        return capture.path, capture.packets
    path = capture.path.with_name(f"{capture.path.stem}-first-{packets}.pcap")
    if not path.exists() or path.stat().st_mtime < capture.path.stat().st_mtime:
        # One that was cut off by Ctrl-C would be taken for the whole the next time.
        aside = path.with_name(f"{path.name}.part")
        _copy_first(capture.path, aside, packets)
        aside.replace(path)
    return path, packets


def _copy_first(source: Path, target: Path, packets: int) -> None:
    end = _PCAP_HEADER_BYTES
    with source.open("rb") as file:
        for number, record_bytes in enumerate(_record_lengths(source), 1):
            end += record_bytes
            if number == packets:
                break
        with target.open("wb") as out:
            left = end
            while left > 0 and (block := file.read(min(left, 1 << 20))):
                out.write(block)
                left -= len(block)


def _record_lengths(path: Path) -> Iterator[int]:
    with path.open("rb", buffering=1 << 20) as file:
        file.seek(_PCAP_HEADER_BYTES)
        while len(header := file.read(_RECORD_HEADER.size)) == _RECORD_HEADER.size:
            captured: int = _RECORD_HEADER.unpack(header)[2]
            file.read(captured)
            yield _RECORD_HEADER.size + captured


def room_for(folder: Path, needed_bytes: int) -> bool:
    """True if the file system of `folder` has that much free."""
    folder.mkdir(parents=True, exist_ok=True)
    return shutil.disk_usage(folder).free >= needed_bytes
