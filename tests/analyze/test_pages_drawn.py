"""A chart whose points are all at 0 is named, not drawn."""

from typing import Any

import numpy as np
import pytest

from tests.analyze.pages import words
from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, reference
from vmtrace.analyze.pages.blocks import Figures, Fold, Page, Section, Text, charts_of
from vmtrace.analyze.pages.drawn import drawn, is_flat


def panel(*values: float, title: str = "loss", y: Axis | None = None, **about: Any) -> Panel:
    points = np.array(values, np.float64)
    return Panel(
        title,
        y or Axis(title, "%"),
        (Series("one", np.arange(len(points), dtype=np.float64), points, "#000", **about),),
    )


def chart(*panels: Panel) -> Chart:
    return Chart("-".join(one.title for one in panels), "Loss over time", "", Axis("time", "s"), panels)


@pytest.mark.parametrize(
    ("made", "flat"),
    [
        (panel(0, 0, 0), True),
        (panel(0, float("nan"), 0), True),
        (panel(0, 0.1), False),
        (panel(), False),
        (panel(0, 0, y=Axis("host", "", names=("vm",))), False),
    ],
)
def test_points_at_0_are_flat_and_names_or_nothing_are_not(made: Panel, flat: bool) -> None:
    assert is_flat(made) == flat


def test_a_distribution_is_flat_if_all_values_are_0() -> None:
    def spread(*values: float) -> Panel:
        shares = np.linspace(0, 100, len(values))
        series = Series("one", np.array(values, np.float64), shares, "#000", "steps")
        return Panel("share", Axis("share of transfers", "%"), (series,))

    assert is_flat(spread(0, 0, 0))
    assert not is_flat(spread(0, 0, 1))


def test_a_line_to_compare_with_is_no_data() -> None:
    made = panel(0, 0)
    assert is_flat(Panel(made.title, made.y, (*made.series, reference("limit", (0, 1), (5, 5)))))


def test_what_is_left_out_is_named_where_it_would_be() -> None:
    flat, there = chart(panel(0, 0)), chart(panel(0, 0, title="lost"), panel(1, 2, title="rate"))
    section = Section("more", "More", (Fold("inside", (Figures((flat,)),)), Figures((there,))))
    page = drawn(Page("x", (Text("answer", "sentence"), Figures((flat,))), (section,), {}))
    (left,) = charts_of(page)
    assert [one.title for one in left.panels] == ["rate"]
    assert "Always 0, not drawn: Loss over time." in words(page.answer)
    assert "Always 0, not drawn: Loss over time." in words(page.sections[0].blocks)
    assert "Loss over time: lost" in words(page.sections[0].blocks)
