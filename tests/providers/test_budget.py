"""What may be used is never exceeded, whatever is repeated."""

import threading

import pytest

from vmtrace.providers.budget import Budget, Limits, pair_usage
from vmtrace.providers.errors import BudgetError
from vmtrace.providers.plan import Workload
from vmtrace.providers.prices import Prices, Usage

PRICES = Prices(
    0.0, 0.0, 0.0, 1000.0, 5.0, 1.0, 0.0, 0.0
)  # 1 per MB downloaded, 0.005 for each PUT, 0.001 for each GET


def test_bodies_are_refused_before_the_limit_would_be_exceeded() -> None:
    budget = Budget(Limits(max_bytes=1000), None)
    budget.upload(600)
    budget.download(400)
    with pytest.raises(BudgetError, match=r"--max-bytes 1 kB leaves no room for 1 B more \(1 kB used\)"):
        budget.upload(1)
    assert (budget.used.uploaded_bytes, budget.used.downloaded_bytes) == (600, 400)


def test_a_limit_that_a_plan_misses_by_a_byte_is_reported_to_the_byte() -> None:
    budget = Budget(Limits(max_bytes=59_999), None)
    with pytest.raises(BudgetError, match=r"--max-bytes 59,999 bytes leaves no room for 60 kB more \(0 B used\)"):
        budget.check_room(Usage(uploaded_bytes=30_000, downloaded_bytes=30_000))


def test_charges_are_refused_before_the_limit_would_be_exceeded() -> None:
    budget = Budget(Limits(max_cost=1.01), PRICES, "EUR")
    budget.request("PUT")
    budget.download(10**6)
    assert budget.cost == pytest.approx(1.005)
    for _ in range(5):
        budget.request("GET")
    with pytest.raises(BudgetError, match=r"--max-cost 1\.01 EUR leaves no room for 0\.0010 more \(1\.0100 used\)"):
        budget.request("GET")


def test_removing_is_never_refused() -> None:
    budget = Budget(Limits(max_bytes=0, max_cost=0.0), PRICES)
    budget.removing = True
    budget.request("POST")
    budget.request("DELETE")
    assert (budget.used.write_requests, budget.used.delete_requests) == (1, 1)


def test_without_prices_the_cost_is_unknown_and_not_zero() -> None:
    budget = Budget(Limits(), None)
    budget.request("PUT")
    assert budget.cost is None
    assert budget.charge(Usage()) is None


def test_room_is_looked_for_before_something_begins() -> None:
    budget = Budget(Limits(max_bytes=1999), None)
    budget.check_room(Usage(uploaded_bytes=999, downloaded_bytes=1000))
    with pytest.raises(BudgetError):
        budget.check_room(Usage(uploaded_bytes=1000, downloaded_bytes=1000))
    assert budget.used == Usage()


def test_threads_of_an_sdk_together_do_not_exceed_it() -> None:
    budget = Budget(Limits(max_bytes=1000), None)

    def use() -> None:
        for _ in range(200):
            try:
                budget.upload(7)
            except BudgetError:
                return

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.used.uploaded_bytes == 1000 // 7 * 7


def test_what_a_pair_uses_counts_both_directions_and_requests_at_the_most() -> None:
    usage = pair_usage(Workload("a", 10, 100_000), 120.0)
    assert (usage.uploaded_bytes, usage.downloaded_bytes, usage.delete_requests) == (10**6, 10**6, 10)
    assert usage.write_requests >= 10
    assert usage.read_requests >= 20
    assert usage.stored_byte_s == 10**6 * 3600


def test_storage_is_charged_for_an_hour_at_least() -> None:
    budget = Budget(Limits(), PRICES)
    budget.stored(10, 1.0)
    budget.stored(10, 7200.0)
    assert budget.used.stored_byte_s == 10 * 3600 + 10 * 7200


@pytest.mark.parametrize(
    ("target", "writes"),
    [
        ("/bucket?list-type=2&max-keys=1", 1),
        ("/bucket?prefix=x&list-type=2", 1),
        ("/bucket?uploads", 1),
        ("/account/container?restype=container&comp=list", 1),
        ("/bucket/object", 0),
        ("/bucket/object?versionId=list-type", 0),
        ("/bucket/key%3Fuploads", 0),
        ("/account/container?restype=container&comp=listing", 0),
    ],
)
def test_a_listing_is_charged_as_a_write_by_s3_and_azure(target: str, writes: int) -> None:
    budget = Budget(Limits(), PRICES)
    budget.request("GET", target)
    assert (budget.used.write_requests, budget.used.read_requests) == (writes, 1 - writes)
    assert budget.charges is not None
    assert sum(budget.charges.values()) == budget.cost
