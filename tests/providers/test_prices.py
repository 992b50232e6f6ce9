"""Charges: by a table that is named, strictly read; unknown without one."""

from pathlib import Path

import pytest

from vmtrace.providers.errors import UsageError
from vmtrace.providers.prices import Usage, load_prices, shown_charge, table_of_toml

ROW = """
provider = "s3"
storage_per_gb_month = 0.03
minimum_storage_days = 0
upload_per_gb = 0
download_per_gb = 0.1
write_per_1000 = 0.005
read_per_1000 = 0.0004
delete_per_1000 = 0
retrieval_per_gb = 0
"""
HEAD = 'name = "mine"\nsource = "an invoice"\ncurrency = "EUR"\n'


def test_a_charge_is_the_sum_of_storage_transfer_and_requests() -> None:
    prices = table_of_toml(f"{HEAD}[[price]]{ROW}".encode()).prices("s3", None)
    assert prices is not None
    month_s = 30 * 86_400
    usage = Usage(10**9, 2 * 10**9, write_requests=1000, read_requests=10_000, stored_byte_s=10**9 * month_s)
    assert prices.charge(usage) == pytest.approx(0.03 + 0.2 + 0.005 + 0.004)


def test_charges_have_the_categories_of_invoices_and_sum_to_the_charge() -> None:
    """By hand, by the study's prices: 1 GB to Glacier and back in a thousand objects, gone within the hour."""
    prices = load_prices("bocchi2014").prices("glacier", None)
    assert prices is not None
    usage = Usage(10**9, 10**9, 2000, 4000, 1000, 10**9 * 3600)
    assert prices.charges(usage) == pytest.approx(
        {"storage": 0.01 * 3, "requests": 6 * 0.05, "transfer": 0.12, "retrieval": 1.80}
    )
    assert prices.charge(usage) == pytest.approx(0.03 + 0.3 + 0.12 + 1.8)


def test_objects_removed_early_are_charged_for_the_least_time_of_their_class() -> None:
    prices = load_prices("bocchi2014").prices("glacier", "eu-west-1")
    assert prices is not None
    assert prices.charge(Usage(uploaded_bytes=10**9)) == pytest.approx(0.01 * 3)
    # and their retrieval by the peak rate: 1 GB in four hours is 0.25 GB/h, charged for a month
    assert prices.charge(Usage(downloaded_bytes=10**9)) == pytest.approx(0.12 + 0.25 * 0.01 * 24 * 30)


@pytest.mark.parametrize(
    ("amount", "told"), [(0.0, "0.0000"), (12.5, "12.5000"), (0.00786, "0.0079"), (0.0000036, "0.0000036")]
)
def test_a_small_charge_is_not_told_as_nothing(amount: float, told: str) -> None:
    assert shown_charge(amount) == told


def test_a_region_has_its_own_prices_where_the_table_has_them() -> None:
    table = table_of_toml(f'{HEAD}[[price]]{ROW}[[price]]{ROW.replace("0.1", "0.2")}region = "far"\n'.encode())
    assert [getattr(table.prices("s3", region), "download_per_gb", None) for region in ("far", "near", None)] == [
        0.2,
        0.1,
        0.1,
    ]
    assert table.prices("swift", None) is None


def test_the_table_that_comes_along_names_the_study_and_has_its_four_services() -> None:
    table = load_prices("bocchi2014")
    assert "CloudNet 2014" in table.source
    assert {provider for provider, _ in table.entries} == {"s3", "glacier", "azure-blob", "swift"}
    assert table.as_record()["currency"] == "USD"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "name: expected text"),
        (HEAD, "no [[price]]"),
        (f"{HEAD}vat = 19\n[[price]]{ROW}", "the table: 'vat' is unknown"),
        (f"{HEAD}[[price]]{ROW}tax = 1", "price 1: 'tax' is unknown"),
        (f"{HEAD}[[price]]{ROW.replace('0.1', '-1')}", "download_per_gb: expected a number of 0 or more"),
        (f"{HEAD}[[price]]{ROW.replace('0.1', 'inf')}", "download_per_gb: expected a number of 0 or more"),
        (f"{HEAD}[[price]]\nprovider = 's3'", "storage_per_gb_month: expected a number"),
        (f"{HEAD}[[price]]\nregion = 's3'", "provider must be a text"),
        (f"{HEAD}[[price]]{ROW}[[price]]{ROW}", "price 2: there is one for s3 everywhere already"),
        (f"price = [1]\n{HEAD}", "price 1: expected a table"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_with_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        table_of_toml(text.encode())
    assert message in str(refused.value)


def test_a_table_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none.toml: No such file.*bocchi2014"):
        load_prices(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        load_prices(str(tmp_path / "bad.toml"))
