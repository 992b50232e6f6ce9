"""Where a CSV file comes from: the `# key: value` lines it begins with, and a reader that refuses a file without them.

What the columns mean is each table's own; how a file is kept whole is `durable`'s.
"""

from __future__ import annotations

import importlib.metadata
import json
import pkgutil
from dataclasses import dataclass, fields
from pathlib import Path

from vmtrace.formats.durable import read_lines


@dataclass(frozen=True)
class Provenance:
    """Who wrote a table, with what, where, by which clock. None is written as `null`."""

    schema: str
    vmtrace: str
    host: str
    kernel: str
    clock_source: str | None
    clock_synchronised: bool | None
    command: str
    interval_s: float | None

    def header(self) -> str:
        """The lines that open a file."""
        return "".join(f"# {name}: {_spoken(getattr(self, name))}\n" for name in _KEYS)


@dataclass(frozen=True)
class Table:
    """A CSV file with where it comes from: rows of cells as text, an empty cell being what was not measured."""

    provenance: Provenance
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


_MOST_HEAD_BYTES = 1 << 20  # many times what hundreds of columns take
_KEYS = tuple(field.name for field in fields(Provenance))


def vmtrace_version() -> str:
    """The installed version; that of a copied program is in its file `formats/VERSION`; else `unknown`."""
    try:
        packed = pkgutil.get_data(
            "vmtrace.formats", "VERSION"
        )  # through the import system: works inside a zip file too
    except OSError:
        packed = None
    if packed is not None:
        return packed.decode("ascii", "replace").strip()
    try:
        return importlib.metadata.version("vmtrace")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def read_table(path: Path, schema: str) -> Table:
    """Read a table of the given schema, without a torn last row; ValueError says what is wrong with any other file."""
    lines = read_lines(path)
    found, columns, start = _parse_head(path, schema, lines)
    rows = tuple(tuple(line.split(",")) for line in lines[start:])
    for number, row in enumerate(rows, start + 1):
        if len(row) != len(columns):
            raise ValueError(f"{path}: line {number} has {len(row)} cells, expected {len(columns)}")
    return Table(found, columns, rows)


def read_columns(path: Path, schema: str) -> tuple[str, ...]:
    """The columns of a table, whose rows are not read; ValueError for any other file, as by `read_table`."""
    with path.open("rb") as file:
        head = file.read(_MOST_HEAD_BYTES)
    lines = head[: head.rfind(b"\n") + 1].decode("utf-8", "replace").split("\n")[:-1]
    return _parse_head(path, schema, lines)[1]


def _parse_head(path: Path, schema: str, lines: list[str]) -> tuple[Provenance, tuple[str, ...], int]:
    """Provenance, columns, and how many lines these take."""
    end = next((number for number, line in enumerate(lines) if not line.startswith("# ")), len(lines))
    found = _parse_header(path, lines[:end])
    if found.schema != schema:
        raise ValueError(f"{path}: its schema is {found.schema!r}, expected {schema!r}")
    if end == len(lines):
        raise ValueError(f"{path}: no line of column names after the provenance")
    return found, tuple(lines[end].split(",")), end + 1


def _parse_header(path: Path, lines: list[str]) -> Provenance:
    found = dict(line[2:].partition(": ")[::2] for line in lines)
    missing = [key for key in _KEYS if key not in found]
    if missing:
        raise ValueError(f"{path}: not a table of vmtrace: no '# {missing[0]}: ...' line at its start")
    try:
        interval_s = None if found["interval_s"] == "null" else float(found["interval_s"])
        synchronised = {"true": True, "false": False, "null": None}[found["clock_synchronised"]]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: provenance with {error} where true, false, null or a number belongs") from None
    source = None if found["clock_source"] == "null" else found["clock_source"]
    return Provenance(
        schema=found["schema"],
        vmtrace=found["vmtrace"],
        host=found["host"],
        kernel=found["kernel"],
        clock_source=source,
        clock_synchronised=synchronised,
        command=found["command"],
        interval_s=interval_s,
    )


def _spoken(value: str | float | bool | None) -> str:
    """One line, whatever is in it: a command line may hold newlines."""
    if isinstance(value, str):
        return "".join(letter if letter.isprintable() else " " for letter in value)
    return json.dumps(value)
