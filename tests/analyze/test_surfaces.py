"""Terminal, page, JSON and CSV of one capture say the same: findings word by word, a rate once, a kind by one name."""

import csv
import html
import io
import json
import re
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from tests.conftest import traces_folder
from tests.cut import cut
from tests.lab_runs import lab_run
from vmtrace.analyze.findings.lines import MOST_LINES, finding_line
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.reports.capture.judgement import looks
from vmtrace.analyze.reports.capture.write import write_report
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.tables import write as tables
from vmtrace.analyze.tables.detail_view import show
from vmtrace.analyze.trace import Trace, TraceError, read
from vmtrace.analyze.words.factors import COLUMN_LABELS, LABELS, label_by_sentence
from vmtrace.analyze.words.human_causes import why
from vmtrace.analyze.words.palette import FACTORS
from vmtrace.analyze.words.units import si
from vmtrace.lab.namespaces import missing_requirement
from vmtrace.lab.ready_scenarios import SCENARIOS

SAMPLES = sorted(path for path in (Path(__file__).parents[2] / "samples").glob("*.pcap*"))
# Other people's captures, of those the small ones, and transfers of the lab: `make test-long`.
_SMALL_BYTES = 200_000
LAB = ("loss8-cubic-ackloss10-rtt20", "hold-cubic-rtt40", "app-stall-cubic-rtt20", "duplicate-reorder-cubic-rtt40")


def others() -> list[Path]:
    folder = traces_folder()
    found = sorted(folder.iterdir()) if folder else []
    return [path for path in found if path.is_file() and path.stat().st_size < _SMALL_BYTES and is_capture(path)]


def is_capture(path: Path) -> bool:
    try:
        read(path)
    except TraceError:
        return False
    return True


@pytest.fixture(
    scope="module",
    params=cut([*SAMPLES, *others(), *LAB], len(SAMPLES)),
    ids=lambda param: param if isinstance(param, str) else param.name,
)
def trace(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    if isinstance(request.param, Path):
        return read(request.param)
    if missing_requirement():
        pytest.skip(f"the lab: {missing_requirement()}")
    return read(lab_run(SCENARIOS[request.param], tmp_path_factory.mktemp("lab")).sender_pcap)


def text_of(trace: Trace) -> str:
    """The terminal's answer on one line: where a line breaks says nothing."""
    return " ".join(trace.summary(limit=1000, width=400).split())


def test_the_same_findings_stand_in_terminal_page_and_json(trace: Trace, tmp_path: Path) -> None:
    write_report(trace, [], provenance.of(trace, anonymous=False), tmp_path / "page.html")
    page, text = html.unescape((tmp_path / "page.html").read_text()), text_of(trace)
    written: list[dict[str, Any]] = trace.json()["findings"]
    assert [one.as_record() for one in trace.findings] == written
    for one in trace.findings[:MOST_LINES]:
        assert " ".join(finding_line(one).split()) in text
        assert finding_line(one) in page
    if not written:
        assert "Nothing held" in text
        assert "Nothing held" in page


def test_a_factor_that_the_engine_alone_declares_is_in_terminal_page_and_json(trace: Trace, tmp_path: Path) -> None:
    """As a new one is: no table here knows it."""
    verdicts = [one["verdict"] for one in trace.json()["connections"] if one["verdict"] and not one["outcome"]]
    # What it puts back has the order that it had.
    with patch.dict(FACTORS), patch.dict(KINDS):
        for factor in {one["factor"] for one in verdicts}:
            del FACTORS[factor], KINDS[factor]
        again = read(trace.paths[0])
        write_report(again, [], provenance.of(again, anonymous=False), tmp_path / "page.html")
        page, text = html.unescape((tmp_path / "page.html").read_text()), text_of(again)
        written, drawn = [one["kind"] for one in again.json()["findings"]], looks()
    assert {one["factor"] for one in verdicts} <= drawn.keys()
    assert written == [one.kind for one in trace.findings]
    for one in verdicts:
        label = label_by_sentence(one["factor"], one["sentence"])
        assert (label or COLUMN_LABELS[one["factor"]]) in text
        assert (label or LABELS[one["factor"]]) in page


def test_csv_has_the_numbers_of_the_json(trace: Trace, tmp_path: Path) -> None:
    tables.write_csv(trace, tmp_path, (), provenance.of(trace, anonymous=False))
    lines = [line for line in (tmp_path / "connections.csv").read_text().splitlines() if not line.startswith("#")]
    rows = {int(row["id"]): row for row in csv.DictReader(lines)}
    for one in trace.json()["connections"]:
        row, verdict = rows[one["id"]], one["verdict"] or {}
        assert row["verdict_factor"] == (verdict.get("factor") or "")
        for side in ("client_to_server", "server_to_client"):
            rate = one[side]["goodput_bps"]
            cell = row[f"{side}_goodput_bps"]
            assert (float(cell) if cell else None) == (None if rate is None else pytest.approx(rate, rel=1e-6))


def test_a_transfer_s_rate_is_one_number_wherever_it_is_shown(trace: Trace) -> None:
    from rich.console import Console

    for one in trace.json()["connections"][:20]:
        console = Console(width=200, record=True, file=io.StringIO())
        show(one, trace.header()["reasons"], console)
        shown = re.findall(r"^ *goodput +(.*)$", console.export_text(), re.MULTILINE)
        for side in ("client_to_server", "server_to_client"):
            rate = one[side]["goodput_bps"]
            if rate is not None:
                assert any(si(rate, "bit/s") in line for line in shown)


def test_a_cause_has_one_name_in_the_table_and_in_the_vocabulary(trace: Trace) -> None:
    for index in range(len(trace)):
        row = trace.row(index)
        factor = row.get("verdict_factor")
        if factor and not row.get("outcome_kind") and factor != "congestion_window":
            assert why(row).rstrip("?") == KINDS[factor].short


def test_every_kind_of_a_finding_is_in_the_vocabulary(trace: Trace) -> None:
    assert {one["kind"] for one in json.loads(json.dumps(trace.json()["findings"]))} <= KINDS.keys()
