"""Runs of several vantage points become one report: rows, document, tables, page and map."""

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.analyze.discovery_made import DUBLIN, LAUSANNE, SECOND_NS, START_NS, MadeRun, reported, three_vantages
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import RunFolderError
from vmtrace.analyze.reports.discovery.charts import charts as discovery_charts
from vmtrace.analyze.reports.discovery.document import csv_tables, document, provenance
from vmtrace.analyze.reports.discovery.drawing import coast_lines, world_map
from vmtrace.analyze.reports.discovery.page import page_of, sources_bar
from vmtrace.analyze.reports.discovery.report import front_end_places
from vmtrace.analyze.reports.discovery.texts import heading, place_text, tables, trouble
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.tables.schema import load
from vmtrace.formats.schemas import DISCOVERY_RUN as SCHEMA

ADDRESS = "198.18.16.1"
TO_DUBLIN_S = (0.015, 0.062, 0.112)
HOSTILE = '<script>alert("x")</script>\x1b[31m.dub1.example.net'


@pytest.fixture
def runs(tmp_path: Path) -> list[MadeRun]:
    made = three_vantages(tmp_path, TO_DUBLIN_S)
    made[0].called(**{f"_{ADDRESS.replace('.', '_')}": "fe1.dub2.example.net", "_10_0_0_1": "ae1.dublin3.example.net"})
    made[0].trace(ADDRESS, ("10.0.0.1", 0.0145), (ADDRESS, 0.015))
    return made


def test_an_address_is_one_row_over_all_vantage_points(runs: list[MadeRun]) -> None:
    runs[1].answer("192.0.2.2", ADDRESS, at_s=5)
    report = reported(runs)
    (name,) = report.names
    (row,) = name.addresses
    assert (row.count, row.resolvers) == (4, ("192.0.2.1", "192.0.2.2"))
    assert (row.first_seen_ns, row.last_seen_ns) == (START_NS, START_NS + 5 * SECOND_NS)
    assert row.rtt_min_s == 0.015
    assert (row.ptr, row.router_names) == ("fe1.dub2.example.net", ("ae1.dublin3.example.net",))
    assert place_text(row) == "Dublin (DUB) within 100 km"
    trip = next(one for one in row.round_trips if one.vantage == "lausanne")
    assert (trip.source, trip.sent, trip.lost, trip.min_s, trip.max_s) == ("clock", 3, 1, 0.015, 0.016)


def test_the_document_is_as_its_schema_says(runs: list[MadeRun]) -> None:
    found = document(reported(runs))
    schema = load("vmtrace.discovery_report.1")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(found)] == []
    (name,) = found["names"]
    (address,) = name["addresses"]
    wanted = {"address", "first_seen_ns", "last_seen_ns", "count", "resolvers", "ptr", "rtt_min_s", "location"}
    assert wanted <= address.keys()
    assert {"city", "iata", "lat", "lon", "radius_km", "confidence", "evidence"} <= address["location"].keys()
    kinds = {one["kind"] for one in address["location"]["evidence"]}
    assert {"reverse_name", "router_name", "region", "distance", "overlap"} <= kinds
    json.dumps(found, allow_nan=False)


def test_regions_have_their_actual_locations(runs: list[MadeRun]) -> None:
    runs[0].answer("192.0.2.1", "198.18.16.2", at_s=1)
    report = reported(runs)
    (row,) = report.regions()
    assert (row.region, row.locations, row.not_located, row.addresses) == ("Ireland", (("Dublin", 2),), 0, 2)
    bars = {one.vantage: one for one in report.region_round_trips()}
    assert (bars["new-york"].min_s, bars["new-york"].max_s, bars["new-york"].lost) == (0.062, 0.063, 1)


def test_a_router_far_from_the_front_end_says_nothing_of_its_place(tmp_path: Path) -> None:
    (run, *others) = three_vantages(tmp_path, TO_DUBLIN_S)
    run.write(names=[{"name": "s3.dub.example"}])
    run.trace(ADDRESS, ("10.0.0.9", 0.001), (ADDRESS, 0.015))
    run.called(_10_0_0_9="core1.gva1.example.net")
    for one in others:
        one.write(names=[{"name": "s3.dub.example"}])
    (row,) = reported([run, *others]).names[0].addresses
    assert row.location is None
    assert row.router_names == ("core1.gva1.example.net",)


