"""Price tables with steps, classes, regions and gaps: what is missing is unknown, and what cannot be is refused."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.providers.prices import Usage, load_prices, table_of_toml
from vmtrace.providers.rates import Price, Step, known_tables, load_rates, rates_of_toml

HEAD = 'name = "mine"\nsource = "an invoice"\ncurrency = "EUR"\n'
STEPS = "[{ up_to = 10, price = 3 }, { up_to = 50, price = 2 }, { price = 1 }]"


def row(*lines: str) -> bytes:
    return "\n".join((HEAD, "[[price]]", 'provider = "s3"', *lines)).encode()


def test_each_step_holds_for_the_units_within_it_alone() -> None:
    price = rates_of_toml(row(f"download_per_gb = {STEPS}")).rows[0].price("download_per_gb")
    assert price is not None
    assert [price.amount(units) for units in (0, 5, 10, 11, 50, 60)] == [0, 15, 30, 32, 110, 120]
    assert price.times(2).amount(60) == 240
    assert price.dearest == 3


@settings(deadline=None)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=6), st.lists(st.floats(0, 100), min_size=6, max_size=6), st.data()
)
def test_amounts_of_steps_are_the_sum_over_units(bounds: list[float], prices: list[float], data: st.DataObject) -> None:
    ends = sorted(set(bounds))
    price = Price(tuple(Step(end, one) for end, one in zip([*ends[1:], math.inf], prices, strict=False)))
    low, high = sorted((data.draw(st.floats(0, 1e6)), data.draw(st.floats(0, 1e6))))
    assert price.amount(high) >= price.amount(low)
    assert price.amount(high) <= price.dearest * high * (1 + 1e-9) + 1e-9


def test_a_gap_is_unknown_and_listings_are_charged_as_writes_where_nothing_says_otherwise() -> None:
    rates = rates_of_toml(row("write_per_1000 = 0.01")).rows[0]
    assert rates.price("download_per_gb") is None
    assert rates.minimum_storage_days is None
    assert rates.price("list_per_1000") == rates.price("write_per_1000") == Price.flat(0.01)


def test_rows_are_found_by_class_and_region() -> None:
    table = rates_of_toml(
        row("read_per_1000 = 1", "[[price]]", 'provider = "s3"', 'class = "archive"', 'region = "far"')
    )
    found = table.find("s3", "archive", "far")
    assert found is not None
    assert found.label == "s3 archive, far"
    assert table.find("s3", "archive", None) is None
    assert table.find("s3", None, "far") is table.rows[0], "without a region of its own: everywhere else"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["download_per_gb = -1"], "price 1: download_per_gb: expected a number of 0 or more"),
        (["download_per_gb = 2e6"], "2e+06 is absurd"),
        (["download_per_gb = []"], "expected at least one step"),
        (["download_per_gb = [{ up_to = 1, price = 1 }]"], "the last step has no up_to"),
        (["download_per_gb = [{ price = 1 }, { price = 2 }]"], "step 1: expected up_to"),
        (["download_per_gb = [{ up_to = 0, price = 1 }, { price = 2 }]"], "up_to must grow"),
        (["download_per_gb = [{ upto = 0, price = 1 }, { price = 2 }]"], "did you mean up_to"),
        (["download_per_gb = [1]"], "step 1: write { up_to"),
        (["download_per_gb = [{}]"], "step 1: price: expected a number"),
        (['currency = "USD"'], "price 1: currency 'USD' in a table of EUR: a table has one currency"),
        (["class = 1"], "provider must be a text, and region and class"),
        (["[[price]]", 'provider = "s3"'], "price 2: there is one for s3 everywhere already"),
    ],
)
def test_what_cannot_be_a_price_is_refused_with_its_place(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as refused:
        rates_of_toml(row(*lines))
    assert message in str(refused.value)


def test_a_gigabyte_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="gb_bytes: expected 1_000_000_000 or 1_073_741_824"):
        rates_of_toml(b"gb_bytes = 1000\n" + row())


def test_a_storage_run_is_charged_by_the_dearest_step_and_by_no_class() -> None:
    prices = load_prices("palankar2008").prices("s3", None)
    assert prices is not None
    assert prices.download_per_gb == 0.18
    complete = row(
        "storage_per_gb_month = 1", "minimum_storage_days = 0", "upload_per_gb = 0", f"download_per_gb = {STEPS}",
        "write_per_1000 = 0", "read_per_1000 = 0", "delete_per_1000 = 0", "retrieval_per_gb = 0",
        "[[price]]", 'provider = "s3"', 'class = "archive"',
    )  # fmt: skip
    found = table_of_toml(complete).prices("s3", None)
    assert found is not None
    assert found.charge(Usage(downloaded_bytes=10**9)) == 3


def test_the_tables_that_come_along_name_a_study_each() -> None:
    assert known_tables() == ["bocchi2014", "cloudflare-r2-2026", "garfinkel2007", "palankar2008", "s3-2025", "s3-2026"]
    sources = {name: load_rates(name).source for name in known_tables()}
    assert "CloudNet 2014" in sources["bocchi2014"]
    assert "TR-08-07" in sources["garfinkel2007"]
    assert "DADC 2008" in sources["palankar2008"]
    assert "2025-10-28" in sources["s3-2025"]
    assert "2026-10-03" in sources["s3-2026"]


@pytest.mark.parametrize(
    ("storage_class", "stored", "days", "back"),
    [("infrequent", 12.5, 30, 10.0), ("archive", 4.0, 90, 30.0), ("archive-flexible", 3.6, 90, 10.0),
     ("archive-deep", 0.99, 180, 20.0)],
)  # fmt: skip
def test_the_archive_classes_of_s3_by_hand(storage_class: str, stored: float, days: int, back: float) -> None:
    """1,000 GB stored for a month, and all of it brought back."""
    rates = load_rates("s3-2026").find("s3", storage_class, None)
    assert rates is not None
    assert rates.prices["storage_per_gb_month"].amount(1000) == pytest.approx(stored)
    assert rates.prices["retrieval_per_gb"].amount(1000) == pytest.approx(back)
    assert rates.minimum_storage_days == days


def test_a_workload_at_the_prices_of_2025_by_hand() -> None:
    """60 TB stored, 20 TB read in a month: two steps of each."""
    rates = load_rates("s3-2025").find("s3", None, None)
    assert rates is not None
    stored, read = rates.prices["storage_per_gb_month"], rates.prices["download_per_gb"]
    assert stored.amount(60 * 1024) == pytest.approx(51200 * 0.023 + 10240 * 0.022)
    assert read.amount(20 * 1024) == pytest.approx(10240 * 0.09 + 10240 * 0.085)
