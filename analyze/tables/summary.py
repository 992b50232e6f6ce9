"""The narrow view of connections: one row each, with what is asked for first. The 360 columns stay beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.words.path_rtt import path_rtt_min_s

if TYPE_CHECKING:
    import pyarrow

_DIRECTIONS = ("client_to_server", "server_to_client")
_OF_EACH = ("goodput_bps", "rtt_min_s", "unique_payload_bytes")
COLUMNS = (
    "id",
    "client",
    "server",
    "handshake_rtt_s",
    "vantage_side",
    "verdict_factor",
    "outcome_kind",
    *(f"{direction}_{name}" for direction in _DIRECTIONS for name in _OF_EACH),
)
"""Columns of the wide table that it is made of."""


def summary(values: Callable[[str], Sequence[Any]], saves_s: Mapping[int, float | None]) -> "pyarrow.Table":
    """A row for each connection; `saves_s` is by id: by how much shorter without what limited it."""
    import pyarrow as pa

    columns = {name: values(name) for name in COLUMNS}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    made: dict[str, tuple[pa.DataType, Iterable[Any]]] = {
        "id": (pa.int64(), (row["id"] for row in rows)),
        "client": (pa.string(), (row["client"] for row in rows)),
        "server": (pa.string(), (row["server"] for row in rows)),
        "goodput_bps": (pa.float64(), (row[f"{_of_data(row)}_goodput_bps"] for row in rows)),
        "rtt_min_s": (pa.float64(), (path_rtt_min_s(row) for row in rows)),
        "cause": (pa.string(), (row["verdict_factor"] for row in rows)),
        "saves_s": (pa.float64(), (saves_s.get(row["id"]) for row in rows)),
        "outcome": (pa.string(), (row["outcome_kind"] for row in rows)),
    }
    return pa.table({name: pa.array(list(found), kind) for name, (kind, found) in made.items()})


def _of_data(row: dict[str, Any]) -> str:
    """The direction in which the data went."""
    from vmtrace.analyze.tables.human_table import main_direction

    return main_direction(row)
