"""The narrow view of connections: one row each, what is asked for first, then the metrics that `--fail-if` knows by
short names, of the direction of the data. The 360 columns stay beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vmtrace.analyze.findings.fail_if import SHORT_NAMES
from vmtrace.analyze.words.path_rtt import path_rtt_min_s

if TYPE_CHECKING:
    import pyarrow

_DIRECTIONS = ("client_to_server", "server_to_client")
_OF_EACH = ("goodput_bps", "rtt_min_s", "unique_payload_bytes")
_COUNTS = frozenset({"retransmitted_segments", "lost_segments", "zero_windows", "oversize", "syn_retransmissions"})
METRICS = {
    name: SHORT_NAMES.get(name, name)
    for name in (
        "loss_rate", "lost_segments", "retransmission_rate", "retransmitted_segments", "rtt_mean_s", "rtt_median_s",
        "rtt_p99_s", "zero_windows", "window_limited", "oversize", "oversize_time_s", "spacing_max_s",
    )
}  # fmt: skip
"""Metrics that each direction has, and their columns without it."""
METRICS_OF_ALL = {
    name: SHORT_NAMES.get(name, name)
    for name in ("duration_s", "handshake_rtt_s", "syn_retransmissions", "tls_handshake_s", "overhead_ratio")
}
COLUMNS = (
    "id",
    "client",
    "server",
    "handshake_rtt_s",
    "vantage_side",
    "verdict_factor",
    "outcome_kind",
    *(f"{direction}_{name}" for direction in _DIRECTIONS for name in (*_OF_EACH, *METRICS.values())),
    *(name for name in METRICS_OF_ALL.values() if name != "handshake_rtt_s"),
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
    for name, column in METRICS.items():
        made[name] = (_kind(name), [row[f"{_of_data(row)}_{column}"] for row in rows])
    for name, column in METRICS_OF_ALL.items():
        made[name] = (_kind(name), [row[column] for row in rows])
    return pa.table({name: pa.array(list(found), kind) for name, (kind, found) in made.items()})


def _kind(name: str) -> "pyarrow.DataType":
    import pyarrow as pa

    return pa.int64() if name in _COUNTS else pa.float64()


def _of_data(row: dict[str, Any]) -> str:
    """The direction in which the data went."""
    from vmtrace.analyze.tables.human_table import main_direction

    return main_direction(row)
