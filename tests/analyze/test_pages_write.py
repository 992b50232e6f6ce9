"""A page of blocks as HTML: every text of it stays text, and its figures are those that its data holds."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.analyze.pages import data_of
from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series
from vmtrace.analyze.pages.blocks import (
    Drawing,
    Figures,
    Fold,
    Group,
    Lines,
    Page,
    Section,
    Share,
    Shares,
    Text,
    charts_of,
)
from vmtrace.analyze.pages.write import in_script, write_report_page
from vmtrace.analyze.tables.table import Cell, Column, Row, Table

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>{{ 7*7 }}"


def chart_named(name: str) -> Chart:
    series = Series(HOSTILE, np.array([1.0, 2.0]), np.array([3.0, np.nan]), "#0072B2", labels=(HOSTILE, ""))
    return Chart(name, HOSTILE, HOSTILE, Axis(HOSTILE, "s"), (Panel(HOSTILE, Axis("y", "B"), (series,)),))


def every_block() -> Page:
    columns: tuple[Column[str], ...] = (Column(HOSTILE), Column("b", left=True, wraps=True))
    folded = (Group(HOSTILE, (Figures((chart_named("inside"),)),)),)
    rows = (Row((Cell(HOSTILE, 1.5, colour="#0072B2"), HOSTILE), id="row-1"),)
    return Page(
        title=HOSTILE,
        facts=(HOSTILE,),
        answer=(Text(HOSTILE, "sentence"), Figures((chart_named("lead"),), height=100)),
        sections=(
            Section("one", HOSTILE, (Lines((HOSTILE,), title=HOSTILE, troubles=(HOSTILE,)),), hint=HOSTILE, wide=True),
            Section("two", "tables", (Table(columns, rows, sortable=True),)),
            Section("three", "bars", (Shares(HOSTILE, (Share(HOSTILE, 0.5, HOSTILE, "#0072B2", "dots"),)),)),
            Section("four", "folds", (Fold(HOSTILE, folded, id="fold"),)),
        ),
        provenance={"path": HOSTILE},
    )  # fmt: skip


@pytest.fixture
def page(tmp_path: Path) -> str:
    write_report_page(every_block(), tmp_path / "r.html")
    return (tmp_path / "r.html").read_text()


def test_no_text_of_any_block_becomes_markup_or_a_template(page: str) -> None:
    own = page[: page.index('<script type="application/json"')]
    assert "<script" not in own
    assert "<img" not in own
    assert "49" not in re.sub(r"<style>.*?</style>", "", own, flags=re.DOTALL)
    assert own.count("&lt;img src=x") >= 15
    assert page.count("<script") == 2, "its data and its own"


def test_figures_are_found_wherever_they_stand_and_keep_their_places(page: str) -> None:
    assert [chart.name for chart in charts_of(every_block())] == ["lead", "inside"]
    assert [chart["name"] for chart in data_of(page)["charts"]] == ["lead", "inside"]
    assert re.findall(r'<figure id="chart-(\w+)" class="chart" data-chart="(\d)"', page) == [
        ("lead", "0"),
        ("inside", "1"),
    ]


def test_a_cell_is_sorted_by_its_number_and_an_absent_one_comes_last(tmp_path: Path) -> None:
    columns: tuple[Column[str], ...] = (Column("rate"), Column("name", left=True))
    rows = (Row((Cell("1 k", 1000.0), Cell("a"))), Row((Cell("-"), Cell("b"))))
    made = Page("t", (Table(columns, rows, sortable=True),), (), {})
    write_report_page(made, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert '<td data-key="1000.0">1 k</td>' in page
    assert '<td data-key="">-</td>' in page
    assert page.count("data-key=") == 2, "texts are sorted as texts"


def test_a_name_without_an_encoding_is_replaced_and_data_ends_no_script(tmp_path: Path) -> None:
    write_report_page(Page("lone \udcff", (Text("a"),), (), {}), tmp_path / "r.html")
    assert "lone ?" in (tmp_path / "r.html").read_text()
    assert in_script({"a": "</script>&"}) == '{"a":"\\u003c/script\\u003e\\u0026"}'


def test_only_a_drawing_is_put_in_as_it_is(tmp_path: Path) -> None:
    write_report_page(Page("t", (Drawing("<svg><title>map</title></svg>", HOSTILE),), (), {}), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert '<figure class="drawing"><svg><title>map</title></svg><figcaption>&lt;/script&gt;' in page
