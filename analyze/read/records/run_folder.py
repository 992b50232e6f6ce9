"""Reads a run folder, whatever state it is in: running, killed, of one side only, without captures, damaged.

`run.json` must be there and make sense; of the files of lines, a line that does not is left out and told of.
Nothing in a folder can make this read a file outside of it.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, replace
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Protocol, TypeVar

from vmtrace.analyze.read.records.fields import FieldError, Fields, parse
from vmtrace.analyze.read.records.run import Echo, Pair, Run, Side, Transfer, echo_record, pair_record, run_record
from vmtrace.analyze.read.records.window import ALL_TIME, Window
from vmtrace.formats.quantities import plural
from vmtrace.formats.schemas import trouble

_RUN_FILE_LIMIT_BYTES = 16 << 20
_LINE_LIMIT_BYTES = 1 << 20

_Record = TypeVar("_Record")


class _Named(Protocol):
    """A run of any kind."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_Named)


class RunFolderError(Exception):
    """A folder that holds no run that can be read; the message is one line."""


def read_run_of(
    command: str, schema: str, folder: str | os.PathLike[str], make: Callable[[Path, Fields], _Record]
) -> _Record:
    """What `make` makes of a folder and its `run.json`, of runs of one command; raises as `read_run`."""

    def checked(path: Path, record: Fields) -> _Record:
        found = trouble(record.text("schema"), schema, command)
        if found is not None:
            raise RunFolderError(f"{path}: {found}")
        return make(path, record)

    return _read(folder, checked)


def read_run(folder: str | os.PathLike[str], window: Window = ALL_TIME) -> Run:
    """Read one run folder; `RunFolderError` if it is none, `OSError` if it cannot be read."""
    return _within(_read(folder, _run), window)


def _within(run: Run, window: Window) -> Run:
    """What of a run began in a part of its time."""
    pairs = window.of(run.pairs, lambda pair: pair.start_ns)
    echoes = window.of(run.echoes, lambda echo: echo.time_ns)
    problems = (*window.said(len(pairs), len(run.pairs), "pair"), *run.problems)
    return replace(run, pairs=pairs, echoes=echoes, problems=problems)


def _read(folder: str | os.PathLike[str], make: Callable[[Path, Fields], _Record]) -> _Record:
    path = Path(folder)
    if not path.is_dir():
        raise RunFolderError(f"{path}: {'not a folder' if path.exists() else 'no such run folder'}")
    try:
        return make(path, parse(read_content(path, "run.json"), "run.json"))
    except FileNotFoundError:
        raise RunFolderError(f"{path}: not a run folder (it has no run.json)") from None
    except FieldError as error:
        raise RunFolderError(f"{path}: {error}") from None


def _run(path: Path, fields: Fields) -> Run:
    record = run_record(fields)
    problems: list[str] = []
    pairs = _in_order(read_lines(path, "pairs.jsonl", pair_record, problems), problems)
    echoes: list[Echo] = read_lines(path, "ping.jsonl", echo_record, problems)
    failed_attempts = len(read_lines(path, "attempts.jsonl", lambda fields: fields, problems))
    problems += _said_by_the_lab(path)
    return Run(
        folder=path,
        name=record.name or path.resolve().name,
        record=record,
        pairs=tuple(pairs),
        echoes=tuple(echoes),
        failed_attempts=failed_attempts,
        problems=tuple(problems),
    )


