"""The folder of a swarm run (docs/swarm.md): `run.json`, `downloads.jsonl`, `packets/`, `client/`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from vmtrace.formats.durable import make_folder, write_aside
from vmtrace.formats.schemas import SWARM_RUN
from vmtrace.providers.run_folder import RunFolder
from vmtrace.providers.swarm.counters import Sample

_HEAD = "time_ns,kind,address,bytes"


class SwarmFolder(RunFolder):
    """One run's folder, open for writing."""

    schema: ClassVar[str] = SWARM_RUN
    lines: ClassVar[tuple[str, ...]] = ("downloads",)

    def write_samples(self, number: int, samples: list[Sample]) -> str:
        """Write the client's counters over time; returns the file's name in the folder."""
        make_folder(self.path / "client")
        name = f"client/{number:04d}.csv"
        rows = [f"{one.time_ns},{one.kind},{one.address},{one.bytes}" for one in samples]
        write_aside(self.path / name, "\n".join([_HEAD, *rows, ""]).encode())
        return name

    def download_folder(self, number: int) -> Path:
        """Where a download's file goes; it is discarded once it is checked."""
        folder = self.path / "files" / f"{number:04d}"
        folder.mkdir(mode=0o700, parents=True)
        return folder
