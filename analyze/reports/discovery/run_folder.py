"""Reads the folder of a discovery run, whatever state it is in: running, killed, damaged, of no vantage position."""

import os
from functools import partial
from pathlib import Path

from vmtrace.analyze.read.records.fields import Fields
from vmtrace.analyze.read.records.run_folder import inside, read_lines, read_run_of
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.analyze.reports.discovery.records import (
    Answers,
    DiscoveryRun,
    capture_record,
    certificate_record,
    echo_record,
    landmark_record,
    name_record,
    position_record,
    resolver_record,
    reverse_record,
    trace_record,
)
from vmtrace.formats.schemas import DISCOVERY_RUN


def read_discovery_run(folder: str | os.PathLike[str], window: Window = ALL_TIME) -> DiscoveryRun:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read.

    A window chooses answers and echoes. Certificates, routes and names in reverse are facts about addresses: all stay.
    """
    return read_run_of("vmtrace discover", DISCOVERY_RUN, folder, partial(_run, window=window))


def captures_of(run: DiscoveryRun) -> list[Path]:
    """The captures that the folder holds; never a file outside of it."""
    found = [inside(run.folder, one.file) for one in run.captures]
    return [path for path in found if path is not None]


def _run(path: Path, record: Fields, *, window: Window) -> DiscoveryRun:
    problems: list[str] = []
    aside = {one.text("resolver") or "?": one.text("reason") or "" for one in record.parts("set_aside")}
    answers = Answers(frozenset(aside), window)
    read_lines(path, "answers.jsonl", answers.add, problems)
    problems[:0] = window.said(answers.counted - answers.left_out, answers.counted, "answer")
    return DiscoveryRun(
        folder=path,
        vantage=record.text("vantage") or path.resolve().name,
        position=position_record(record.part("position")),
        status=record.text("status") or "running",
        error=record.text("error"),
        start_ns=record.integer("start_ns"),
        port=record.count("port", 65535) or 443,
        names=tuple(map(name_record, record.parts("names"))),
        resolvers=tuple(map(resolver_record, record.parts("resolvers"))),
        set_aside=aside,
        given_up=tuple(one.text("resolver") or "?" for one in record.parts("given_up")),
        landmarks=tuple(map(landmark_record, record.parts("landmarks"))),
        captures=tuple(map(capture_record, record.parts("captures"))),
        notes=tuple(record.texts("notes")),
        addresses_left_out=record.count("addresses_left_out") or 0,
        answers=answers,
        certificates=tuple(read_lines(path, "certificates.jsonl", certificate_record, problems)),
        echoes=window.of(read_lines(path, "round_trips.jsonl", echo_record, problems), lambda echo: echo.time_ns),
        traces=tuple(read_lines(path, "traces.jsonl", trace_record, problems)),
        reverse_names=dict(read_lines(path, "reverse_names.jsonl", reverse_record, problems)),
        problems=tuple(problems),
    )
