"""What a service charged, out of a TOML file that a person copies from its invoice (docs/report.md).

currency = "USD"

[[invoice]]
run = "run1"        # may be left out where there is one run
storage = 0.01      # categories of `charges`; what is left out is not compared
total = 2.25        # the sum, where the invoice has more than the categories
"""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vmtrace.analyze.reports.storage.charges import CATEGORIES, TOTAL, Amounts

_MOST_BYTES = 1 << 20


class InvoiceError(Exception):
    """A file is no invoice of these runs: what is wrong with it, in one line."""


class Charged(Protocol):
    """A run, or a scenario of a workload: what an invoice can be beside."""

    @property
    def name(self) -> str:
        """As the invoice names it."""

    @property
    def cost(self) -> float | None:
        """None: it has no charges."""

    @property
    def currency(self) -> str | None:
        """Of its charges."""


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of invoice is written."""

    key: str = "run"
    """What names the run of an entry."""
    categories: tuple[str, ...] = CATEGORIES
    default: str | None = None
    """The run of an entry that names none; None: the only one there is."""


_OF_RUNS = Form()


def read_invoice(path: Path, runs: Sequence[Charged], form: Form = _OF_RUNS) -> dict[str, Amounts]:
    """What each run was charged, by its name; raises `OSError` and `InvoiceError`."""
    with path.open("rb") as file:
        content = file.read(_MOST_BYTES + 1)
    try:
        if len(content) > _MOST_BYTES:
            raise ValueError("too large for an invoice")
        return _invoiced(tomllib.loads(content.decode("utf-8")), runs, form)
    except UnicodeDecodeError:
        raise InvoiceError(f"{path}: it is not text") from None
    except (ValueError, RecursionError) as error:
        raise InvoiceError(f"{path}: {' '.join(str(error).split())}") from None


def _invoiced(document: Mapping[str, Any], runs: Sequence[Charged], form: Form) -> dict[str, Amounts]:
    _refuse_unknown(document, ("currency", "invoice"), "the invoice")
    currency, entries = document.get("currency"), document.get("invoice")
    if not isinstance(currency, str) or not currency:
        raise ValueError("currency: expected text")
    if not isinstance(entries, list) or not entries or not all(isinstance(one, dict) for one in entries):
        raise ValueError("no [[invoice]]: expected at least one")
    by_name = {run.name: run for run in runs}
    found: dict[str, Amounts] = {}
    for number, entry in enumerate(entries, 1):
        where = f"invoice {number}"
        _refuse_unknown(entry, (form.key, *form.categories, TOTAL), where)
        name = entry.get(form.key, runs[0].name if len(runs) == 1 else form.default)
        run = by_name.get(name) if isinstance(name, str) else None
        if run is None:
            raise ValueError(f"{where}: {form.key}: expected one of {', '.join(by_name)}")
        if run.name in found:
            raise ValueError(f"{where}: there is one for {run.name} already")
        if run.cost is None:
            raise ValueError(f"{where}: {run.name} has no charges to compare: it was made without --prices")
        if run.currency is not None and run.currency != currency:
            raise ValueError(f"{where}: the charges of {run.name} are in {run.currency}, not in {currency}")
        found[run.name] = {what: _amount(entry[what], f"{where}: {what}") for what in entry if what != form.key}
    return found


def _amount(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{where}: expected an amount")
    return float(value)


def _refuse_unknown(record: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in record:
        if name not in known:
            raise ValueError(f"{where}: {name!r} is unknown: known are {', '.join(known)}")
