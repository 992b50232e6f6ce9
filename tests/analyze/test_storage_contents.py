"""What a client saves on content, from bytes on the wire; and where the time of a program goes, from packets alone."""

from typing import Any

import pytest

from tests.analyze.storage_made import MS, START_NS, connection, exchange, measured, run_of, stored
from vmtrace.analyze.reports.storage.contents import content_rows
from vmtrace.analyze.reports.storage.measured import Lookup, MeasuredTransaction
from vmtrace.analyze.reports.storage.overhead import left_out, overhead_rows
from vmtrace.analyze.reports.storage.time_ledger import time_rows

SIZE = 100_000


def moved(content: str, carried: int, **given: Any) -> MeasuredTransaction:
    """A transaction of 100 kB for which TCP carried so much."""
    parts = {"application_bytes": carried, "tcp_header_bytes": 1000}
    about: dict[str, Any] = {"workload": content, "content": content, "direction": "upload", **given}
    link = connection(1, 0, parts=parts, tls=False, tls_records_measured=about.pop("followed", True))
    return measured([stored(exchange(0, 1, 2), SIZE)], [link], **about)


@pytest.mark.parametrize(
    ("content", "carried", "saves", "says"),
    [
        ("compressible", 12_500, True, "it compresses"),
        ("compressible", 101_000, False, "it does not compress"),
        ("repeated", 11_000, True, "it sends the same content once"),
        ("repeated", 95_000, False, "it sends the same content every time"),
        ("changed", 25_000, True, "it sends what is new alone"),
        ("changed", 100_900, False, "it sends changed files whole"),
    ],
)
def test_a_tenth_less_than_random_files_take_is_a_saving(content: str, carried: int, saves: bool, says: str) -> None:
    run = run_of(moved("random", 101_000), moved(content, carried))
    (row,) = content_rows(run, overhead_rows(run))
    assert (row.content, row.saves, row.random_ratio) == (content, saves, 1.01)
    assert row.carried_ratio == carried / SIZE
    assert row.sentence.endswith(f"random ones 101 %: {says}")


def test_without_random_files_the_workload_itself_is_what_it_is_put_against() -> None:
    run = run_of(moved("changed", 30_000))
    (row,) = content_rows(run, overhead_rows(run))
    assert (row.random_ratio, row.saves) == (None, True)
    assert row.sentence == "changed, upload: TCP carried 30.0 % of changed files: it sends what is new alone"


def test_less_than_the_workload_is_believed_only_where_it_can_be() -> None:
    """Random content cannot be saved on, and records that were not followed hide what was sent."""
    for one in (moved("random", 30_000), moved("compressible", 30_000, followed=False)):
        run = run_of(one)
        assert overhead_rows(run) == []
        assert "could not be followed" in left_out(run)[0].reason


def test_a_command_whose_connections_nobody_saw_has_saved_nothing() -> None:
    run = run_of(measured([stored(exchange(0, 1, 2), SIZE)], [], content="changed", direction="upload", command=True))
    assert overhead_rows(run) == []
    assert left_out(run)[0].reason == "none of the command's connections was seen open"


def test_the_parts_sum_to_the_wire_bytes_where_less_was_sent() -> None:
    (row,) = overhead_rows(run_of(moved("compressible", 12_500)))
    assert sum(row.parts_bytes.values()) == row.wire_bytes == 13_500
    assert row.overhead_ratio == -0.865


def test_the_time_of_a_program_is_what_packets_tell_and_idle_is_the_rest() -> None:
    """A second: 100 ms until the name is asked for, 20 of lookup, 10 and 20 of handshakes, data until 600 ms."""
    one = measured(
        [stored(exchange(0, 0, 1000), SIZE)],
        [connection(1, 120, 480), connection(2, 130, 300)],
        [Lookup("x", START_NS + 100 * MS, START_NS + 120 * MS)],
        command=True, end_ns=START_NS + 1000 * MS,
    )  # fmt: skip
    rows = time_rows(run_of(one))
    assert [(row.what, row.objects, row.left_out) for row in rows] == [("command", 1, 0)]
    parts = rows[0].median_parts_s
    assert parts["name_lookup"] == pytest.approx(0.02)
    assert parts["tcp_handshake"] == pytest.approx(0.02), "the second begins where the first ends"
    assert parts["tls_handshake"] == pytest.approx(0.02), "of both, but for what is counted already"
    assert parts["idle"] == pytest.approx(0.5)
    assert sum(value for value in parts.values() if value) == pytest.approx(rows[0].median_s) == pytest.approx(1)
