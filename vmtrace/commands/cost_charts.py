"""The figures of `vmtrace cost`: a year of each scenario by category, and how the months add up."""

from typing import TYPE_CHECKING

import numpy as np

from vmtrace.analyze.charts.chart import Axis, Chart, Panel, Series
from vmtrace.analyze.words.palette import CHARGES, RUNS
from vmtrace.providers.costs.charges import monthly_totals
from vmtrace.providers.costs.quantities import CATEGORIES, MONTHS

if TYPE_CHECKING:
    from vmtrace.providers.costs.estimate import Estimate
    from vmtrace.providers.costs.quantities import Charges

_WHOLE_FROM = 10.0
"""Of the largest amount: from here on cents are not drawn."""


def charts(estimate: "Estimate") -> list[Chart]:
    """Those that have anything to show."""
    known = [one for one in estimate.charged if one.year_total is not None]
    return [_by_scenario(estimate), _over_months(estimate, known)] if known else []


def _by_scenario(estimate: "Estimate") -> Chart:
    """What is known of a scenario without a total is no bar: it would look cheap."""
    upwards = estimate.charged[::-1]  # the first one is at the top
    series = []
    for category in CATEGORIES:
        ends, places = [], []
        for place, charges in enumerate(upwards):
            amount = charges.year[category]
            if charges.year_total is not None and amount:
                before = _before(charges, category)
                ends += [before, before + amount]
                places += [place, place]
        if ends:
            colour = CHARGES[category].colour
            series.append(Series(category, np.array(ends), np.array(places, np.float64), colour, "spans"))
    names = tuple(_named(one) for one in upwards)
    return Chart(
        "costs-by-scenario",
        "A year of each scenario",
        "What the store charges for twelve months from now, by category.",
        _money(estimate, "a year"),
        (Panel("scenario", Axis("scenario", "", names=names), tuple(series)),),
    )


def _before(charges: "Charges", category: str) -> float:
    return sum(charges.year[one] or 0.0 for one in CATEGORIES[: CATEGORIES.index(category)])


def _named(charges: "Charges") -> str:
    return charges.scenario.name + (" (no total)" if charges.year_total is None else "")


def _over_months(estimate: "Estimate", known: "list[Charges]") -> Chart:
    months = np.arange(MONTHS + 1, dtype=np.float64)
    series = tuple(
        Series(
            charges.scenario.name,
            months,
            np.concatenate(([0.0], np.cumsum(monthly_totals(charges) or []))),
            RUNS[place % len(RUNS)],
            "line",
        )
        for place, charges in enumerate(known)
    )
    return Chart(
        "costs-over-months",
        "How the months add up",
        "All charges from now until the end of each month; what is stored grows as the workload says.",
        Axis("months from now", "", whole=True),
        (Panel("", _money(estimate, "from now"), series),),
    )


def _money(estimate: "Estimate", over: str) -> Axis:
    largest = max((one.year_total or 0.0 for one in estimate.charged), default=0.0)
    return Axis(f"{estimate.context.table.currency} {over}", "", whole=largest >= _WHOLE_FROM)
