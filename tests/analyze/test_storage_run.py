"""A run folder with captures, from its files to the report: whatever state it is in."""

import io
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.analyze.pages import Visit, data_of
from tests.analyze.schemas import properties
from tests.analyze.storage_made import SERVICE, MadeRun, lookup, said, talk
from tests.in_process import vmtrace_here
from vmtrace.analyze.charts.on_paper import draw
from vmtrace.analyze.pages.on_terminal import show
from vmtrace.analyze.pages.write import in_script, write_report_page
from vmtrace.analyze.read.records.run_folder import RunFolderError
from vmtrace.analyze.reports.storage.charts import charts
from vmtrace.analyze.reports.storage.document import csv_tables, document, provenance, transaction_rows
from vmtrace.analyze.reports.storage.measured import MeasuredRun, measure_run
from vmtrace.analyze.reports.storage.page import page_of
from vmtrace.analyze.reports.storage.run_folder import named_apart, read_storage_run
from vmtrace.analyze.reports.storage.tables import Report, reports_of
from vmtrace.analyze.reports.storage.texts import facts, heading, parts, trouble
from vmtrace.analyze.reports.storage.texts import tables as texts
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.tables.schema import load

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>@@data@@"


def made(folder: Path, **given: Any) -> MadeRun:
    """Two transactions of two objects: over one connection after a name lookup, and over a connection for each."""
    run = MadeRun(folder, **given)
    run.transaction(1, [said(0, 60, 62, 1001, opened=True), said(62, 80, 82, 1001, opened=False)])
    run.capture(
        1, [*lookup(2, 20), *talk(1001, 25, [(100, 1200), (100, 1200)]), *talk(53000, 0, [(9, 9)], ("192.0.2.9", 53))]
    )
    run.transaction(2, [said(0, 30, 32, 1002, opened=True), said(40, 70, 72, 1003, opened=True)])
    run.capture(2, [*talk(1002, 1, [(100, 1200)]), *talk(1003, 41, [(100, 1200)])])
    run.add("rtt", {"front_end": SERVICE[0], "method": "icmp", "rtt_s": 0.01, "time_ns": 1, "transaction": 1})
    return run


def measured(run: MadeRun) -> MeasuredRun:
    return measure_run(read_storage_run(run.folder))


def report(run: MadeRun) -> Report:
    return reports_of([measured(run)])[0]


