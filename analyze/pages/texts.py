"""Numbers with their intervals, and names of rows, as the texts of tables."""

from vmtrace.analyze.stats.estimates import Estimate
from vmtrace.analyze.words.units import ABSENT, printable


def index_name(index: str | None) -> str:
    """Of a row; None is the row over all."""
    return "all" if index is None else printable(index)


def estimate_text(estimate: Estimate, factor: float = 1.0) -> str:
    """The number, and the interval in brackets if there is one."""
    if estimate.low is None or estimate.high is None:
        return number_text(estimate.value, factor)
    value, low, high = (number_text(one, factor) for one in (estimate.value, estimate.low, estimate.high))
    return f"{value} [{low}, {high}]"


def number_text(value: float | None, factor: float = 1.0) -> str:
    """Three digits, or a whole number from 1000 on."""
    if value is None:
        return ABSENT
    return f"{value * factor:.3g}" if abs(value * factor) < 1000 else f"{value * factor:,.0f}"
