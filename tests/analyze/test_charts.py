"""Figures as data, on a page and on paper."""

from pathlib import Path

import numpy as np

from vmtrace.analyze.charts import on_page
from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series, reference, span
from vmtrace.analyze.charts.on_paper import draw, write_charts


def floats(*values: float) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    return np.array(values, np.float64)


def test_panels_over_the_same_time_have_the_same_limits_in_print() -> None:
    x, y = Axis("time", "s"), Axis("bytes", "B")
    long = Series("a", np.array([0.0, 100.0]), np.array([1.0, 2.0]), "#000000")
    short = Series("b", np.array([0.0, 10.0]), np.array([1.0, 2.0]), "#000000")
    panels = (Panel("above", y, (short,)), Panel("below", y, (long,)))
    above, below = draw(Chart("n", "t", "c", x, panels, shared_x=True)).axes
    assert above.get_xlim() == below.get_xlim()
    assert above.get_xlim()[1] > 100
    above, below = draw(Chart("n", "t", "c", x, panels)).axes
    assert above.get_xlim()[1] < 20 < below.get_xlim()[1]


def test_what_an_axis_cannot_show_is_left_out_of_the_drawing_and_null_in_the_data(tmp_path: Path) -> None:
    series = Series("a", floats(1, 2, 3, 4), floats(0, np.nan, np.inf, 5), "#000000")
    linear, log = Axis("x", "s"), Axis("y", "s", log=True)
    assert series.drawable(linear, log).y.tolist() == [5]
    assert series.drawable(linear, linear).y.tolist() == [0, 5]
    chart = Chart("c", "t", "", linear, (Panel("p", log, (Series("a", floats(1, 2), floats(np.nan, 3), "#000000"),)),))
    write_charts([chart], tmp_path)
    assert (tmp_path / "c.csv").read_text().splitlines()[1:] == ['"p","a",1,"s",,"s"', '"p","a",2,"s",3,"s"']


def test_long_series_are_thinned_for_drawing_and_scattered_points_stay() -> None:
    time = np.arange(50_000, dtype=np.float64)
    spike = np.zeros(50_000)
    spike[31_234] = 1.0
    thin = Series("a", time, spike, "#000000").thinned(2000)
    assert len(thin.x) < 2100
    assert thin.y.max() == 1.0
    scattered = np.random.default_rng(1).random(50_000)
    assert len(Series("a", scattered, spike, "#000000").thinned(2000).x) == 50_000


def test_an_empty_panel_says_why_and_a_name_cannot_start_a_formula() -> None:
    panel = Panel("$x_{", Axis("y", "B"), (Series("a$b", floats(), floats(), "#000000"),), "nothing was $een")
    figure = draw(Chart("c", "cost: $5\x1b[31m", "", Axis("x", "h"), (panel,)))
    figure.canvas.draw()
    assert [text.get_text() for text in figure.axes[0].texts] == [r"nothing was \$een"]
    page = on_page.of_chart(Chart("c", "t\x1b", "", Axis("x", "h"), (panel,)))
    assert page["title"] == "t\N{REPLACEMENT CHARACTER}"
    assert page["panels"][0]["series"] == []


def test_the_span_of_nothing_is_none() -> None:
    assert span(floats(), floats(np.nan, -1, 0)) is None
    assert span(floats(3, 1), floats(np.inf, 2)) == (1, 3)
    assert reference("r", (0, 1), (2, 3)).reference
