"""The scenarios of `vmtrace cost` as stacked bars by category: for print (PNG, SVG), with their data (CSV)."""

from pathlib import Path
from typing import TYPE_CHECKING

from analyze.atomic import make_folder, writing
from providers.costs.quantities import CATEGORIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from providers.costs.estimate import Estimate
    from providers.costs.quantities import Charges

NAME = "costs-by-scenario"
_DPI = 300
_COLOURS = ("#4477aa", "#ee6677", "#ccbb44", "#aa3377", "#228833")  # Tol's bright scheme: told apart by all eyes


def write_figure(estimate: "Estimate", folder: Path) -> None:
    """Write the figure and its data; raises `OSError`."""
    make_folder(folder)
    figure = draw(estimate)
    for kind in ("png", "svg"):
        with writing(folder / f"{NAME}.{kind}") as out:
            figure.savefig(out, format=kind, dpi=_DPI, bbox_inches="tight")
    with writing(folder / f"{NAME}.csv") as out:
        out.write(_csv(estimate))


def draw(estimate: "Estimate") -> "Figure":
    """A bar for each scenario that has a total; the others are named without one."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    charged = list(estimate.charged)
    figure = Figure(figsize=(7, 0.9 + 0.5 * len(charged)))
    axes = figure.subplots()
    for place, charges in enumerate(charged):
        below = 0.0
        for category, colour in zip(CATEGORIES, _COLOURS, strict=True):
            # What is known of a scenario without a total is no bar: it would look cheap.
            amount = 0.0 if charges.year_total is None else charges.year[category] or 0.0
            axes.barh(place, amount, left=below, color=colour, label=category if place == 0 else None)
            below += amount
        axes.text(below, place, f" {_said(charges)}", va="center", fontsize=8)
    axes.set_yticks(range(len(charged)), [one.scenario.name.replace("$", r"\$") for one in charged])
    axes.invert_yaxis()
    longest = max((one.year_total or 0.0 for one in charged), default=0.0)
    axes.set_xlim(0, longest * 1.2 or 1.0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel(f"{estimate.context.table.currency} a year".replace("$", r"\$"))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}" if value >= 10 else f"{value:g}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower left", ncols=len(CATEGORIES), frameon=False, fontsize=8, bbox_to_anchor=(0, 1))
    return figure


def _said(charges: "Charges") -> str:
    if charges.year_total is None:
        return "no total: prices or numbers are missing"
    return f"{charges.year_total:,.0f}" if charges.year_total >= 10 else f"{charges.year_total:.2f}"


def _csv(estimate: "Estimate") -> bytes:
    import csv
    import io

    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["scenario", "category", "currency", "month", "year"])
    for charges in estimate.charged:
        for category, year in charges.year.items():
            currency = estimate.context.table.currency
            out.writerow([charges.scenario.name, category, currency, charges.month[category], year])
    return text.getvalue().encode("utf-8", "replace")
