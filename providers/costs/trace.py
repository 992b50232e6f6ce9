"""Reads traces of accesses (CSV, Parquet, access logs) in chunks: time, object, bytes, operation and place.

Objects become numbers in the order in which they appear; that index is all that grows. What cannot be an access (time
that goes back, negative bytes, an unknown operation) is refused with its row, because sums over it would be wrong.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from vmtrace.providers.costs.access_log import INSIDE, AccessLog, is_access_log
from vmtrace.providers.costs.chunk import DELETE, FIRST_OBJECT, LIST, READ, WRITE, Bytes, Chunk, Flags, Floats, Ints
from vmtrace.providers.costs.index import new_index

COLUMNS = ("time", "object", "bytes", "operation", "place")
_NEEDED = COLUMNS[:3]
_OPERATIONS = {
    "read": READ, "get": READ, "download": READ, "head": READ,
    "write": WRITE, "put": WRITE, "post": WRITE, "upload": WRITE, "copy": WRITE,
    "list": LIST, "delete": DELETE,
}  # fmt: skip
MOST_BYTES = 1 << 50
"""A pebibyte in one access: no service has such objects."""
_BLOCK_BYTES = 8 << 20
_BATCH_ROWS = 1 << 18


class TraceError(Exception):
    """A file is no trace of accesses: one line that says where and why."""


class Trace:
    """One file or log. Iterate over it once; then `objects` and `rows` say how much, `notes` what was left out."""

    def __init__(self, path: Path, region: str | None, progress: Callable[[int], None] = lambda _: None) -> None:
        self._path, self._region, self._progress = path, region, progress
        self._index = new_index(FIRST_OBJECT)
        self._last_s = -np.inf
        self._is_log = False
        self.rows = 0
        self.has_place = False
        self.notes: list[str] = []

    @property
    def object_numbers(self) -> int:
        """One more than the largest number in use."""
        return FIRST_OBJECT + self._index.count

    @property
    def objects(self) -> int:
        """How many different ones there were."""
        return self._index.count

    def __iter__(self) -> Iterator[Chunk]:
        """Raises `OSError` and `TraceError`."""
        try:
            for batch in self._batches():
                if batch.num_rows:
                    yield self._chunk(batch)
        except pa.ArrowException as error:
            raise TraceError(f"{self._path}: {' '.join(str(error).split())[:300]}") from None
        if self.rows == 0:
            raise TraceError(f"{self._path}: no access in it")

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self._path.exists() and is_access_log(self._path):
            self._is_log = True
            log = AccessLog(self._path, self._progress)
            batch = log.batch()
            self.notes += log.notes()
            yield from (batch.slice(first, _BATCH_ROWS) for first in range(0, batch.num_rows, _BATCH_ROWS))
            return
        if not self._path.is_file():
            kind = "not a file: a trace is read twice" if self._path.exists() else "no such file"
            raise TraceError(f"{self._path}: {kind}")
        with self._path.open("rb") as file:
            is_parquet = file.read(4) == b"PAR1"
        yield from (
            parquet_batches(self._path, self._progress) if is_parquet else csv_batches(self._path, self._progress)
        )

    def _chunk(self, batch: pa.RecordBatch) -> Chunk:
        names = batch.schema.names
        missing = [name for name in _NEEDED if name not in names]
        if missing:
            raise TraceError(
                f"{self._path}: no column {', '.join(missing)} (a trace has {', '.join(COLUMNS)}; it has "
                f"{', '.join(names[:8])})"
            )
        self.has_place = "place" in names and not self._is_log
        chunk = Chunk(
            times=self._times(batch.column("time")),
            objects=self._objects(batch.column("object")),
            sizes=self._sizes(batch.column("bytes")),
            operations=self._operations(batch),
            outside=self._outside(batch),
        )
        self.rows += batch.num_rows
        return chunk

    def _times(self, column: pa.Array) -> Floats:
        self._refuse_nulls(column, "time")
        if pa.types.is_timestamp(column.type):
            per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
            times = column.cast(pa.int64()).to_numpy(zero_copy_only=False) / per_s
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            times = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        else:
            raise TraceError(f"{self._path}: time: expected seconds or timestamps, not {column.type}")
        self._refuse(~np.isfinite(times), "time: expected a finite number of seconds")
        steps = np.diff(times, prepend=max(self._last_s, -1e300))
        back = steps < 0
        if back.any():
            row = int(np.argmax(back))
            where = f"{self._path}: row {self.rows + row + 1:,}"
            raise TraceError(f"{where}: time goes back by {-steps[row]:.9g} s: sort the trace by time")
        self._last_s = float(times[-1])
        return np.ascontiguousarray(times, np.float64)

    def _objects(self, column: pa.Array) -> Ints:
        self._refuse_nulls(column, "object")
        if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
            column = column.cast(pa.large_string())
        return self._index.numbers(column)

    def _sizes(self, column: pa.Array) -> Ints:
        self._refuse_nulls(column, "bytes")
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise TraceError(f"{self._path}: bytes: expected whole numbers, not {column.type}")
        sizes = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
        self._refuse(sizes < 0, "bytes: less than nothing")
        self._refuse(sizes > MOST_BYTES, f"bytes: absurd: at most {MOST_BYTES:,} in one access")
        return np.ascontiguousarray(sizes, np.int64)

    def _operations(self, batch: pa.RecordBatch) -> Bytes:
        if "operation" not in batch.schema.names:
            return np.full(batch.num_rows, READ, np.int8)
        words, indices = self._words(batch.column("operation"), "operation")
        numbers = np.array([_OPERATIONS.get(word.strip().lower(), -1) for word in words], np.int8)
        operations = numbers[indices]
        unknown = operations < 0
        if unknown.any():
            word = words[indices[int(np.argmax(unknown))]]
            self._refuse(unknown, f"operation {word[:32]!r}: expected one of {', '.join(_OPERATIONS)}")
        return operations

    def _outside(self, batch: pa.RecordBatch) -> Flags:
        if self._is_log:
            places, indices = self._words(batch.column("place"), "place")
            return np.array([place != INSIDE for place in places], np.bool_)[indices]
        if self._region is None or "place" not in batch.schema.names:
            return np.ones(batch.num_rows, np.bool_)
        places, indices = self._words(batch.column("place").fill_null(""), "place")
        return np.array([place != self._region for place in places], np.bool_)[indices]

    def _words(self, column: pa.Array, name: str) -> tuple[list[str], Ints]:
        self._refuse_nulls(column, name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        return list(map(str, column.dictionary.to_pylist())), column.indices.to_numpy(zero_copy_only=False)

    def _refuse_nulls(self, column: pa.Array, name: str) -> None:
        if column.null_count:
            self._refuse(pc.is_null(column).to_numpy(zero_copy_only=False), f"{name}: nothing in it")

    def _refuse(self, wrong: Flags, why: str) -> None:
        if wrong.any():
            raise TraceError(f"{self._path}: row {self.rows + int(np.argmax(wrong)) + 1:,}: {why}")


def parquet_batches(path: Path, progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    """Of a Parquet file, with the columns of a trace alone."""
    from pyarrow.parquet import ParquetFile

    size_bytes = path.stat().st_size
    with ParquetFile(path, pre_buffer=False, buffer_size=1 << 20) as file:
        names = [name for name in file.schema_arrow.names if name in COLUMNS]
        rows, done = max(file.metadata.num_rows, 1), 0
        for batch in file.iter_batches(_BATCH_ROWS, columns=names):
            yield batch
            done += batch.num_rows
            progress(size_bytes * done // rows)


def csv_batches(path: Path, progress: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    """Of a CSV file with a line of names, compressed or not (by its extension)."""
    from pyarrow import csv

    word = pa.dictionary(pa.int32(), pa.string())
    types: dict[str, pa.DataType] = {"object": pa.string(), "operation": word, "place": word, "bytes": pa.int64()}
    read = csv.ReadOptions(block_size=_BLOCK_BYTES)
    with csv.open_csv(path, read_options=csv.ReadOptions(block_size=1 << 16)) as first:
        columns = first.schema
    if "time" in columns.names:
        types["time"] = _precise(columns.field("time").type)
    convert = csv.ConvertOptions(
        column_types=types, include_columns=[name for name in columns.names if name in COLUMNS] or columns.names,
        strings_can_be_null=False,
    )  # fmt: skip
    size_bytes, done_bytes = path.stat().st_size, 0
    with csv.open_csv(path, read_options=read, convert_options=convert) as reader:
        for batch in reader:
            yield batch
            done_bytes += _BLOCK_BYTES
            progress(min(done_bytes, size_bytes))


def _precise(kind: pa.DataType) -> pa.DataType:
    """Of a time: later rows may have parts of a second that the first ones have not."""
    if pa.types.is_integer(kind):
        return pa.float64()
    return pa.timestamp("ns", kind.tz) if pa.types.is_timestamp(kind) else kind