def vmtrace(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return vmtrace_here("storage", "report", *arguments)


def test_packets_and_log_are_joined(tmp_path: Path) -> None:
    found = report(made(tmp_path / "run"))
    first, second = found.run.transactions
    assert (len(first.connections), first.other_connections, len(second.connections)) == (1, 1, 2)
    assert [one.name for one in first.lookups] == ["s3.example"]
    (connections,) = found.connections
    assert (connections.opened.value, connections.by_role["data"], connections.reused_share) == (1.5, 1.5, 0.25)
    (overhead,) = found.overhead
    assert overhead.parts_bytes["workload"] == 4000
    assert overhead.parts_bytes["signalling"] == 4 * (100 + 1200) - 4000
    assert sum(overhead.parts_bytes.values()) == overhead.wire_bytes
    (times,) = found.times
    assert times.objects == 4
    assert times.shares["name_lookup"] == pytest.approx(0.020 / (0.062 + 0.020 + 0.032 + 0.032))
    assert sum(share or 0 for share in times.shares.values()) == pytest.approx(1)


def test_the_end_of_an_earlier_connection_was_not_opened_but_a_refused_one_was(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    end_of_earlier = talk(1004, 1, [(100, 1200)])[-2:]
    syn, refusal = talk(1005, 5, [])[:2]
    refusal["TCP"].flags = "RA"
    run.capture(2, [*talk(1002, 1, [(100, 1200)]), *end_of_earlier, syn, refusal, *talk(1006, 9, [])[:1]])
    (_, second) = measured(run).transactions
    assert [one.client[1] for one in second.connections if one.client] == [1002, 1005, 1006]
    assert [(one.client[1], one.opened) for one in second.remainders if one.client] == [(1004, False)]


@pytest.mark.parametrize("frames", [1, 2, 3, 4])
def test_the_end_of_an_earlier_connection_counts_as_bytes_but_not_as_a_connection(tmp_path: Path, frames: int) -> None:
    run = made(tmp_path / "run")
    own = [*talk(1002, 1, [(100, 1200)]), *talk(1003, 41, [(100, 1200)])]
    (row,) = report(run).overhead
    run.capture(2, [*own, *talk(1004, 1, [(100, 1200)], farewell_bytes=24)[-frames:]])
    found = report(run)
    assert [one.connections for one in transaction_rows(found.run)] == [1, 2]
    assert (found.overhead[0].connections, found.connections[0].at_once) == (1.5, 1)
    assert sum(found.overhead[0].parts_bytes.values()) == found.overhead[0].wire_bytes > row.wire_bytes


def test_a_capture_without_any_of_the_connections_of_the_log_is_none(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    run.capture(2, lookup(0, 10))
    found = report(run)
    assert [one.captured for one in found.run.transactions] == [True, False]
    assert found.run.problems == (
        (
            "the captures of 1 transaction hold none of the connections that the log names: eth0 is not on the way to "
            "the service, or the filter leaves it out"
        ),
    )
    (connections,) = found.connections
    assert (connections.transactions, connections.opened.value) == (1, 1)
    assert [(one.transactions, one.reason) for one in found.overhead_left_out] == [(1, "not captured")]
    (times,) = found.times
    assert (times.objects, times.left_out) == (2, 2)


def test_a_capture_that_lost_packets_after_it_was_written_is_left_out(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    lines = [json.loads(line) for line in (run.folder / "transactions.jsonl").read_text().splitlines()]
    whole = [one.packets for one in measured(run).transactions]
    for line, packets in zip(lines, whole, strict=True):
        line["capture"]["written"] = packets
    (run.folder / "transactions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert measured(run).problems == ()
    path = run.folder / "packets/0002.pcap"
    path.write_bytes(path.read_bytes()[:-2000])
    found = report(run)
    assert [one.captured for one in found.run.transactions] == [True, False]
    (shown,) = found.run.problems
    assert re.fullmatch(rf"incomplete captures: 1 transaction, the first with \d+ of {whole[1]} .*", shown)
    assert found.connections[0].transactions == 1


def test_lines_of_objects_that_were_lost_are_reported_and_are_no_failures(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    path = run.folder / "objects.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    found = report(run)
    assert found.run.problems == ("objects.jsonl lacks 1 object of transactions that are complete",)
    assert [one.reason for one in found.overhead_left_out] == ["objects that are not in the log"]
    assert (found.throughput[0].whole, found.throughput[0].planned) == (1, 2)


def test_a_connection_kept_alive_that_an_object_used_again_is_one_of_the_transaction(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    kept_alive = talk(1003, 1, [(100, 1200)])[3:]
    run.capture(2, [*talk(1002, 1, [(100, 1200)]), *kept_alive])
    (_, second) = measured(run).transactions
    assert [(one.client[1], one.opened) for one in second.connections if one.client] == [(1002, True), (1003, False)]
    assert second.remainders == ()


def test_the_document_keeps_its_contract_and_everything_in_it_is_described(tmp_path: Path) -> None:
    schema = load("vmtrace.storage_report.1")
    content = document(reports_of([measured(made(tmp_path / name)) for name in ("one", "other")]))
    jsonschema.validate(json.loads(json.dumps(content, allow_nan=False)), schema)
    described = {name for name, _ in properties(schema)}
    for run in content["runs"]:
        assert set(run) <= described
        for name, rows in run.items():
            if isinstance(rows, list) and name != "front_ends":
                assert all(set(row) <= described for row in rows), name
    page = (Path(__file__).parents[2] / "docs/report.md").read_text()
    missing = {name for name in described if f"`{name}`" not in page}
    assert missing == set(), "named in docs/report.md"


def test_tables_are_written_as_csv_and_their_names_are_those_of_the_document(tmp_path: Path) -> None:
    reports = reports_of([measured(made(tmp_path / "run"))])
    write_tables(csv_tables(reports), provenance(reports), tmp_path / "csv")
    written = {path.name for path in (tmp_path / "csv").iterdir()}
    assert written == {
        "throughput.csv", "throughput-by-period.csv", "connections.csv", "overhead.csv", "times.csv", "round-trips.csv",
        "limits.csv", "front-end-servers.csv", "retries-and-errors.csv", "transactions.csv", "object-times.csv",
        "provenance.json",
    }  # fmt: skip
    head = (tmp_path / "csv" / "overhead.csv").read_text().splitlines()[0]
    assert '"parts_bytes_tls_handshake"' in head


def test_every_figure_can_be_drawn_also_of_a_run_without_captures(tmp_path: Path) -> None:
    bare = MadeRun(tmp_path / "bare")
    two = [said(0, 30, 32, 1002, opened=True), said(40, 70, 72, 1002, opened=False)]
    bare.transaction(1, two, capture=None)
    found = charts(reports_of([measured(made(tmp_path / "run")), measured(bare)]))
    assert [chart.name for chart in found] == [
        "figure-4b-bundles",
        "figure-5-over-time",
        "figure-6a-connections",
        "figure-6b-overhead",
        "figure-3-round-trips",
    ], "there is no workload of a single file"
    for chart in found:
        draw(chart)
    assert [chart.name for chart in charts([report(bare)])] == ["figure-4b-bundles", "figure-5-over-time"]


def test_the_page_holds_every_table_and_asks_nothing_of_a_network(tmp_path: Path, browser: Any) -> None:
    reports = reports_of([measured(made(tmp_path / name)) for name in ("one", "other")])
    path = tmp_path / "r.html"
    write_report_page(page_of(reports, charts(reports), provenance(reports)), path)
    page = path.read_text()
    assert all(f"<h2>{table.title}</h2>" in page.replace("&#39;", "'") for table in texts(reports))
    assert [chart["name"] for chart in data_of(page)["charts"]] == [chart.name for chart in charts(reports)]
    visit = Visit(browser, path)
    assert visit.page.locator("figure.chart[data-drawn]").count() == len(charts(reports))
    assert visit.complaints == []
    assert visit.requests == [path.as_uri()]


def test_every_table_is_whole_on_paper(tmp_path: Path, browser: Any) -> None:
    reports = reports_of([measured(made(tmp_path / name)) for name in ("one", "other")])
    write_report_page(page_of(reports, charts(reports), provenance(reports)), tmp_path / "r.html")
    visit = Visit(browser, tmp_path / "r.html")
    visit.media("print")
    for selector, width in (("section:not(.wide)", 703), ("section.wide", 1047)):  # A4 between the margins, either way
        visit.page.set_viewport_size({"width": width, "height": 1000})
        tables = [(one, one.bounding_box()) for one in visit.page.locator(f"{selector} table").all()]
        assert [one.inner_text() for one, box in tables if box and box["x"] + box["width"] > width] == []


def test_what_a_run_calls_itself_harms_nobody(tmp_path: Path) -> None:
    run = made(tmp_path / "run", name=HOSTILE, error=HOSTILE, status="failed", region=HOSTILE, provider=HOSTILE)
    run.transaction(3, [said(0, 30, 32, 1002, opened=True, retries=1, retry_causes={HOSTILE: 1})], workload=HOSTILE)
    path = tmp_path / "r.html"
    found = report(run)
    write_report_page(page_of([found], charts([found]), provenance([found])), path)
    page = path.read_text()
    own = page[: page.index('<script type="application/json"')]
    assert "<img" not in own
    assert "window.hacked=1</script>" not in page
    assert in_script(HOSTILE) in page


def test_what_a_run_calls_itself_does_not_steer_a_terminal(tmp_path: Path) -> None:
    run = made(tmp_path / "run", name="\x1b[2J", error="\x1b[2J", status="failed", provider="\x1b[2J")
    run.transaction(3, [said(0, 30, 32, 1002, opened=True)], workload="\x1b[2J")
    found = report(run)
    assert any("overhead leaves out 1 of" in line for line in trouble(found))
    assert "\x1b" not in "".join([heading(found), *trouble(found), *facts(found)])


def test_trouble_is_reported_before_the_numbers(tmp_path: Path) -> None:
    run = made(tmp_path / "run", status="interrupted", left_behind=[{"name": "x"}])
    run.transaction(3, [said(0, 30, 32, 1002, opened=True)], capture={"file": "packets/0003.pcap", "dropped": 7})
    (run.folder / "packets/0002.pcap").write_bytes(b"no capture")
    with (run.folder / "objects.jsonl").open("a") as log:
        log.write('{"transaction": 9')
    lines = "\n".join(trouble(report(run)))
    for words in (
        "interrupted",
        "could not be removed",
        "7 packets dropped",
        "2 transactions without",
        "0002.pcap",
        "torn",
    ):
        assert words in lines
    assert "2 transactions" not in heading(report(run))
    assert list(facts(report(run))) == []


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (None, "no run.json"),
        (b"{", "not JSON"),
        (b'{"schema": "vmtrace.run/1"}', "not a run of vmtrace storage"),
        (b'{"schema": "vmtrace.storage_run/1", "provider": 7}', "provider is not text"),
    ],
)
def test_a_folder_that_is_no_storage_run_is_one_line(tmp_path: Path, record: bytes | None, words: str) -> None:
    if record is not None:
        (tmp_path / "run.json").write_bytes(record)
    with pytest.raises(RunFolderError, match=words) as error:
        read_storage_run(tmp_path)
    assert "\n" not in str(error.value)


def test_a_capture_outside_of_the_folder_is_not_read(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    outside = (run.folder / "packets/0001.pcap").rename(tmp_path / "outside.pcap")
    (run.folder / "packets/0001.pcap").symlink_to(outside)
    first, second = measured(run).transactions
    assert (first.captured, second.captured) == (False, True)


def test_runs_of_one_name_are_told_apart(tmp_path: Path) -> None:
    runs = [
        read_storage_run(made(tmp_path / str(n), name="same", provider=p).folder) for n, p in enumerate(("s3", "swift"))
    ]
    assert [run.name for run in named_apart(runs)] == ["same (s3)", "same (swift)"]
    alike = [read_storage_run(made(tmp_path / f"again{n}", name="same").folder) for n in range(2)]
    assert len({run.name for run in named_apart(alike)}) == 2
    long = [measure_run(read_storage_run(made(tmp_path / f"long{n}", name="x" * 40).folder)) for n in range(2)]
    assert [one.label for one in reports_of(long)] == ["#1", "#2"]


def test_the_answer_is_printed_and_the_page_lies_beside_the_run(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    done = vmtrace(run.folder)
    assert (done.returncode, done.stderr) == (0, "")
    for words in ("Throughput", "Overhead", "Connection management", "Where an object's time goes", "report.html"):
        assert words in done.stdout
    assert (run.folder / "report.html").stat().st_mode & 0o777 == 0o600


def test_json_is_alone_on_standard_output_and_a_bad_run_does_not_stop_the_others(tmp_path: Path) -> None:
    run = made(tmp_path / "run")
    done = vmtrace(run.folder, tmp_path / "none", "--json", "-")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert [one["name"] for one in json.loads(done.stdout)["runs"]] == ["run"]
    empty = MadeRun(tmp_path / "empty", status="failed", error="no such bucket")
    done = vmtrace(empty.folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no finished transaction (the run is failed: no such bucket)" in done.stderr


def test_a_console_shows_retries_only_where_there_are_any(tmp_path: Path) -> None:
    from rich.console import Console

    run = made(tmp_path / "run")
    console = Console(record=True, width=160, file=io.StringIO())
    show(parts([report(run)]), console)
    assert "Retries and errors" not in console.export_text()
    run.transaction(3, [said(0, 30, 32, 1002, opened=True, retries=1, retry_causes={"503": 1})])
    show(parts([report(run)]), console)
    assert "503: 1" in console.export_text()
