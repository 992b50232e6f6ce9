"""`vmtrace cloudwatch fetch RUN --from FILE.json`: answers that were saved elsewhere, without any service."""

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmtrace.cloudwatch.answers import Series
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.fetching import Result
from vmtrace.cloudwatch.files import MOST_BYTES, read_any
from vmtrace.cloudwatch.periods import NS
from vmtrace.cloudwatch.records import Record, as_json, parse, record
from vmtrace.cloudwatch.run_facts import RunFacts, run_facts
from vmtrace.cloudwatch.saved_answers import checked_queries, is_answer, is_part, unknown_names
from vmtrace.cloudwatch.store import SCHEMA, command_line, fetches_of, kept_fetches, save, series_of

STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True)
class Saved:
    """What to import, and what the files do not say themselves."""

    names: tuple[str, ...]
    queries: Path | None = None
    instance_id: str | None = None
    region: str | None = None
    period_s: int | None = None


def import_answers(folder: Path, saved: Saved) -> Result:
    """Put saved answers into a run folder; `CloudWatchError` if one is none, and then nothing is changed."""
    facts = run_facts(folder)
    fetches = kept_fetches(folder)
    new = [fetch for name in saved.names for fetch in _fetches(name, saved, facts)]
    wrong: list[str] = []
    series = series_of(new, wrong)
    if not series:
        shown = "".join(f"; {line}" for line in wrong)
        raise CloudWatchError(f"{', '.join(saved.names)}: no points of any metric{shown}")
    known = {_identity(fetch) for fetch in fetches}
    save(folder, [*fetches, *(fetch for fetch in new if _identity(fetch) not in known)])
    starts_ns = [sample.start_ns for one in series for sample in one.samples]
    return Result(
        instance_id=saved.instance_id or next((one for fetch in new if (one := fetch.get("instance_id"))), None),
        region=saved.region or next((one for fetch in new if (one := fetch.get("region"))), None),
        start_ns=min(starts_ns),
        end_ns=max(starts_ns),
        monitoring=None,
        series=tuple(series),
        notes=tuple(_notes(new, series, facts)),
        problems=tuple(wrong),
    )


def _fetches(name: str, saved: Saved, facts: RunFacts) -> list[Record]:
    content = _content(name)
    try:
        document = record(parse(content, name))
    except ValueError as error:
        raise CloudWatchError(str(error)) from None
    if document.get("schema") == SCHEMA:
        return fetches_of(content, name)
    if not is_answer(document):
        raise CloudWatchError(
            f"{name}: neither a cloudwatch.json of vmtrace nor what `aws cloudwatch get-metric-data` or "
            "`get-metric-statistics` prints with --output json"
        )
    instance = facts.instance(None)
    return [
        {
            "kind": "imported",
            "time_ns": time.time_ns(),
            "command": command_line(),
            "source": "standard input" if name == STANDARD_INPUT else Path(name).name,
            "instance_id": saved.instance_id or (instance.instance_id if instance else None),
            "region": saved.region,
            "period_s": saved.period_s,
            "queries": _queries(saved.queries),
            "answer": document,
        }
    ]


def _content(name: str) -> bytes:
    if name != STANDARD_INPUT:
        return read_any(Path(name))
    content = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise CloudWatchError(f"standard input: more than {MOST_BYTES >> 20} MiB: no response is so large")
    return content


def _queries(path: Path | None) -> list[Record] | None:
    if path is None:
        return None
    try:
        return checked_queries(parse(read_any(path), str(path)))
    except ValueError as error:
        raise CloudWatchError(str(error)) from None
    except CloudWatchError as error:
        raise CloudWatchError(f"{path}: {error}") from None


def _identity(fetch: Record) -> str:
    """The same answer imported twice is one."""
    stable = {name: value for name, value in fetch.items() if name not in {"time_ns", "command"}}
    return json.dumps(stable if fetch.get("kind") == "imported" else fetch, default=as_json, sort_keys=True)


def _notes(new: Sequence[Record], series: Sequence[Series], facts: RunFacts) -> list[str]:
    notes = []
    within = Counter(
        facts.start_ns < sample.start_ns + (one.period_s or 60) * NS and sample.start_ns <= facts.end_ns
        for one in series
        for sample in one.samples
    )
    if not within[True]:
        notes.append("no point is of the time of the run: is it the right file?")
    if any(is_part(fetch) for fetch in new):
        notes.append("the response is incomplete, as it says itself (PartialData, NextToken): points are missing")
    unknown = [name for fetch in new for name in unknown_names(fetch)]
    if unknown:
        more = " ..." if unknown[3:] else ""
        notes.append(
            f"labels that name no metric known here: {', '.join(unknown[:3])}{more}: --queries FILE names "
            "what was asked"
        )
    if any(one.period_s is None for one in series):
        notes.append("a metric with a single point shows no period: give --period")
    return notes
