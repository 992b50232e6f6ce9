"""Reads the folder of a queue run, whatever state it is in: running, killed, resumed, without captures, damaged."""

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from vmtrace.analyze.read.records.fields import Fields
from vmtrace.analyze.read.records.run_folder import inside, read_lines, read_run_of
from vmtrace.analyze.read.records.service_run import of_folder
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.queues.calls import ROLES, ProcessLog
from vmtrace.analyze.reports.queues.records import QueueRun, stage_end, stages_of
from vmtrace.formats.schemas import QUEUE_RUN

_LOG = re.compile(rf"(\d{{3,7}})-(\d{{1,6}})-({'|'.join(ROLES)})-(\d{{1,4}})\.jsonl")

Progress = Callable[[int], object]
"""Called with the bytes of logs that are done."""


def read_queue_run(
    folder: str | os.PathLike[str], progress: Progress | None = None, window: Window = ALL_TIME
) -> QueueRun:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read.

    A window chooses messages by when they were sent, with all that became of them, and calls by when they began.
    """
    return read_run_of("vmtrace queue", QUEUE_RUN, folder, partial(_run, progress=progress, window=window))


def _run(path: Path, record: Fields, *, progress: Progress | None, window: Window) -> QueueRun:
    problems: list[str] = []
    plan = record.part("plan")
    prices, used = record.part("prices"), record.part("used")
    charges = used.part("charges") if used and prices else None
    echoes = read_lines(path, "rtt.jsonl", lambda line: line.amount("rtt_s"), problems)
    logs = read_logs(path, problems, progress, window)
    sent = sum(len(log.attempted) for log in logs)
    problems[:0] = window.said(sent, sent + sum(log.beyond for log in logs), "message")
    if window:
        problems.insert(1, "bytes on the wire, processes, charges and findings are those of the whole run")
    return record.read(
        QueueRun,
        **of_folder(path, record),
        sdk=record.program("sdk"),
        plan=plan.text("name") if plan else None,
        sessions=record.count("sessions") or 1,
        stages=stages_of(plan) if plan else (),
        ends=tuple(read_lines(path, "stages.jsonl", stage_end, problems)),
        logs=tuple(logs),
        window=window,
        round_trips_s=tuple(rtt_s for rtt_s in echoes if rtt_s is not None),
        left_behind=len(record.parts("left_behind")),
        currency=prices.text("currency") if prices else None,
        prices=prices.text("name") if prices else None,
        charges={name: charges.amount(name) or 0.0 for name in charges.names()} if charges else None,
        used={name: used.count(name) or 0 for name in _USED} if used else {},
        problems=tuple(problems),
    )


_USED = ("messages", "requests", "uploaded_bytes", "downloaded_bytes")


def read_logs(
    path: Path, problems: list[str], progress: Progress | None = None, window: Window = ALL_TIME
) -> list[ProcessLog]:
    """The logs of all processes, by stage, session, role and place."""
    found, done_bytes = [], 0
    for name in sorted(os.listdir(path / "logs")) if (path / "logs").is_dir() else ():  # noqa: PTH208 - names alone
        match = _LOG.fullmatch(name)
        if match is None or inside(path, f"logs/{name}") is None:
            continue
        log = ProcessLog(int(match[1]), int(match[2]), match[3], int(match[4]), window=window)
        read_lines(path, f"logs/{name}", log.add, problems)
        done_bytes += (path / "logs" / name).stat().st_size
        if progress is not None:
            progress(done_bytes)
        found.append(log)
    if window:
        sent = np.concatenate([*(np.array(log.attempted, np.int64) for log in found), np.empty(0, np.int64)])
        for log in found:
            log.deleted.keep(sent)
    return found


def logs_bytes(path: Path) -> list[str]:
    """The paths of the logs, whose bytes are what reading has to do."""
    return [str(one) for one in sorted((path / "logs").glob("*.jsonl"))] if (path / "logs").is_dir() else []
