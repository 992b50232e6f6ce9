"""What a run is charged by its table of prices, by category, beside what the invoice says (the study's Fig. 7).

The run counted what is charged for and put prices on it when it ran (`used` in `run.json`); here it is only compared.
Without prices there are no charges, and what an invoice leaves out is not compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from vmtrace.analyze.reports.storage.records import StorageRun
from vmtrace.analyze.tables.schema.typed import Positive, one_of

CATEGORIES = ("storage", "requests", "transfer", "retrieval")
TOTAL = "total"

Amounts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class ChargeRow:
    """One category, or all of them."""

    category: Annotated[str, one_of("storage", "requests", "transfer", "retrieval", "total")]
    currency: str
    predicted: Positive | None
    """None in a run that did not write its categories down; its total is known."""
    invoiced: float | None
    difference: float | None
    """Invoiced less predicted."""
    difference_share: float | None
    """Of the predicted."""


def charge_rows(run: StorageRun, invoiced: Amounts | None = None) -> list[ChargeRow]:
    """The categories and their total; nothing of a run without prices."""
    if run.cost is None:
        return []
    predicted = {**(run.charges or {}), TOTAL: run.cost}
    shown = dict(invoiced or {})
    if TOTAL not in shown and all(name in shown for name in CATEGORIES):
        shown[TOTAL] = sum(shown[name] for name in CATEGORIES)
    return [_row(name, run.currency or "", predicted.get(name), shown.get(name)) for name in (*CATEGORIES, TOTAL)]


def _row(category: str, currency: str, predicted: float | None, invoiced: float | None) -> ChargeRow:
    difference = None if predicted is None or invoiced is None else invoiced - predicted
    share = difference / predicted if difference is not None and predicted else None
    return ChargeRow(category, currency, predicted, invoiced, difference, share)