def test_names_behind_the_same_router_help(tmp_path: Path) -> None:
    made = three_vantages(tmp_path, TO_DUBLIN_S)
    for run in made:
        run.write(names=[{"name": "s3.dub.example"}])
        run.answer("192.0.2.1", "198.18.16.2")
        run.round_trips("198.18.16.2", 0.113)
    made[0].round_trips("198.18.16.2", 0.015)
    for address in (ADDRESS, "198.18.16.2"):
        made[0].trace(address, ("10.0.0.1", 0.0149), (address, 0.015))
    made[0].called(_198_18_16_2="fe2.dub5.example.net")
    rows = {one.address: one for one in reported(made).names[0].addresses}
    found = rows[ADDRESS].location
    assert found is not None
    assert found.iata == "DUB"
    assert next(one.kind for one in rows[ADDRESS].verdict.evidence) == "same_site"


def test_a_resolver_that_was_set_aside_gave_no_front_end(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run", "v", LAUSANNE, set_aside=[{"resolver": "192.0.2.66", "reason": "lies"}])
    run.answer("192.0.2.1", ADDRESS)
    run.answer("192.0.2.66", "203.0.113.66")
    report = reported([run])
    assert list(report.addresses) == [ADDRESS]
    assert "resolver 192.0.2.66 set aside: lies (seen from v)" in list(trouble(report))


def test_a_run_without_a_position_locates_by_names_alone_and_says_so(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run", "v", None)
    run.answer("192.0.2.1", ADDRESS)
    run.round_trips(ADDRESS, 0.01)
    report = reported([run])
    found = report.addresses[ADDRESS].location
    assert found is not None
    assert found.confidence <= 0.5
    assert any("no position (--at)" in line for line in trouble(report))


def test_what_a_reader_must_know_is_reported(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run", "v", LAUSANNE, status="interrupted", error="stopped", given_up=[{"resolver": "r9"}],
                  notes=["no ICMP: not permitted"], addresses_left_out=7)  # fmt: skip
    run.answer("192.0.2.1", ADDRESS)
    run.answer("192.0.2.7", status="other_question", addresses=[])
    run.write(names=[DUBLIN, {"name": "gone.example"}])
    run.answer("192.0.2.1", name="gone.example", status="no_such_name", addresses=[])
    said = "\n".join(trouble(reported([run])))
    for part in ("interrupted: stopped", "7 addresses beyond", "no ICMP", "1 resolver given up", "gone.example: no",
                 "192.0.2.7: no usable reply (other question)"):  # fmt: skip
        assert part in said


def test_landmarks_calibrate_a_vantage_point(tmp_path: Path) -> None:
    places = [(48.86, 2.35), (40.42, -3.7), (52.23, 21.01), (41.01, 28.98)]
    landmarks = [
        {"address": f"198.18.48.{number}", "position": {"lat": lat, "lon": lon}}
        for number, (lat, lon) in enumerate(places)
    ]
    run = MadeRun(tmp_path / "run", "v", LAUSANNE, landmarks=landmarks)
    run.answer("192.0.2.1", ADDRESS)
    for number, rtt_s in enumerate((0.006, 0.015, 0.018, 0.028)):
        run.round_trips(f"198.18.48.{number}", rtt_s)
    run.round_trips(ADDRESS, 0.02)
    report = reported([run])
    (vantage,) = report.vantages
    assert vantage.calibration is not None
    assert vantage.calibration.landmarks == 4
    assert list(report.addresses) == [ADDRESS]
    assert any(one.kind == "calibrated_distance" for one in report.addresses[ADDRESS].verdict.evidence)


def test_the_bar_counts_each_front_end_once_by_what_named_its_place(runs: list[MadeRun]) -> None:
    report = reported(runs)
    (bar,) = sources_bar(report)
    assert [part.name for part in bar.parts] == ["reverse name"]
    assert bar.parts[0].text.endswith("1 address")
    runs[0].called()
    assert sum(part.share for part in sources_bar(reported(runs))[0].parts) == pytest.approx(1)


def test_page_and_map_are_complete_and_escape_what_hosts_are_called(runs: list[MadeRun], tmp_path: Path) -> None:
    runs[0].lines("reverse_names", {"address": ADDRESS, "name": HOSTILE})
    report = reported(runs)
    write_report_page(page_of(report, discovery_charts(report), {}), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "alert(" not in re.sub(r"&lt;script&gt;alert", "", page)
    assert "\x1b" not in page
    assert not re.search(r'(src|href)="https?:', page)
    drawn = world_map(report)
    root = ET.fromstring(drawn)
    texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Dublin (1)", "lausanne", "new-york", "hong-kong"} <= texts
    assert "http" not in drawn.replace("http://www.w3.org/2000/svg", "")


def test_a_place_is_drawn_where_it_is(runs: list[MadeRun]) -> None:
    root = ET.fromstring(world_map(reported(runs)))
    (circle,) = root.iter("{http://www.w3.org/2000/svg}circle")
    assert float(circle.attrib["cx"]) == pytest.approx((180 - 6.25) / 360 * 1080, abs=1)
    assert float(circle.attrib["cy"]) == pytest.approx((90 - 53.33) / 180 * 540, abs=1)


def test_coast_lines_cover_the_globe() -> None:
    points = [point for line in coast_lines() for point in line]
    assert len(points) > 3000
    assert min(x for x, _ in points) < -179
    assert max(x for x, _ in points) > 179
    assert all(-90 <= y <= 90 for _, y in points)


def test_the_tables_on_paper_and_as_csv(runs: list[MadeRun], tmp_path: Path) -> None:
    report = reported(runs)
    assert heading(report) == "1 address of front ends of 1 name, 1 located, from 3 vantage points"
    assert [one.name for one in tables(report)] == [
        "regions", "round-trips", "names", "addresses", "evidence", "vantages",
    ]  # fmt: skip
    write_tables(csv_tables(report), provenance(report), tmp_path / "csv")
    written = {path.name for path in (tmp_path / "csv").iterdir()}
    assert {"regions.csv", "addresses.csv", "evidence.csv", "addresses-over-time.csv", "provenance.json"} <= written
    assert "Dublin" in (tmp_path / "csv/regions.csv").read_text()


def test_places_are_given_to_a_storage_report(runs: list[MadeRun]) -> None:
    places = front_end_places([one.read() for one in runs])
    assert places[ADDRESS].city == "Dublin"
    assert "Dublin (DUB) within 100 km" in places[ADDRESS].text
    assert front_end_places([]) == {}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no run.json"),
        ("[]", "not a JSON object"),
        ('{"schema": "vmtrace.storage_run/1"}', "not a run of vmtrace discover"),
        (json.dumps({"schema": SCHEMA, "position": {"lat": 95, "lon": 0}}), "position"),
        (json.dumps({"schema": SCHEMA, "names": [{}]}), "name"),
        (json.dumps({"schema": SCHEMA, "resolvers": 3}), "list of objects"),
    ],
)
def test_what_is_no_run_is_refused_in_one_line(content: str | None, reason: str, tmp_path: Path) -> None:
    from vmtrace.analyze.reports.discovery.run_folder import read_discovery_run

    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=reason) as raised:
        read_discovery_run(tmp_path)
    assert "\n" not in str(raised.value)


