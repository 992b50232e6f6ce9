"""Each way of running a workload, reckoned by hand; gaps; break-even points; sensitivity; the sentence."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.providers.costs.break_even import crossing
from vmtrace.providers.costs.charges import charges_of, monthly_totals
from vmtrace.providers.costs.document import document
from vmtrace.providers.costs.estimate import Estimate, estimate
from vmtrace.providers.costs.quantities import CATEGORIES, TOTAL, Charges, Lifetime, Workload
from vmtrace.providers.costs.scenarios import Context, scenarios_of
from vmtrace.providers.costs.sensitivity import repriced
from vmtrace.providers.costs.ways import Archive, Beside, Cache, Cooperative, Derived, Named, Way
from vmtrace.providers.costs.workload import default_name
from vmtrace.providers.rates import Price, Rates, RateTable, Step

PRICES = {
    "storage_per_gb_month": 0.1, "upload_per_gb": 0.01, "download_per_gb": 0.2, "same_region_per_gb": 0.02,
    "write_per_1000": 5.0, "read_per_1000": 1.0, "list_per_1000": 6.0, "delete_per_1000": 0.5,
    "retrieval_per_gb": 0.0, "compute_per_hour": 2.0,
}  # fmt: skip
ARCHIVE = {**PRICES, "storage_per_gb_month": 0.01, "retrieval_per_gb": 0.3}
WORKLOAD: dict[str, Any] = {
    "name": "w", "stored_gb": 1000.0, "read_gb_per_month": 400.0, "written_gb_per_month": 50.0,
    "read_requests_per_month": 4000.0, "write_requests_per_month": 1000.0, "same_region_share": 0.25,
    "compute_hours_per_month": 10.0, "mean_age_days": 100.0,
}  # fmt: skip


STEPS = Price((Step(100, 1.0), Step(math.inf, 0.5)))


def rates(prices: dict[str, float], storage_class: str | None = None, days: float | None = 0) -> Rates:
    return Rates("s3", storage_class, None, {name: Price.flat(one) for name, one in prices.items()}, days)


def context(prices: dict[str, float] = PRICES, days: float | None = 0, **given: Any) -> Context:
    row = rates(prices, days=days)
    table = RateTable("mine", "made up", "EUR", 10**9, (row, rates(ARCHIVE, "archive", 90)))
    return Context(Workload(**{**WORKLOAD, **given}), table, row)


def reckoned(*ways: Way, **given: Any) -> Estimate:
    return estimate(context(**given), [Named(default_name(way), way) for way in ways])


def month(charges: Charges) -> dict[str, float]:
    return {name: round(amount, 9) for name, amount in charges.month.items() if amount is not None}


def test_everything_in_the_store_by_hand() -> None:
    base = reckoned().base
    assert month(base) == {
        "storage": 100.0,
        "transfer": 0.375 + 60.0 + 2.25,  # 37.5 GB up, 300 GB down, 112.5 GB within the region
        "requests": 4.0 + 5.0,
        "retrieval": 0.0,
        "compute": 0.0,
        "total": 171.625,
    }
    assert base.year_total == pytest.approx(12 * 171.625)


def test_what_is_stored_grows_from_month_to_month() -> None:
    base = reckoned(growth_gb_per_month=20.0).base
    assert base.month["storage"] == pytest.approx(0.1 * 1010), "on average over its first month"
    assert base.year["storage"] == pytest.approx(0.1 * (12 * 1000 + 20 * (12 * 12 / 2)))


def test_months_sum_to_the_year_and_the_first_one_is_the_month() -> None:
    for growth in (0.0, 20.0):
        ways = (Archive(30.0), Cache(100.0, byte_hit_ratio=0.5), Beside(10.0))
        for charges in reckoned(*ways, growth_gb_per_month=growth, days=90, mean_age_days=30.0).charged:
            totals = monthly_totals(charges)
            assert totals is not None
            assert sum(totals) == pytest.approx(charges.year_total)
            assert totals[0] == pytest.approx(charges.month[TOTAL])
            assert (totals[-1] > totals[0]) == bool(growth)
    without = {name: price for name, price in PRICES.items() if name != "storage_per_gb_month"}
    (base,) = estimate(context(without), []).charged
    assert monthly_totals(base) is None, "what has no total has no months either"


def test_objects_deleted_young_are_charged_until_the_least_age() -> None:
    """50 GB a month are deleted at 30 days, and charged until they are 90."""
    base = reckoned(days=90, mean_age_days=30.0).base
    assert base.month["storage"] == pytest.approx(100 + 0.1 * 50 * 60 / (365 / 12))
    assert reckoned(days=90, mean_age_days=120.0).base.month["storage"] == pytest.approx(100)
    unsaid = reckoned(days=90, mean_age_days=None).base
    assert unsaid.month["storage"] == pytest.approx(100)
    assert "mean_age_days is left out" in unsaid.scenario.notes[0]


def test_a_mean_age_hides_objects_that_go_early_and_lifetimes_do_not() -> None:
    """Of 50 GB a month three tenths live a day and the others 128.14 days: the mean is 90, and nothing seems early."""
    ages = (Lifetime(0.3, 1.0), Lifetime(0.7, 89.7 / 0.7))
    mean = reckoned(days=90, mean_age_days=90.0).base
    shown = reckoned(days=90, mean_age_days=90.0, lifetimes=ages).base
    assert mean.month["storage"] == pytest.approx(100)
    assert shown.month["storage"] == pytest.approx(100 + 0.1 * 50 * 0.3 * 89 / (365 / 12))
    archived = reckoned(Archive(30), mean_age_days=90.0, lifetimes=ages).charged[1]
    cold = 0.7 * (89.7 / 0.7 - 30) / 90
    assert archived.month["storage"] == pytest.approx(100 - 0.09 * 1000 * cold)
    assert "by the lifetimes" in archived.scenario.notes[0]


def test_archived_data_is_cheaper_to_keep_and_dearer_to_read() -> None:
    archived = reckoned(Archive(30, cold_share=0.6, recalled_gb_per_month=40, moved_objects_per_month=200)).charged[1]
    assert archived.month["storage"] == pytest.approx(0.1 * 400 + 0.01 * 600)
    assert archived.month["retrieval"] == pytest.approx(0.3 * 40)
    assert archived.month["transfer"] == pytest.approx(62.625), "what is read is read, from wherever"
    assert archived.month["requests"] == pytest.approx(9 + 5 * 0.2), "each object moved is a write"


def test_what_is_cold_follows_from_the_mean_age_or_is_missing() -> None:
    archived = reckoned(Archive(100)).charged[1]
    assert archived.month["storage"] == pytest.approx(100 - 0.09 * 1000 * 0.36788, rel=1e-4)
    assert "exponential" in archived.scenario.notes[0]
    unknown = reckoned(Archive(100), mean_age_days=None).charged[1]
    assert unknown.year_total is None
    assert unknown.missing == ("cold_share (or mean_age_days, or a trace)",)


def test_an_archive_without_a_price_row_is_named_as_missing() -> None:
    archived = reckoned(Archive(30, to="deep", cold_share=0.5)).charged[1]
    assert archived.missing == ("a price row of s3 for the class deep",)
    assert archived.year_total is None


def test_derived_data_is_neither_kept_nor_written_but_computed() -> None:
    derived = reckoned(Derived(0.4, compute_hours_per_month=7)).charged[1]
    assert derived.month["storage"] == pytest.approx(60)
    assert derived.month["compute"] == pytest.approx(14)
    assert derived.month["transfer"] == pytest.approx(62.625 - 0.4 * 0.375)


def test_a_cache_saves_what_it_serves_of_the_reads_from_outside() -> None:
    cache = reckoned(Cache(2000, byte_hit_ratio=0.5, hit_ratio=0.8, price_per_tb_month=3)).charged[1]
    assert cache.month["transfer"] == pytest.approx(62.625 - 30)
    assert cache.month["requests"] == pytest.approx(9 - 0.8 * 0.75 * 4)
    assert cache.month["storage"] == pytest.approx(100 + 2 * 3)
    assert (cache.scenario.hit_ratio, cache.scenario.byte_hit_ratio) == (0.8, 0.5)


def test_a_cache_without_a_hit_ratio_has_no_total() -> None:
    cache = reckoned(Cache(2000)).charged[1]
    assert cache.year_total is None
    assert cache.missing == ("byte_hit_ratio (or miss_gb_per_month, or a trace)",)


def test_computing_beside_the_data_turns_downloads_into_hours() -> None:
    beside = reckoned(Beside(result_share=0.1)).charged[1]
    assert beside.month["compute"] == pytest.approx(20)
    assert beside.month["transfer"] == pytest.approx(0.375 + 0.2 * 30 + 0.02 * (112.5 + 300))


def test_cooperation_saves_its_share_of_downloads() -> None:
    shared = reckoned(Cooperative(0.5)).charged[1]
    assert shared.month["transfer"] == pytest.approx(62.625 - 30)


def test_a_price_that_is_missing_is_named_and_nulls_what_needs_it() -> None:
    gap = {name: one for name, one in PRICES.items() if name != "read_per_1000"}
    base = reckoned(prices=gap).base
    assert base.missing == ("s3: read_per_1000",)
    assert (base.month["requests"], base.year_total) == (None, None)
    assert base.month["storage"] == pytest.approx(100), "what does not need it is there"
    assert reckoned(prices=gap, read_requests_per_month=0.0).base.missing == (), "what is not used is not needed"


def test_a_missing_minimum_of_days_matters_where_something_is_deleted() -> None:
    assert reckoned(days=None).base.missing == ("s3: minimum_storage_days",)
    assert reckoned(days=None, written_gb_per_month=0.0).base.missing == ()


def test_steps_hold_for_the_months_of_one_bill() -> None:
    row = Rates("s3", None, None, {**context().rates.prices, "download_per_gb": STEPS}, 0)
    table = RateTable("mine", "made up", "EUR", 10**9, (row,))
    once = {**WORKLOAD, "same_region_share": 0.0}
    one = estimate(Context(Workload(**once), table, row), []).base
    four = estimate(Context(Workload(**once, billed_months=4), table, row), []).base
    assert (one.month["transfer"] or 0) - 0.5 == pytest.approx(100 + 300 * 0.5)
    assert (four.month["transfer"] or 0) - 0.5 == pytest.approx((100 + 1500 * 0.5) / 4)


@settings(deadline=None)
@given(
    st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0, 1), st.sampled_from([0.0, 30.0, 200.0])
)  # fmt: skip
def test_categories_always_sum_to_the_total(
    stored: float, read: float, written: float, share: float, days: float
) -> None:
    ways: tuple[Way, ...] = (
        Archive(30), Derived(share), Cache(1, byte_hit_ratio=share), Beside(), Cooperative(share)
    )  # fmt: skip
    given: dict[str, Any] = {
        "stored_gb": stored,
        "read_gb_per_month": read,
        "written_gb_per_month": written,
        "same_region_share": share,
    }
    named = [Named(default_name(way), way) for way in ways]
    for charges in map(charges_of, scenarios_of(context(days=days, **given), named)):
        for amounts in (charges.month, charges.year):
            known = [amounts[name] for name in CATEGORIES]
            assert all(amount is not None and amount >= 0 for amount in known)
            assert amounts[TOTAL] == pytest.approx(sum(amount or 0 for amount in known))


def test_break_even_points_are_where_both_cost_the_same() -> None:
    ways: list[Way] = [
        Archive(30, cold_share=0.5), Derived(0.4), Cache(2000, byte_hit_ratio=0.5, price_per_tb_month=40), Beside()
    ]  # fmt: skip
    found = reckoned(*ways)
    points = {(point.scenario, point.variable): point for point in found.points}
    recalled = points["archived after 30 days", "recalled_gb_per_month"]
    # 500 GB save 0.09 each; half of the writes move an object at 5 for a thousand; a GB recalled costs 0.3.
    assert recalled.value == pytest.approx((45 - 2.5) / 0.3)
    assert points["derived data (40%) computed again", "compute_hours_per_month"].value == pytest.approx(
        (40 + 0.4 * 0.375 + 0.4 * 5) / 2
    )
    rent = points[default_name(ways[2]), "price_per_tb_month"]
    assert rent.value == pytest.approx((30 + 0.5 * 3) / 2)
    assert "below" in rent.sentence
    hours = points["computing next to the data", "compute_hours_per_month"]
    assert hours.value == pytest.approx(300 * 0.18 / 2)
    assert hours.now == 10


def test_cooperation_is_also_put_against_the_cheapest_other_way() -> None:
    """Beside the data 34 a month are saved: cooperation saves 60 and 3 of requests at a share of 1."""
    first, second = (one for one in reckoned(Cooperative(0.5), Beside()).points if one.variable == "share")
    assert (first.against, second.against) == ("everything in the store", "computing next to the data")
    assert second.value == pytest.approx(34 / 63)


def test_what_never_pays_is_said_to() -> None:
    dear = {**PRICES, "compute_per_hour": 1000.0}
    (point,) = reckoned(Cooperative(0.5)).points
    assert (point.value, point.sentence) == (
        None,
        "cooperative, 50% by peers: cheaper than everything in the store at any share of the bytes from peers",
    )
    (hours,) = reckoned(Beside(), prices=dear).points
    assert hours.value == pytest.approx(300 * 0.18 / 1000)


@settings(deadline=None)
@given(st.floats(0.001, 999.0), st.sampled_from([-1.0, 1.0]))
def test_a_crossing_is_found_wherever_it_is(zero: float, sign: float) -> None:
    found = crossing(lambda value: sign * 100 * (value - zero), 1000.0)
    assert found == pytest.approx(zero, abs=1e-6)


def test_nothing_crosses_where_something_is_unknown_or_never_changes_its_sign() -> None:
    assert crossing(lambda _: None, 1.0) is None
    assert crossing(lambda value: 1 + value, 1.0) is None


def test_a_tenth_of_a_price_changes_its_part_of_the_bill() -> None:
    rows = {(row.scenario, row.price): row for row in reckoned(Cooperative(0.5)).sensitivity}
    base = rows["everything in the store", "storage_per_gb_month"]
    assert base.year_change == pytest.approx(0.1 * 1200)
    assert base.share == pytest.approx(120 / (12 * 171.625))


def test_the_price_is_found_at_which_a_way_is_as_dear_as_the_store() -> None:
    found = reckoned(Beside())
    (row,) = [one for one in found.sensitivity if one.price == "compute_per_hour"]
    assert row.equal_at_factor == pytest.approx(300 * 0.18 / 20)
    dearer = charges_of(repriced(found.charged[1].scenario, "compute_per_hour", row.equal_at_factor or 0))
    assert dearer.year_total == pytest.approx(found.base.year_total)


def test_the_sentence_names_the_largest_category_and_the_cheapest_way() -> None:
    assert reckoned(Cooperative(0.5), Beside()).sentence == (
        "Everything in the store costs 2,059.50 EUR a year, 58% of it for storage; computing next to the data "
        "is cheapest with 1,651.50 EUR (19.8% less)."
    )
    assert reckoned(prices={}).sentence.startswith("Everything in the store has no total: missing s3: ")
    assert reckoned(Beside(1e6)).sentence.endswith("none of the other ways is cheaper.")


def test_the_document_has_what_is_unknown_as_null() -> None:
    made = document(reckoned(Cache(2000)), "0")
    assert made["schema"] == "vmtrace.cost/1"
    base, cache = made["scenarios"]
    assert set(base["month"]) == set(base["year"]) == {*CATEGORIES, TOTAL}
    assert cache["year"]["total"] is None
    assert cache["missing"]
