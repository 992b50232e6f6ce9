"""What a run folder (docs/run-folder.md) tells this room: when the run was, on which instance, and its transfers."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.files import lines, read
from vmtrace.cloudwatch.records import Record, parse, record, text, whole

SIDES = ("sender", "receiver")
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")


@dataclass(frozen=True, slots=True)
class Instance:
    """A side of the run, as its facts have it; None for what they do not say."""

    side: str
    instance_id: str | None
    region: str | None
    host: str | None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """A run's name and time, by the sender's clock."""

    folder: Path
    name: str
    start_ns: int
    end_ns: int
    is_over: bool
    """False while the run is going on, and when it was killed."""
    instances: tuple[Instance, ...]

    def instance(self, side: str | None) -> Instance | None:
        """The instance of a side, or of the first that is one."""
        for one in self.instances:
            if one.instance_id is not None and side in (None, one.side):
                return one
        return None


def is_instance_id(name: str) -> bool:
    """Whether a text has the form of an EC2 instance's id."""
    return _INSTANCE.fullmatch(name) is not None


def run_facts(folder: Path) -> RunFacts:
    """Read what is needed of a run; `CloudWatchError` if there is none, or it never began."""
    state = _state(folder)
    start_ns = whole(state.get("start_ns"))
    if start_ns is None or start_ns <= 0:
        raise CloudWatchError(f"{folder}: the run has not begun (run.json has no start_ns)")
    end_ns = whole(state.get("end_ns"))
    last_ns = [pair_end_ns for pair in pairs(folder) if (pair_end_ns := whole(pair.get("end_ns"))) is not None]
    return RunFacts(
        folder=folder,
        name=text(state.get("name")) or folder.resolve().name,
        start_ns=start_ns,
        end_ns=max([end_ns or start_ns, start_ns, *last_ns]) if end_ns or last_ns else time.time_ns(),
        is_over=end_ns is not None,
        instances=tuple(_instance(folder, side, state) for side in SIDES),
    )


def pairs(folder: Path) -> Iterator[Record]:
    """The lines of `pairs.jsonl` that are whole objects; other tools tell of those that are not."""
    for line in lines(read(folder, "pairs.jsonl") or b""):
        try:
            pair = record(parse(line, "pairs.jsonl"))
        except ValueError:
            continue
        if pair:
            yield pair


def _state(folder: Path) -> Record:
    if not folder.is_dir():
        raise CloudWatchError(f"{folder}: {'not a folder' if folder.exists() else 'no such run folder'}")
    content = read(folder, "run.json")
    if content is None:
        raise CloudWatchError(f"{folder}: not a run folder (it has no run.json)")
    try:
        state = record(parse(content, "run.json"))
    except ValueError as error:
        raise CloudWatchError(f"{folder}: {error}") from None
    if not str(state.get("schema")).startswith("vmtrace.run/"):
        raise CloudWatchError(f"{folder}: run.json is not that of a run (its schema is {state.get('schema')!r})")
    return state


def _instance(folder: Path, side: str, state: Record) -> Instance:
    name = f"host/{side}.facts.json"
    try:
        facts = record(parse(read(folder, name) or b"{}", name))
    except ValueError as error:
        raise CloudWatchError(f"{folder}: {error}") from None
    instance = record(facts.get("instance"))
    found = text(instance.get("instance_id"))
    host = text(record(facts.get("system")).get("host")) or text(record(state.get(side)).get("host"))
    return Instance(side, found if found and is_instance_id(found) else None, text(instance.get("region")), host)
