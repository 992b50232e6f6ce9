"""The engine's Python face (Rust, `analyze/engine/binding`)."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

class TraceError(Exception):
    """An input cannot be read as a capture."""

    kind: str
    """`not_a_capture`, `decompression` or `filter`."""
    input: int
    """Position of the input among those given."""
    path: str
    """Name of the input."""
    reason: str
    """What is wrong, and what to do."""

@final
class Columns:
    """A table: hand it to pyarrow, polars, pandas or DuckDB as it is (Arrow PyCapsule interface)."""

    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]:
        """The columns' names in order."""

    def values(self, name: str) -> list[Any]:
        """All values of a column; `None` where there is no value. `KeyError` if there is no such column."""

    def row(self, index: int) -> dict[str, Any]:
        """One row. `IndexError` if there is no such row."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Analysis:
    """What one run of the engine measured."""

    @property
    def interrupted(self) -> bool:
        """True if the reading was stopped before the end of the inputs."""

    def write_json(
        self, write: Callable[[bytes], object], *, vmtrace_version: str, input_paths: Sequence[str], pretty: bool = False
    ) -> None:
        """Write the JSON document `vmtrace.analysis/1` by calling `write` with consecutive pieces of it."""

    def connections(self) -> Columns:
        """One row for each connection; columns are named by the JSON path joined with `_`."""

    def packets(self) -> Columns:
        """One row for each packet of the connections asked for by `detail_connections`."""

    def syns(self) -> Columns:
        """One row for each second of the capture, with its SYNs and their fate."""

def analyze(
    inputs: Sequence[str | PathLike[str] | bytes],
    *,
    threads: int = 0,
    oversize_abs_ns: int | None = None,
    detail_connections: Sequence[int] = (),
    compile_filter: Callable[[int, int], bytes] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Analysis:
    """Measure captures (`-` is standard input; `bytes` are a capture themselves) and return all connections.

    `progress` is called about 20 times a second with the bytes consumed so far. Ctrl-C ends the reading and gives what
    was measured until then, with `interrupted` set. Raises `OSError` (its subclasses) and `TraceError`.
    """
