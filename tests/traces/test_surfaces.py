"""Terminal, page, JSON and CSV of the same capture say the same: findings, rates, and one name for each cause."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.pages import data_of
from tests.analyze.reports import report_of
from vmtrace.analyze.findings.finding import Finding
from vmtrace.analyze.findings.lines import MOST_LINES, finding_line
from vmtrace.analyze.findings.vocabulary import KINDS
from vmtrace.analyze.tables import provenance
from vmtrace.analyze.tables.human_table import COLUMNS, main_direction, summary_text
from vmtrace.analyze.tables.table import Cell
from vmtrace.analyze.tables.write import write_csv
from vmtrace.analyze.trace import Trace, read
from vmtrace.analyze.words.factors import COLUMN_LABELS, FACTORS
from vmtrace.analyze.words.human_causes import factor_name
from vmtrace.analyze.words.outcomes import SHORT_NAMES
from vmtrace.analyze.words.units import ABSENT, si

TOP = Path(__file__).parents[2]
ROOTS = (TOP / "samples", TOP.parent / "shared" / "traces")
SIZE_LIMIT = 2_000_000
"""Bytes of a capture; larger ones take longer and show nothing else."""

Record = dict[str, Any]


def _captures() -> list[Path]:
    files = (path for root in ROOTS if root.is_dir() for path in sorted(root.iterdir()))
    named = (path for path in files if {".pcap", ".pcapng", ".dmp"} & set(path.suffixes))
    return [path for path in named if path.stat().st_size <= SIZE_LIMIT]


@dataclass(frozen=True)
class Surfaces:
    """What each surface says of a capture."""

    trace: Trace
    document: Record
    text: str
    page: str
    csv: Mapping[str, list[dict[str, str]]]


@pytest.fixture(scope="module", params=_captures(), ids=lambda path: path.name)
def said(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Surfaces:
    folder = tmp_path_factory.mktemp("surfaces")
    trace = read(request.param)
    write_csv(trace, folder, (), provenance.of(trace, anonymous=False))
    tables = {path.stem: list(csv.DictReader(io.StringIO(path.read_text()))) for path in folder.glob("*.csv")}
    text = summary_text(trace, limit=10_000, width=4_000)
    return Surfaces(trace, trace.json(), text, unescape(report_of(trace, folder / "r.html", [])), tables)


def _finding(record: Record) -> Finding:
    known = {one.name for one in fields(Finding)}
    waited_s = (record["cost_s"] or 0.0) / record["share"] if record["share"] else 0.0
    return Finding(**{key: value for key, value in record.items() if key in known}, waited_s=waited_s)


def test_findings_are_the_same_lines_everywhere(said: Surfaces) -> None:
    lines = [finding_line(_finding(one)) for one in said.document["findings"]]
    for number, line in enumerate(lines[:MOST_LINES], 1):
        assert f"{number}. {line}" in said.text.splitlines()
        assert f"{number}. {line}" in said.page
    for row, one in zip(said.csv["findings"], said.document["findings"], strict=True):
        assert [row[key] for key in ("kind", "owner", "sentence")] == [
            one[key] for key in ("kind", "owner", "sentence")
        ]
        assert row["cost_s"] == "" if one["cost_s"] is None else float(row["cost_s"]) == pytest.approx(one["cost_s"])


def test_a_transfer_has_one_rate(said: Surfaces) -> None:
    """Goodput of the direction that the row is about."""
    (column,) = [one for one in COLUMNS if one.title == "goodput"]
    rows = {row["id"]: row for row in data_of(said.page)["rows"]}
    columns = [one["title"] for one in data_of(said.page)["fields"]]
    for number, (one, flat) in enumerate(zip(said.document["connections"], said.csv["connections"], strict=True)):
        row = said.trace.row(number)
        direction = main_direction(row)
        goodput_bps = one[direction]["goodput_bps"]
        reported = si(goodput_bps, "bit/s")
        shown = column.shows(row)
        assert isinstance(shown, Cell)
        assert (shown.text, shown.key) == (reported, row[f"{direction}_goodput_bps"])
        cell = flat[f"{direction}_goodput_bps"]
        assert cell == "" if goodput_bps is None else float(cell) == pytest.approx(goodput_bps, rel=1e-6)
        if "goodput" in columns:
            assert rows[one["id"]]["cells"][columns.index("goodput")] == reported
        elif one["id"] in rows:
            assert reported == ABSENT


def test_a_cause_has_one_name_on_the_terminal_and_on_the_page(said: Surfaces) -> None:
    names = {kind.short for kind in KINDS.values()} | set(SHORT_NAMES.values()) | {ABSENT, "loss", "slow start"}
    columns = [one["title"] for one in data_of(said.page)["fields"]]
    if "why" not in columns:
        return
    for row in data_of(said.page)["rows"]:
        assert row["cells"][columns.index("why")].removesuffix("?") in names


def test_a_factor_has_the_name_of_the_vocabulary() -> None:
    for factor in FACTORS:
        assert KINDS[factor].label == factor_name(factor)
        assert KINDS[factor].short == (COLUMN_LABELS.get(factor) or factor_name(factor))
