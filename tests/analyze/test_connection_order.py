"""Connections in the order asked for: what there is something to say about first, absent numbers last."""

from typing import Any

import pytest

from vmtrace.analyze.findings.connection_order import SORTS, ordered

Columns = dict[str, list[Any]]


class Table:
    """As much of a trace as sorting needs: columns, the rows by size."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns
        self._rows = len(next(iter(columns.values())))

    def __len__(self) -> int:
        return self._rows

    def load(self, _columns: list[str]) -> None:
        pass

    def values(self, column: str) -> list[Any]:
        return self._columns.get(column, [None] * self._rows)

    def largest(self, limit: int | None = None) -> list[int]:
        return list(range(self._rows))[:limit]


def rows(sort: str, **columns: list[Any]) -> list[int]:
    return ordered(Table(**columns), sort, 10)  # type: ignore[arg-type]


def test_a_verdict_or_a_warning_comes_first_then_bytes() -> None:
    assert rows(
        "notable",
        verdict_factor=[None, None, "application", None, None],
        close=["fin", "fin", "fin", "reset", "fin"],
        server_to_client_loss_retransmitted_segments=[0, None, 0, 0, 3],
    ) == [2, 3, 4, 0, 1]


@pytest.mark.parametrize(
    ("sort", "column", "values", "order"),
    [
        ("time", "duration_s", [1.0, None, 3.0], [2, 0, 1]),
        ("start", "start_ns", [3, 1, 2], [1, 2, 0]),
        ("goodput", "client_to_server_goodput_bps", [5.0, None, 1.0], [2, 0, 1]),
        ("retrans", "client_to_server_loss_retransmitted_segments", [1, 9, None], [1, 0, 2]),
        ("rtt", "handshake_rtt_s", [0.1, 0.3, None], [1, 0, 2]),
        ("id", "id", [3, 2, 1], [2, 1, 0]),
        ("bytes", "id", [3, 2, 1], [0, 1, 2]),
    ],
)
def test_a_quantity_orders_and_what_was_not_measured_comes_last(
    sort: str, column: str, values: list[Any], order: list[int]
) -> None:
    assert rows(sort, **{column: values}) == order


def test_the_direction_of_most_payload_counts() -> None:
    assert rows(
        "goodput",
        client_to_server_unique_payload_bytes=[1, 9],
        server_to_client_unique_payload_bytes=[5, 1],
        client_to_server_goodput_bps=[1.0, 3.0],
        server_to_client_goodput_bps=[7.0, 1.0],
    ) == [1, 0]


@pytest.mark.parametrize("sort", SORTS)
def test_every_order_works_on_the_command_line(vmtrace_table: Any, sort: str) -> None:
    assert vmtrace_table(sort)


@pytest.fixture
def vmtrace_table(two_transfers: Any) -> Any:
    """The rows of two transfers in an order."""
    from vmtrace.analyze.trace import read

    trace = read(two_transfers.bytes())
    return lambda sort: sorted(ordered(trace, sort, 5)) == [0, 1] and len(ordered(trace, sort, 1)) == 1
