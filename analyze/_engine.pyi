# The engine's Python face (Rust, `analyze/engine/binding`, where each name is described).

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, final

class TraceError(Exception):
    # "not_a_capture", "decompression" or "filter"
    kind: str
    # Position of the input among those given.
    input: int
    # Name of the input.
    path: str
    # What is wrong, and what to do.
    reason: str

@final
class Columns:
    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str]: ...
    # All values of a column; None where there is no value. KeyError if there is no such column.
    def values(self, name: str) -> list[Any]: ...
    # IndexError if there is no such row.
    def row(self, index: int) -> dict[str, Any]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Analysis:
    @property
    def interrupted(self) -> bool: ...
    def write_json(
        self,
        write: Callable[[bytes], object],
        *,
        vmtrace_version: str,
        input_paths: Sequence[str],
        pretty: bool = False,
    ) -> None: ...
    def connections(self) -> Columns: ...
    def packets(self) -> Columns: ...
    def syns(self) -> Columns: ...

# Raises OSError (its subclasses) and TraceError. `progress` is called about 20 times a second with the bytes consumed.
def analyze(
    inputs: Sequence[str | PathLike[str] | bytes],
    *,
    threads: int = 0,
    oversize_abs_ns: int | None = None,
    detail_connections: Sequence[int] = (),
    compile_filter: Callable[[int, int], bytes] | None = None,
    progress: Callable[[int], object] | None = None,
) -> Analysis: ...
