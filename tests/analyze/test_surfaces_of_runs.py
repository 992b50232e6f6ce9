"""A run's report says of a transfer what the analysis of its capture says, in terminal, page, JSON and CSV alike."""

import csv
import html
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.cut import cut
from vmtrace.analyze.charts.chart import Chart
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import read_run
from vmtrace.analyze.reports.run import human, provenance
from vmtrace.analyze.reports.run.document import csv_tables, document
from vmtrace.analyze.reports.run.page.page import page_of
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.trace import read
from vmtrace.analyze.words.document import as_bytes

SAMPLES = Path(__file__).parents[2] / "samples"
# Uploads of one connection, captured beside the sender.
NAMES = ("lossy-sender.pcap", "window-limited.pcap", "zero-window.pcap", "application-limited.pcap", "rotated-1.pcap",
         "offload-sender.pcap")  # fmt: skip
FIGURES = {"rtt_min_s": "min_s", "rtt_median_s": "median_s", "rtt_p95_s": "p95_s", "rtt_max_s": "max_s"}


@pytest.fixture(params=cut(NAMES, 2))
def captured(request: pytest.FixtureRequest, new_run: Any) -> tuple[dict[str, Any], RunResults]:
    """The connection as its capture's analysis has it, and the run whose data transfer it is."""
    sample = SAMPLES / request.param
    content = read(sample).json()
    (one,) = content["connections"]
    run = new_run()
    line = run.pair(1)
    line["data"] |= {
        "start_ns": one["start_ns"], "end_ns": one["start_ns"] + round(one["duration_s"] * 1e9),
        "bytes": one["client_to_server"]["unique_payload_bytes"], "capture": {"sender_dropped": 0},
        "connections": [{"stream": 0, "direction": "upload", "local": one["client"], "peer": one["server"]}],
    }  # fmt: skip
    packets = run.folder / "packets/sender"
    packets.mkdir(parents=True)
    shutil.copy(sample, packets / "0001-data.pcap")
    run.add(line)
    found = read_run(run.folder)
    return one, RunResults(found, tuple(Measuring(found).run()), found.problems)


def written(results: RunResults) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(as_bytes(document([results], [results.choose(None)])))
    return content["runs"][0] if "runs" in content else content


def test_figures_of_a_transfer_are_those_of_its_capture(
    captured: tuple[dict[str, Any], RunResults], tmp_path: Path
) -> None:
    one, results = captured
    way = one["client_to_server"]
    (row,) = (row for row in written(results)["transfers"] if row["role"] == "data")
    write_tables(csv_tables([results]), provenance.of_runs([results]), tmp_path)
    with (tmp_path / "transfers.csv").open() as file:
        (cells,) = (cells for cells in csv.DictReader(file) if cells["role"] == "data")
    wanted = {name: way["rtt"][key] for name, key in FIGURES.items()} | {
        "capture_goodput_bps": way["goodput_bps"],
        "retransmitted_segments": way["loss"]["retransmitted_segments"],
        "data_segments": way["data_segments"],
        "flight_max_bytes": way["flight"]["max_bytes"],
    }
    for name, value in wanted.items():
        assert row[name] == pytest.approx(value), name
        assert float(cells[name]) == pytest.approx(value), name
    assert row["verdict_factor"] == one["verdict"]["factor"]


def test_findings_are_the_same_words_in_page_terminal_and_document(
    captured: tuple[dict[str, Any], RunResults], tmp_path: Path
) -> None:
    _, results = captured
    found = written(results)["findings"]
    assert found
    console = Console(file=io.StringIO(), width=400, record=True)
    human.show(results, console)
    text = " ".join(console.export_text().split())
    none: list[Chart] = []
    write_report_page(page_of([results], none, provenance.of_runs([results])), tmp_path / "page.html")
    page = html.unescape((tmp_path / "page.html").read_text())
    for one in found[:3]:
        assert one["sentence"] in text
        assert one["sentence"] in page
