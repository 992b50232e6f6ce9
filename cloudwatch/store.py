"""RUN/cloudwatch.json: every answer as it came, fetch by fetch. Nothing is ever taken out of it: what CloudWatch has
dropped since is still here. RUN/cloudwatch.csv is made anew from it each time.

A fetch that was asked for holds its exchanges (request and answer); an imported one the answer that somebody saved.
"""

import importlib.metadata
import json
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from vmtrace.cloudwatch.answers import Series, answer_of, problems_of
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.files import read, write_aside
from vmtrace.cloudwatch.records import Record, as_json, parse, record, records, text
from vmtrace.cloudwatch.saved_answers import series_of_import
from vmtrace.cloudwatch.table import table_text

SCHEMA = "vmtrace.cloudwatch/1"
RAW, TABLE = "cloudwatch.json", "cloudwatch.csv"


def version() -> str:
    """That of the installed vmtrace."""
    try:
        return importlib.metadata.version("vmtrace")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def command_line() -> str:
    """The words this program was called with; none of its options takes a secret."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]) if sys.argv else ""


def kept_fetches(folder: Path) -> list[Record]:
    """The fetches that a run has already."""
    content = read(folder, RAW)
    return [] if content is None else fetches_of(content, str(folder / RAW))


def fetches_of(content: bytes, name: str) -> list[Record]:
    """The fetches in a file of this room; `CloudWatchError` if it is none."""
    try:
        document = record(parse(content, name))
    except ValueError as error:
        raise CloudWatchError(f"{error}: remove or rename it") from None
    if document.get("schema") != SCHEMA:
        raise CloudWatchError(f"{name}: its schema is {document.get('schema')!r}, expected {SCHEMA!r}: rename it")
    return records(document.get("fetches"))


def series_of(fetches: list[Record], problems: list[str]) -> list[Series]:
    """The series of all fetches, the oldest first."""
    found: list[Series] = []
    for fetch in fetches:
        wrong = Counter[str]()
        source = text(fetch.get("source")) or "answers"
        if fetch.get("kind") == "imported":
            found += series_of_import(fetch, wrong)
        else:
            found += answer_of(records(fetch.get("exchanges")), wrong).series
        problems += problems_of(wrong, source)
    return found


def save(folder: Path, fetches: list[Record], redact: Callable[[str], str] = str) -> list[Series]:
    """Write both files, each whole or not at all; returns the series in them."""
    document = {"schema": SCHEMA, "vmtrace": version(), "fetches": fetches}
    try:
        raw = json.dumps(_finite(document), default=as_json, separators=(",", ":"), allow_nan=False)
    except RecursionError:
        raise CloudWatchError("the response is nested too deeply to be one of CloudWatch") from None
    content = redact(raw).encode() + b"\n"
    # The table is made from what is in the file, and so is without what must not be in it.
    series = series_of(fetches_of(content, RAW), [])
    table = redact(table_text(series, _provenance(fetches)))
    write_aside(folder / RAW, content)
    write_aside(folder / TABLE, table.encode())
    return series


def _finite(value: object) -> object:
    """The same with the numbers that JSON has not (NaN, infinity) as text."""
    if isinstance(value, dict):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _provenance(fetches: list[Record]) -> Record:
    last = fetches[-1] if fetches else {}
    return {
        "vmtrace": version(),
        "command": command_line(),
        "instance_id": last.get("instance_id"),
        "region": last.get("region"),
    }