def numbered_apart(runs: Sequence[Named]) -> list[Named]:
    """The runs with names that differ, for legends and CSV files: their own, else with a number."""
    if len({run.name for run in runs}) == len(runs):
        return list(runs)
    return [replace(run, name=f"{run.name} ({number})") for number, run in enumerate(runs, 1)]


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs with names that differ: their own, else as many folders as that takes, else with a number."""
    if len({run.name for run in runs}) == len(runs):
        return list(runs)
    parts = [run.folder.resolve().parts for run in runs]
    for length in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-length:]) for part in parts]
        if len(set(names)) == len(runs):
            return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
    return numbered_apart(runs)


def capture_file(run: Run, pair: Pair, transfer: Transfer, side: Side) -> Path | None:
    """The capture of a transfer at one side, if the folder holds it; never a file outside of the folder."""
    named = transfer.captures[side].file if side in transfer.captures else None
    usual = f"packets/{side}/{pair.sequence:04}-{transfer.role}.pcap"
    for name in (named, usual):
        if name and (found := inside(run.folder, name)):
            return found
    return None


def inside(folder: Path, name: str) -> Path | None:
    """The regular file of this name in the folder, however the name or a link tries to leave it."""
    try:
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # a name too long, with a zero byte, a loop of links
        return None


def inside_or_new(folder: Path, name: str) -> Path | None:
    """Where a file of this name can be written in the folder; None if a link there leads out of it."""
    path = folder / name
    return path if path.resolve().is_relative_to(folder.resolve()) else None


def _opened(folder: Path, name: str) -> BinaryIO:
    """A file of the folder; `FieldError` for a link out of it, and for a pipe, which could let us wait for ever."""
    path = folder / name
    if path.exists() and inside(folder, name) is None:
        raise FieldError(f"{name}: not a file of the run folder")
    return path.open("rb")


def read_content(folder: Path, name: str) -> bytes:
    """The file with the one JSON object of a run; `FieldError` if it is too large or no file of the folder."""
    with _opened(folder, name) as file:
        content = file.read(_RUN_FILE_LIMIT_BYTES + 1)
    if len(content) > _RUN_FILE_LIMIT_BYTES:
        raise FieldError(f"{name}: too large to be of a run")
    return content


def _said_by_the_lab(folder: Path) -> list[str]:
    """What the lab that made a run has against it; nothing of a run that was made elsewhere."""
    name = "lab/truth.json"
    try:
        truth = parse(read_content(folder, name), name)
        if truth.flag("good") is not False:
            return []
        why = "; ".join(truth.texts("problems")) or "it does not say why"
        doubtful = "; ".join(truth.texts("doubtful"))
        if doubtful:
            return [f"the lab's machine was busy: {why}; doubtful: {doubtful}"]
        return [f"discarded by the lab as a reference: {why}"]
    except FieldError as error:
        return [str(error)]
    except OSError:
        return []


def read_lines(folder: Path, name: str, read: Callable[[Fields], _Record], problems: list[str]) -> list[_Record]:
    """The records of a file of lines; what is no record is counted. An absent file is empty."""
    records, refused = list[_Record](), list[str]()
    try:
        with _opened(folder, name) as file:
            for number, line in _whole_lines(file):
                try:
                    if line is None:
                        problems.append(f"{name}: its last line is torn and was left out")
                        continue
                    records.append(read(parse(line, f"{name} line {number}")))
                except FieldError as error:
                    refused.append(str(error))
    except FileNotFoundError:
        return []
    except FieldError as error:
        refused.append(str(error))
    if refused:
        more = f" (and {plural(len(refused) - 1, 'more line')})" if len(refused) > 1 else ""
        problems.append(f"{refused[0]}: left out{more}")
    return records


def _whole_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line; None for a last line without its end, which a crash tore.

    Of a line that is too long no more is read at once than one may have: it may be as long as the file.
    """
    for number in count(1):
        line = file.readline(_LINE_LIMIT_BYTES)
        if not line:
            return
        too_long = not line.endswith(b"\n") and len(line) == _LINE_LIMIT_BYTES
        while line and not line.endswith(b"\n"):
            line = file.readline(_LINE_LIMIT_BYTES)
        if not line:
            yield number, None
        elif too_long:
            yield number, b"(too long)"
        elif line.strip():
            yield number, line


def _in_order(pairs: list[Pair], problems: list[str]) -> list[Pair]:
    """By sequence; of two with the same number the later line counts."""
    last = {pair.sequence: pair for pair in pairs}
    if len(last) < len(pairs):
        problems.append(f"pairs.jsonl: {plural(len(pairs) - len(last), 'pair')} twice, the later line counts")
    return [last[sequence] for sequence in sorted(last)]
