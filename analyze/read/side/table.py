"""A CSV file of a run folder: lines of provenance (`# key: value`), a header, rows. Whatever state it is in.

Torn and foreign rows are left out, an empty cell is None (or NaN among numbers). Cells are never quoted.
"""

import csv
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

_LARGEST_TIME_NS = 2**62
_LARGEST_NUMBER = 2.0**64
"""No counter of a kernel or a driver holds more, and sums of such numbers stay finite."""
_LONGEST_LINE = 1 << 20
_ENDS_OF_LINE = ("\n", "\r")


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of text, each as long as the others."""

    provenance: dict[str, str]
    columns: dict[str, list[str]]

    def __len__(self) -> int:
        """Rows."""
        return len(next(iter(self.columns.values()), []))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column as numbers; NaN for an empty cell and for what is no number that a counter could hold."""
        return np.array([_number(cell) for cell in self.columns[name]], np.float64)

    def times_ns(self, name: str) -> NDArray[np.int64]:
        """A column of Unix nanoseconds; rows of a column like this were all checked when it was read."""
        return np.array([int(cell) for cell in self.columns[name]], np.int64)


def read_table(path: Path, time_column: str, wanted: "Sequence[str] | None" = None) -> Table | None:
    """The columns of a file (`wanted` of them, or all); None if it has no column of times.

    A row without a time that makes sense, with other cells than the header, or without its end (torn by a crash), is
    left out. Raises OSError.
    """
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        provenance: dict[str, str] = {}
        rows = csv.reader(_data_lines(file, provenance))
        header = next(_whole(rows), [])
        if time_column not in header:
            return None
        names = [name for name in dict.fromkeys(header) if wanted is None or name in wanted or name == time_column]
        places = [header.index(name) for name in names]
        clock = names.index(time_column)
        kept = []
        for row in _whole(rows):
            cells = [row[place] for place in places] if len(row) == len(header) else None
            if cells is not None and _is_time(cells[clock]):
                kept.append(cells)
    columns = zip(*kept, strict=True) if kept else ((),) * len(names)
    return Table(provenance, {name: list(cells) for name, cells in zip(names, columns, strict=True)})


def _data_lines(file: TextIO, provenance: dict[str, str]) -> Iterator[str]:
    for line in _whole_lines(file):
        if line.startswith("#"):
            key, colon, value = line[1:].partition(":")
            if colon:
                provenance[key.strip()] = value.strip()
        elif "\0" not in line and line.strip():
            yield line


def _whole_lines(file: TextIO) -> Iterator[str]:
    """Without those that are too long, and without a last one that has no end: its last cell may be torn.

    Of a line that is too long no more is read at once than one may have: it may be as long as the file.
    """
    while line := file.readline(_LONGEST_LINE):
        if line.endswith(_ENDS_OF_LINE):
            yield line
        while line and not line.endswith(_ENDS_OF_LINE):
            line = file.readline(_LONGEST_LINE)


def _whole(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """The rows up to one that is no CSV at all."""
    with suppress(csv.Error):
        yield from reader


def _is_time(cell: str) -> bool:
    return cell.isascii() and cell.isdigit() and len(cell) <= 19 and int(cell) < _LARGEST_TIME_NS


def _number(cell: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        return float("nan")
    return value if abs(value) <= _LARGEST_NUMBER else float("nan")