def test_damaged_lines_are_left_out_and_told(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run", "v", LAUSANNE)
    run.answer("192.0.2.1", ADDRESS)
    with (run.folder / "answers.jsonl").open("a") as file:
        file.write('{"name": 3}\nno json\n{"name": "s3.dub.exam')
    run.lines("traces", {"address": ADDRESS, "hops": [{"ttl": 300, "address": "x", "rtt_s": 1}]})
    report = reported([run])
    assert list(report.addresses) == [ADDRESS]
    assert any("answers.jsonl" in one for one in report.problems)
    assert any("torn" in one for one in report.problems)


def test_a_capture_outside_of_the_folder_is_never_read(tmp_path: Path) -> None:
    from vmtrace.analyze.reports.discovery.run_folder import captures_of

    outside = tmp_path / "outside.pcap"
    outside.write_bytes(b"x")
    run = MadeRun(tmp_path / "run", "v", LAUSANNE, captures=[{"file": "../outside.pcap", "dropped": 0}])
    assert captures_of(run.read()) == []


def test_reports_do_not_change_with_the_order_of_runs(runs: list[MadeRun]) -> None:
    def places(order: list[MadeRun]) -> Any:
        return {one: row.location for one, row in reported(order).addresses.items()}

    assert places(runs) == places(runs[::-1])
