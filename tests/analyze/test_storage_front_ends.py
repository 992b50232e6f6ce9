"""The front ends of a run: when they were seen, and how far away they can be."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.analyze.storage_made import MS, START_NS, MadeRun, connection, echo, exchange, measured, run_of, stored, use
from vmtrace.analyze.reports.storage.front_ends import front_end_rows
from vmtrace.analyze.reports.storage.run_folder import read_storage_run
from vmtrace.analyze.reports.storage.tables import reports_of
from vmtrace.analyze.reports.storage.texts import tables

FAR = ("198.51.100.7", 443)


def test_each_address_has_its_use_its_name_and_its_bound() -> None:
    login = exchange(0, 1, 2, use(1, opened=True))
    objects = [stored(exchange(5, 6, 7, use(1))), stored(exchange(8, 9, 10, use(2, opened=True, peer=FAR)), number=2)]
    one = measured(objects, [connection(1, 0)], login=login)
    later = measured([stored(exchange(50, 60, 70, use(1)))], number=2)
    echoes = (echo("192.0.2.1", "icmp", 0.004), echo("192.0.2.1", "icmp", None), echo("203.0.113.9", "tcp", None))
    first, second, asked = front_end_rows(
        run_of(one, later, echoes=echoes, front_end_names={"192.0.2.1": "s3-1.dub2.example"})
    )
    assert (first.front_end, first.name, first.transactions, first.objects) == (
        "192.0.2.1", "s3-1.dub2.example", 2, 2,
    )  # fmt: skip
    assert (first.first_seen_ns, first.last_seen_ns) == (START_NS, START_NS + 70 * MS)
    assert (first.min_rtt_s, first.rtt_method) == (0.004, "icmp")
    assert first.farthest_km == pytest.approx(0.002 * 199_861.6, rel=1e-4)
    assert (second.front_end, second.name, second.transactions, second.objects) == (FAR[0], None, 1, 1)
    assert (second.min_rtt_s, second.farthest_km) == (None, None)
    assert (asked.front_end, asked.transactions, asked.first_seen_ns) == ("203.0.113.9", 0, None)


def test_names_come_from_the_run_folder_and_reach_the_table(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run", front_end_names={"192.0.2.1": "s3.example", "192.0.2.2": None})
    names = read_storage_run(made.folder).front_end_names
    assert names == {"192.0.2.1": "s3.example"}
    one = measured([stored(exchange(0, 1, 2, use(1, opened=True)))], [connection(1, 0)])
    (table,) = [one for one in tables(reports_of([run_of(one, front_end_names=names)])) if one.name == "servers"]
    assert table.rows[0].texts[1:3] == ("192.0.2.1", "s3.example")
    assert table.rows[0].texts[-1] == "999 km (tcp handshake)"
