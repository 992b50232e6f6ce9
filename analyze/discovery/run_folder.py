"""Reads the folder of a discovery run, whatever state it is in: running, killed, damaged, of no vantage position."""

import os
from pathlib import Path

from analyze.discovery.records import (
    SCHEMA,
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
from analyze.records.fields import FieldError, Fields, parse
from analyze.records.run_folder import RunFolderError, inside, read_content, read_lines


def read_discovery_run(folder: str | os.PathLike[str]) -> DiscoveryRun:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read."""
    path = Path(folder)
    if not path.is_dir():
        raise RunFolderError(f"{path}: {'not a folder' if path.exists() else 'no such run folder'}")
    try:
        record = parse(read_content(path, "run.json"), "run.json")
        schema = record.text("schema")
        if schema != SCHEMA:
            raise RunFolderError(
                f"{path}: not a run of vmtrace discover ({'it has no schema' if schema is None else schema})"
            )
        return _run(path, record)
    except FileNotFoundError:
        raise RunFolderError(f"{path}: not a run folder (it has no run.json)") from None
    except FieldError as error:
        raise RunFolderError(f"{path}: {error}") from None


def captures_of(run: DiscoveryRun) -> list[Path]:
    """The captures that the folder holds; never a file outside of it."""
    found = [inside(run.folder, one.file) for one in run.captures]
    return [path for path in found if path is not None]


def _run(path: Path, record: Fields) -> DiscoveryRun:
    problems: list[str] = []
    aside = {one.text("resolver") or "?": one.text("reason") or "" for one in record.parts("set_aside")}
    answers = Answers(frozenset(aside))
    read_lines(path, "answers.jsonl", answers.add, problems)
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
        echoes=tuple(read_lines(path, "round_trips.jsonl", echo_record, problems)),
        traces=tuple(read_lines(path, "traces.jsonl", trace_record, problems)),
        reverse_names=dict(read_lines(path, "reverse_names.jsonl", reverse_record, problems)),
        problems=tuple(problems),
    )
