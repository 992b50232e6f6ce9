"""What storage runs come to: the costliest workload with how connections are used, in the first sentence."""

from typing import Any

import pytest

from tests.analyze.storage_made import connection, exchange, measured, run_of, stored, use
from vmtrace.analyze.reports.storage.result import results
from vmtrace.analyze.reports.storage.tables import reports_of

PARTS = {"tcp_header_bytes": 1000, "application_bytes": 2200}


def upload(*, new_connections: bool, files: int = 2, number: int = 1) -> Any:
    """Objects of 1 kB, over a connection for each or over one."""
    objects, connections = [], []
    for place in range(files):
        port = 1001 + place if new_connections else 1001
        opened = new_connections or place == 0
        at = 100.0 * place
        objects.append(stored(exchange(at, at + 20, at + 50, use(port, opened=opened)), 1000, place + 1))
        if opened:
            connections.append(connection(port, at, parts=PARTS, carried=1200, uploaded_bytes=1100))
    return measured(objects, connections, number=number, direction="upload", wire_bytes=4000)


def test_a_new_connection_for_each_object_is_the_first_result() -> None:
    (first, *_) = results(reports_of([run_of(upload(new_connections=True))]))
    assert first.startswith("A new connection for each object: ")
    assert first.endswith(" overhead at 2 x 1 kB, upload.")


def test_one_connection_for_all_is_said_so_and_of_a_single_file_nothing() -> None:
    (first, *_) = results(reports_of([run_of(upload(new_connections=False))]))
    assert first.startswith("One connection for all 2 objects: ")
    (alone, *_) = results(reports_of([run_of(upload(new_connections=True, files=1))]))
    assert alone.endswith("% overhead at 1 kB, upload.")
    assert ":" not in alone


def test_several_runs_have_their_names_before_each_result() -> None:
    one = run_of(upload(new_connections=True))
    found = results(reports_of([one, one]))
    assert [line.partition(":")[0] for line in found[:2]] == [report.label for report in reports_of([one, one])]


@pytest.mark.parametrize("runs", [[], [run_of()]])
def test_nothing_measured_has_no_result(runs: list[Any]) -> None:
    assert results(reports_of(runs)) == []
