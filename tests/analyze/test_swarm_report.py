"""A swarm's report: bytes by packets and by the client, shares, fairness, charges; damaged folders; the document."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyze.swarm_made import SEEDS as PEERS
from tests.analyze.swarm_made import MadeSwarm, shown
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import RunFolderError, numbered_apart
from vmtrace.analyze.reports.swarm.charges import PerGb
from vmtrace.analyze.reports.swarm.charts import charts
from vmtrace.analyze.reports.swarm.document import csv_tables, document, provenance
from vmtrace.analyze.reports.swarm.page import page_of
from vmtrace.analyze.reports.swarm.rows import jain_index, loads
from vmtrace.analyze.reports.swarm.run_folder import read_swarm_run
from vmtrace.analyze.reports.swarm.tables import over_time
from vmtrace.analyze.reports.swarm.texts import facts, heading, tables, trouble
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.tables.schema import load

PRICES = PerGb("made", "USD", "s3", None, 0.12)
SCHEMA = jsonschema.Draft202012Validator(load("vmtrace.swarm_report.1"))


@pytest.fixture
def made(tmp_path: Path) -> MadeSwarm:
    return MadeSwarm(tmp_path / "run")


def capacities(made: MadeSwarm, *bytes_each: int) -> None:
    """The store and both seeds alone; each sends at the same rate, for a time that its bytes take."""
    made.download(bytes_each[0], purpose="capacity")
    for place, size in enumerate(bytes_each[1:]):
        given_bytes = (0, size) if place else (size,)
        made.download(None, *given_bytes, purpose="capacity")


def test_bytes_by_packets_are_tcp_payload_each_byte_once(made: MadeSwarm) -> None:
    made.download(10_000, 6_000, 4_000)
    row = made.report().runs[0]
    assert [source.bytes_by_packets for source in row.sources] == [10_000, 6_000, 4_000]
    assert [source.share for source in row.sources] == [0.5, 0.3, 0.2]
    assert (row.bytes_by_packets, row.apart, row.agrees) == (20_000, 0.0, True)
    assert row.web_seed_share == 0.5
    assert row.throughput_bps == 20_000 * 8 / 0.5


def test_counters_that_are_apart_do_not_agree(made: MadeSwarm) -> None:
    made.download(10_000, 10_000, client_bytes=(10_000, 9_800))
    report = made.report()
    assert report.runs[0].agrees is False
    assert report.runs[0].sources[1].apart == pytest.approx(200 / 9_800)
    assert any("apart in sum" in line for line in trouble(report))


def test_a_block_that_a_connection_broke_off_in_is_no_disagreement(made: MadeSwarm) -> None:
    source = {"kind": "seed", "address": shown(PEERS[0]), "bytes": 49_152, "connections": 1, "banned": False}
    for errors in ({"End of file": 1}, {}):
        made.download(None, 60_000, sources=[source | {"errors": errors}])
    assert [row.agrees for row in made.report().runs] == [True, False]


def test_dropped_packets_leave_the_agreement_open(made: MadeSwarm) -> None:
    capture = {"file": "packets/0001.pcap", "dropped": 3, "written": 10}
    made.download(10_000, 10_000, capture=capture)
    report = made.report()
    assert report.runs[0].agrees is None
    assert any("3 packets dropped" in line for line in trouble(report))


def test_without_a_capture_the_clients_counters_stand(made: MadeSwarm) -> None:
    made.download(5_000, 15_000, capture=None)
    report = made.report()
    row = report.runs[0]
    assert [source.bytes_by_packets for source in row.sources] == [None, None]
    assert (row.bytes_by_packets, row.overhead_ratio, row.agrees) == (None, None, None)
    assert row.web_seed_share == 0.25
    assert any("without a capture" in line for line in trouble(report))
    assert over_time(report) == []


def test_a_capture_that_is_cut_is_left_out(made: MadeSwarm) -> None:
    made.download(5_000, 15_000, capture={"file": "packets/0001.pcap", "dropped": 0, "written": 10_000})
    report = made.report()
    assert report.runs[0].bytes_by_packets is None
    assert any("of 10,000 recorded packets" in line for line in trouble(report))


def test_the_parts_of_the_overhead_sum_to_the_wire(made: MadeSwarm) -> None:
    made.download(10_000, 10_000)
    row = made.report().runs[0]
    assert row.wire_bytes == sum(row.overhead_bytes.values())
    assert row.overhead_bytes["file_bytes"] == 20_000
    assert row.overhead_bytes["protocol_bytes"] == 2_000  # the requests
    assert row.overhead_ratio == (row.wire_bytes - 20_000) / 20_000


def test_bytes_over_time_end_at_the_total(made: MadeSwarm) -> None:
    made.download(8_000, 12_000)
    rows = over_time(made.report())
    last = {row["address"]: row["bytes_so_far"] for row in rows}
    assert sorted(last.values()) == [8_000, 12_000]
    for address, total in last.items():
        own = [row for row in rows if row["address"] == address]
        assert sum(row["bytes"] for row in own) == total
        assert [row["from_s"] for row in own] == sorted(row["from_s"] for row in own)
    assert sum(row["share_so_far"] for row in rows[-2:]) == pytest.approx(1)


def test_shares_as_the_capacities_are_fair(made: MadeSwarm) -> None:
    capacities(made, 20_000, 20_000, 20_000)
    made.download(10_000, 10_000, 10_000)
    made.download(20_000, 5_000, 5_000)
    report = made.report()
    assert len(report.capacities) == 4  # the second seed's download has the first, too
    fair, unfair = report.runs
    assert fair.jain_index == pytest.approx(1, abs=0.01)
    shares = (2 / 3, 1 / 6, 1 / 6)
    assert unfair.jain_index == pytest.approx(sum(shares) ** 2 / (3 * sum(share**2 for share in shares)), abs=0.01)


def test_without_capacities_there_is_no_index_and_a_reason(made: MadeSwarm) -> None:
    made.download(10_000, 10_000)
    row = made.report().runs[0]
    assert row.jain_index is None
    assert row.fairness_missing == "the capacity of 192.0.2.1:80 and 1 more was not measured"


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
def test_jains_index_is_between_one_over_n_and_one(values: list[float]) -> None:
    index = jain_index(values)
    assert index is not None
    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index([3.0] * len(values)) == pytest.approx(1)


def test_loads_need_all_capacities() -> None:
    assert loads([0.5, 0.5], [1.0, None]) == [None, None]
    assert loads([0.5, 0.5], [3.0, 1.0]) == [pytest.approx(2 / 3), pytest.approx(2)]
    assert jain_index([]) is None
    assert jain_index([0.0, 0.0]) is None


def test_public_and_forbidden_are_compared(made: MadeSwarm) -> None:
    made.download(10_000, 5_000, 5_000, duration_s=0.5)
    made.download(0, 10_000, 10_000, web_seed="forbidden", duration_s=0.6, http_status=403)
    report = made.report(PRICES)
    row = report.private[0]
    assert row.seeds == 2
    assert row.change == pytest.approx(0.2)
    assert (row.public_store_bytes, row.forbidden_store_bytes) == (10_000, 0)
    public, forbidden = report.charges
    assert public.charge == pytest.approx(10_000 / 1e9 * 0.12)
    assert public.saved_share == pytest.approx(0.5)
    assert (forbidden.charge, forbidden.saved_share) == (0, 1)
    assert any("20.0 % longer" in line for line in facts(report))


def test_a_download_that_failed_is_no_median(made: MadeSwarm) -> None:
    made.download(10_000, 10_000, duration_s=0.5)
    made.download(1_000, 1_000, status="stalled", error="nothing received", digest_ok=None, duration_s=60.0)
    made.download(10_000, 10_000, digest_ok=False, status="failed", duration_s=9.0)
    report = made.report()
    assert [(row.finished, row.of, row.duration_s.value) for row in report.by_seeds] == [(1, 3, 0.5)]
    assert report.runs[1].throughput_bps is None
    assert any("stalled: nothing received" in line for line in trouble(report))


def test_hash_failures_are_reported_with_the_bytes_they_cost(made: MadeSwarm) -> None:
    made.download(20_000, 10_000, hash_failures=2, failed_bytes=10_000)
    report = made.report()
    assert report.runs[0].wasted_bytes == 10_000
    assert any("2 pieces with a wrong hash: 10.0 kB" in line for line in trouble(report))


def test_the_document_is_as_the_schema_says(made: MadeSwarm) -> None:
    capacities(made, 20_000, 20_000)
    made.download(10_000, 10_000)
    made.download(0, 20_000, web_seed="forbidden")
    made.download(1_000, 1_000, status="stalled", capture=None)
    found = json.loads(json.dumps(document([made.report(PRICES)])))
    assert [error.message for error in SCHEMA.iter_errors(found)] == []
    run = found["runs"][0]
    assert {"seeds", "web_seed", "duration_s", "sources"} <= set(run)
    assert {"kind", "address", "bytes_by_packets", "bytes_by_client", "share"} <= set(run["sources"][0])
    assert [run["web_seed"] for run in found["runs"]] == ["public", "forbidden", "public"]
    found["runs"][0]["web_seed"] = "open"
    assert list(SCHEMA.iter_errors(found))


def test_every_key_of_the_document_is_required_by_the_schema(made: MadeSwarm) -> None:
    made.download(10_000, 10_000)
    found = document([made.report(PRICES)])
    definitions = load("vmtrace.swarm_report.1")["$defs"]
    assert set(found["runs"][0]) == set(definitions["run"]["required"])
    assert set(found["runs"][0]["sources"][0]) == set(definitions["source"]["required"])
    assert set(found["data_sets"][0]) == set(definitions["data_set"]["required"])


def test_page_figures_and_tables_are_written(made: MadeSwarm, tmp_path: Path) -> None:
    made.download(10_000, 10_000)
    made.download(0, 20_000, web_seed="forbidden")
    reports = [made.report(PRICES)]
    drawn = charts(reports)
    assert [chart.name for chart in drawn] == ["figure-5-seeds", "figure-6-public-private", "along-the-download"]
    write_report_page(page_of(reports, drawn, provenance(reports)), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert all(table.title in page for table in tables(reports))
    write_tables(csv_tables(reports), provenance(reports), tmp_path / "tables")
    names = {path.name for path in (tmp_path / "tables").iterdir()}
    assert {"runs.csv", "sources.csv", "over-time.csv", "by-seeds.csv", "provenance.json"} <= names


def test_hostile_names_do_not_reach_the_page_as_markup(tmp_path: Path) -> None:
    made = MadeSwarm(tmp_path / "run", name="<script>alert(1)</script>\x1b[2J")
    made.download(10_000, 10_000, status="failed", error="<img src=x>")
    reports = [made.report()]
    write_report_page(page_of(reports, charts(reports), provenance(reports)), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "<script>alert(1)" not in page
    assert "<img src=x>" not in page
    assert "\x1b" not in heading(reports[0])


@pytest.mark.parametrize(
    "change",
    [
        {"purpose": "other"}, {"web_seed": "open"}, {"duration_s": -1}, {"number": None}, {"start_ns": "now"},
        {"sources": [{"kind": "x", "address": shown(PEERS[0]), "bytes": 1}]},
        {"sources": [{"kind": "seed", "address": "x"}]},
        {"hash_failures": 1.5}, {"capture": []},
    ],
)  # fmt: skip
def test_a_damaged_line_is_left_out_and_reported(made: MadeSwarm, change: dict[str, Any]) -> None:
    made.download(10_000, 10_000)
    made.download(10_000, 10_000, **change)
    report = made.report()
    assert len(report.runs) == 1
    assert any("left out" in line for line in trouble(report))


def test_captures_outside_of_the_folder_are_not_read(made: MadeSwarm) -> None:
    made.download(10_000, 10_000, capture={"file": "../../secret.pcap", "dropped": 0, "written": 1})
    assert made.report().runs[0].bytes_by_packets is None


def test_what_is_no_swarm_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no such run folder"):
        read_swarm_run(tmp_path / "absent")
    with pytest.raises(RunFolderError, match=r"it has no run\.json"):
        read_swarm_run(tmp_path)
    (tmp_path / "run.json").write_text('{"schema": "vmtrace.storage_run/1"}')
    with pytest.raises(RunFolderError, match="not a run of vmtrace swarm"):
        read_swarm_run(tmp_path)


def test_runs_of_one_name_are_named_apart(made: MadeSwarm) -> None:
    made.download(10_000, 10_000)
    run = read_swarm_run(made.folder)
    assert [one.name for one in numbered_apart([run, run])] == ["run (1)", "run (2)"]
