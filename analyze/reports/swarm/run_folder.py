"""Reads the folder of a swarm run, whatever state it is in: running, interrupted, without captures, damaged."""

import os
from dataclasses import replace
from pathlib import Path

from vmtrace.analyze.read.records.fields import Fields
from vmtrace.analyze.read.records.run_folder import inside, read_lines, read_run_of
from vmtrace.analyze.read.records.service_run import of_folder
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.swarm.records import Download, SwarmRun, download_record
from vmtrace.formats.schemas import SWARM_RUN


def read_swarm_run(folder: str | os.PathLike[str], window: Window = ALL_TIME) -> SwarmRun:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read."""
    run = read_run_of("vmtrace swarm", SWARM_RUN, folder, _run)
    downloads = window.of(run.downloads, lambda one: one.start_ns)
    said = window.said(len(downloads), len(run.downloads), "download")
    return replace(run, downloads=downloads, problems=(*said, *run.problems))


def _run(path: Path, record: Fields) -> SwarmRun:
    problems: list[str] = []
    torrent = record.part("torrent")
    downloads = {one.number: one for one in read_lines(path, "downloads.jsonl", download_record, problems)}
    return record.read(
        SwarmRun,
        **of_folder(path, record),
        client=record.program("client"),
        file=torrent.text("name") if torrent else None,
        size_bytes=torrent.count("size_bytes") if torrent else None,
        piece_bytes=torrent.count("piece_bytes") if torrent else None,
        downloads=tuple(downloads[number] for number in sorted(downloads)),
        problems=tuple(problems),
    )


def capture_of(run: SwarmRun, download: Download) -> Path | None:
    """The capture of a download, if the folder holds it; never a file outside of the folder."""
    return inside(run.folder, download.capture_file) if download.capture_file else None
