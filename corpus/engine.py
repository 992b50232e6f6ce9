"""What the engine gives of a run or a bucket, as plain values that survive between processes.

Numbers of the JSON document keep the digits that the engine wrote: what is merged from several documents is the text
that one process writes.
"""

import io
import json
from collections.abc import Sequence
from typing import Any, Self

from vmtrace.analyze import _engine

Record = dict[str, Any]


class Digits(float):
    """A number with a decimal point, and how it was written."""

    text: str

    def __new__(cls, text: str) -> Self:
        """The number of these digits."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def parsed(text: bytes | str) -> Any:
    """JSON with the digits of its numbers."""
    return json.loads(text, parse_float=Digits)


def written(value: Any) -> str:
    """JSON as the engine writes it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(name)}:{written(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, Digits):
        return value.text
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


_OF_DIRECTION = (0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {
    chr(code): f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0), *map(ord, "<>&"), *_OF_DIRECTION)
}
_ESCAPES |= {'"': '\\"', "\\": "\\\\"}
_TABLE = str.maketrans(_ESCAPES)


def _quoted(text: str) -> str:
    return f'"{text.translate(_TABLE)}"'


def document(analysis: _engine.Analysis, names: Sequence[str], *, only: Sequence[int] | None = ()) -> bytes:
    """The JSON document, by itself without connections."""
    from vmtrace.analyze.trace import version

    out = io.BytesIO()
    analysis.write_json(out.write, vmtrace_version=version(), input_paths=names, only_connections=only)
    return out.getvalue()


def header_of(analysis: _engine.Analysis, names: Sequence[str]) -> list[Record]:
    """What is said of the inputs."""
    inputs: list[Record] = parsed(document(analysis, names))["inputs"]
    return inputs


def rows(table: _engine.Columns) -> list[Record]:
    """A small table as records."""
    return [table.row(index) for index in range(len(table))]
