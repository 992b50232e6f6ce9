"""Charges by category, and beside them what the invoice says."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests.analyze.storage_made import MadeRun, measured, run_of
from vmtrace.analyze.reports.storage.charges import ChargeRow, charge_rows
from vmtrace.analyze.reports.storage.invoice import InvoiceError, read_invoice
from vmtrace.analyze.reports.storage.run_folder import read_storage_run
from vmtrace.analyze.reports.storage.tables import reports_of
from vmtrace.analyze.reports.storage.texts import tables

CHARGES = {"storage": 0.01, "requests": 0.3, "transfer": 0.12, "retrieval": 0.0}
PRICED = {"currency": "USD", "cost": 0.43, "charges": CHARGES}


def rows_of(**given: object) -> dict[str, ChargeRow]:
    invoiced = given.pop("invoiced", None)
    assert invoiced is None or isinstance(invoiced, dict)
    return {row.category: row for row in charge_rows(run_of(measured(), **{**PRICED, **given}).run, invoiced)}


def test_without_prices_there_are_no_charges() -> None:
    assert rows_of(currency=None, cost=None, charges=None) == {}


def test_an_invoice_is_compared_by_category_and_what_it_leaves_out_is_not() -> None:
    rows = rows_of(invoiced={"requests": 0.45, "retrieval": 0.02})
    assert list(rows) == ["storage", "requests", "transfer", "retrieval", "total"]
    assert (rows["storage"].predicted, rows["storage"].invoiced, rows["storage"].difference) == (0.01, None, None)
    assert rows["requests"].difference == pytest.approx(0.15)
    assert rows["requests"].difference_share == pytest.approx(0.5)
    assert (rows["retrieval"].difference, rows["retrieval"].difference_share) == (0.02, None), (
        "of nothing there is none"
    )
    assert (rows["total"].predicted, rows["total"].invoiced) == (0.43, None), "a part of an invoice has no total"


def test_the_total_of_an_invoice_is_its_own_or_the_sum_of_all_categories() -> None:
    whole = {"storage": 0.02, "requests": 0.3, "transfer": 0.1, "retrieval": 0.0}
    assert rows_of(invoiced=whole)["total"].invoiced == pytest.approx(0.42)
    assert rows_of(invoiced={**whole, "total": 0.5})["total"].invoiced == 0.5


def test_of_a_run_that_wrote_down_its_cost_alone_the_total_is_reported() -> None:
    rows = rows_of(charges=None)
    assert (rows["storage"].predicted, rows["total"].predicted) == (None, 0.43)


def test_a_run_folder_has_its_charges_and_people_see_them(tmp_path: Path) -> None:
    used = {"cost": 0.43, "charges": CHARGES}
    made = MadeRun(tmp_path / "run", prices={"name": "p", "source": "s", "currency": "USD"}, used=used)
    run = read_storage_run(made.folder)
    assert (run.currency, run.cost, run.charges) == ("USD", 0.43, CHARGES)
    partly = {"cost": 0.3, "charges": {"requests": 0.3, "storage": None}}
    some = read_storage_run(MadeRun(tmp_path / "some", prices={"currency": "USD"}, used=partly).folder)
    assert some.charges == {"requests": 0.3}, "absent is not 0"
    unpriced = read_storage_run(MadeRun(tmp_path / "other", prices=None, used=used).folder)
    assert (unpriced.currency, unpriced.cost, unpriced.charges) == (None, None, None)
    report = reports_of([run_of(measured(), **PRICED)], {"run": {"total": 0.5}})
    (table,) = [one for one in tables(report) if one.name == "charges"]
    assert table.rows[-1].texts == ("run", "total", "USD", "0.43", "0.5", "0.07", "16.3 %")


def test_an_invoice_names_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "invoice.toml"
    runs = [run_of(measured(), **PRICED, name=name).run for name in ("one", "other")]
    path.write_text('currency = "USD"\n[[invoice]]\nrun = "other"\nstorage = 1\n')
    assert read_invoice(path, runs) == {"other": {"storage": 1.0}}
    path.write_text('currency = "USD"\n[[invoice]]\ntotal = 0.4\n')
    assert read_invoice(path, runs[:1]) == {"one": {"total": 0.4}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('currency = "USD"\n', "no [[invoice]]"),
        ("[[invoice]]\ntotal = 1\n", "currency: expected text"),
        ('currency = "EUR"\n[[invoice]]\nrun = "one"\n', "the charges of one are in USD, not in EUR"),
        ('currency = "USD"\n[[invoice]]\ntotal = 1\n', "invoice 1: run: expected one of one, other"),
        ('currency = "USD"\n[[invoice]]\nrun = ["one"]\n', "invoice 1: run: expected one of one, other"),
        ('currency = "USD"\n[[invoice]]\nrun = "one"\n[[invoice]]\nrun = "one"\n', "there is one for one already"),
        ('currency = "USD"\n[[invoice]]\nrun = "one"\nstorage = "1"\n', "invoice 1: storage: expected an amount"),
        ('currency = "USD"\n[[invoice]]\nrun = "one"\nstorage = nan\n', "invoice 1: storage: expected an amount"),
        (
            'currency = "USD"\n[[invoice]]\nrun = "one"\nbandwidth = 1\n',
            "'bandwidth' is unknown: known are run, storage",
        ),
        ('currency = "USD"\ninvoice = [1]\n', "no [[invoice]]"),
        ("currency", "key/value pair"),
        ("\xff", "it is not text"),
    ],
)
def test_what_is_no_invoice_of_these_runs_is_one_line(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "invoice.toml"
    path.write_bytes(text.encode("latin-1"))
    runs = [run_of(measured(), **PRICED, name=name).run for name in ("one", "other")]
    with pytest.raises(InvoiceError) as error:
        read_invoice(path, runs)
    assert told in str(error.value)
    assert str(error.value).startswith(str(path))


def test_an_invoice_of_a_run_without_prices_is_not_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "invoice.toml"
    path.write_text('currency = "USD"\n[[invoice]]\ntotal = 1\n')
    with pytest.raises(InvoiceError, match="run has no charges to compare: it was made without --prices"):
        read_invoice(path, [run_of(measured()).run])
