"""An invoice beside what was predicted: only an explanation whose own amount fits is put forward."""

from dataclasses import replace

import pytest

from vmtrace.providers.costs.charges import charges_of
from vmtrace.providers.costs.differences import Difference, differences
from vmtrace.providers.costs.quantities import Charges, Portion, Scenario, Usage
from vmtrace.providers.rates import Price, Rates, RateTable

RATES = Rates(
    "s3", None, None,
    {
        "storage_per_gb_month": Price.flat(0.1), "download_per_gb": Price.flat(0.2), "write_per_1000": Price.flat(5),
        "read_per_1000": Price.flat(1), "retrieval_per_gb": Price.flat(0.01),
    },
    90,
)  # fmt: skip
TABLE = RateTable("mine", "made up", "EUR", 10**9, (RATES,))
USAGE = Usage(stored_gb=1000, downloaded_gb=500, write_requests=1000, read_requests=2000, retrieved_gb=500)


def charged(usage: Usage = USAGE, rates: Rates = RATES) -> Charges:
    return charges_of(Scenario("all", "everything", (Portion(rates, usage),)))


def rows(
    invoiced: dict[str, float], charges: Charges | None = None, table: RateTable = TABLE, retries: float = 0
) -> dict[str, Difference]:
    return {row.category: row for row in differences(charges or charged(), invoiced, table, retries)}


def test_differences_are_invoiced_less_predicted_and_what_is_left_out_is_not_compared() -> None:
    found = rows({"storage": 110.0})
    assert (found["storage"].predicted, found["storage"].difference) == (100, 10)
    assert found["storage"].difference_share == pytest.approx(0.1)
    assert (found["transfer"].invoiced, found["transfer"].difference) == (None, None)
    assert found["total"].difference is None


def test_the_total_is_the_sum_if_all_categories_are_there() -> None:
    found = rows({"storage": 100.0, "transfer": 100.0, "requests": 7.0, "retrieval": 5.0, "compute": 0.0})
    assert (found["total"].predicted, found["total"].invoiced) == (212, 212)


def test_half_a_cent_is_rounding() -> None:
    assert rows({"transfer": 100.004})["transfer"].explanations == ("rounding to cents",)
    assert rows({"transfer": 100.006})["transfer"].explanations == ("nothing known explains it",)


def test_the_other_gigabyte_explains_its_own_direction_alone() -> None:
    binary, decimal = replace(TABLE, gb_bytes=2**30), TABLE
    less, more = 100 / 1.073741824, 100 * 1.073741824
    assert "has 2^30 bytes" in rows({"transfer": less}, table=decimal)["transfer"].explanations[0]
    assert "has 10^9 bytes" in rows({"transfer": more}, table=binary)["transfer"].explanations[0]
    for amount, table in ((less, binary), (more, decimal)):
        assert rows({"transfer": amount}, table=table)["transfer"].explanations == ("nothing known explains it",)


def test_the_minimum_of_storage_days_explains_storage() -> None:
    early = charged(replace(USAGE, early_gb_months=50))
    assert rows({"storage": 100.0}, early)["storage"].explanations == (
        "5.00 EUR are predicted for objects deleted before the minimum of storage days",
    )
    assert rows({"storage": 105.0})["storage"].explanations == (
        "objects deleted before 90 days are charged until then: give mean_age_days",
    )


def test_retries_and_listings_explain_requests_by_their_count() -> None:
    found = rows({"requests": 12.0}, retries=300)["requests"].explanations
    assert found == (
        "300 retries are among the requests, at most 1.5 EUR",
        "1,000 listings (or retries of writes) beyond those of the workload would be as much",
    )


def test_retrieval_beyond_the_price_is_that_of_peaks() -> None:
    assert "peaks" in rows({"retrieval": 50.0})["retrieval"].explanations[0]


def test_what_was_not_predicted_says_what_is_missing() -> None:
    without = replace(RATES, prices={name: one for name, one in RATES.prices.items() if name != "read_per_1000"})
    row = rows({"requests": 7.0}, charged(rates=without))["requests"]
    assert (row.predicted, row.difference) == (None, None)
    assert row.explanations == ("no prediction: missing s3: read_per_1000",)
