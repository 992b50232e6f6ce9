"""Summaries of workloads: whatever a file says, it is a workload that can be reckoned or one line that says why not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmtrace.providers.costs.document import document
from vmtrace.providers.costs.estimate import estimate
from vmtrace.providers.costs.quantities import CATEGORIES
from vmtrace.providers.costs.scenarios import Context
from vmtrace.providers.costs.workload import known_workloads, load_workload, workload_of_toml
from vmtrace.providers.rates import load_rates, rates_of_toml


def test_lifetimes_give_the_mean_age() -> None:
    asked = workload_of_toml(b"stored_gb = 1\nlifetimes = [{ share = 0.3, days = 1 }, { share = 0.7, days = 80 }]")
    assert asked.workload.mean_age_days == pytest.approx(56.3)
    assert [one.share for one in asked.workload.lifetimes] == [0.3, 0.7]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("lifetimes = 3", "expected a list such as"),
        ("lifetimes = [{ share = 1.0, days = 1 }]\nmean_age_days = 3", "leave one of the two out"),
        ("lifetimes = [{ share = 0.5, days = 1 }]", "sum to 0.5, expected 1"),
        ("lifetimes = [{ share = 2, days = 1 }]", "expected a share from 0 to 1"),
        ("lifetimes = [{ share = 1.0 }]", "expected share and days"),
        ("lifetimes = [{ share = 1.0, days = 1, years = 2 }]", "years"),
    ],
)
def test_lifetimes_that_cannot_be_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        workload_of_toml(f"stored_gb = 1\n{text}".encode())


KEYS = (
    "name", "provider", "stored_gb", "growth_gb_per_month", "read_gb_per_month", "written_gb_per_month",
    "read_requests_per_month", "same_region_share", "objects", "mean_age_days", "billed_months", "jobs_per_month",
    "compute_hours_per_month",
)  # fmt: skip
WAY_KEYS = (
    "kind", "name", "after_days", "to", "cold_share", "recalled_gb_per_month", "share", "size_gb", "byte_hit_ratio",
    "hit_ratio", "miss_gb_per_month", "price_per_tb_month", "result_share", "compute_hours_per_month",
)  # fmt: skip
PRICE_KEYS = (
    "provider", "class", "storage_per_gb_month", "minimum_storage_days", "download_per_gb", "read_per_1000",
    "compute_per_hour", "retrieval_per_gb", "same_region_per_gb", "upload_per_gb", "write_per_1000",
)  # fmt: skip
VALUES: st.SearchStrategy[object] = (
    st.sampled_from(["archive", "derived", "cache", "beside", "cooperative", "s3", ""])
    | st.integers(-2, 5)
    | st.floats(0, 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.just([])
)


def lines(record: dict[str, object]) -> str:
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in record.items())


@settings(max_examples=300, deadline=None)
@given(
    st.dictionaries(st.sampled_from(KEYS), st.floats(0, 1e6) | VALUES, max_size=6),
    st.lists(st.dictionaries(st.sampled_from(WAY_KEYS), st.floats(0, 1) | VALUES, max_size=3), max_size=2),
    st.dictionaries(st.sampled_from(PRICE_KEYS[2:]), st.floats(0, 1), max_size=8),
)
def test_any_summary_at_any_prices_is_reckoned_or_refused(
    summary: dict[str, object], ways: list[dict[str, object]], prices: dict[str, object]
) -> None:
    text = lines({"stored_gb": 5.0, **summary}) + "".join(
        f"[[scenario]]\n{lines({'kind': 'beside', **way})}" for way in ways
    )
    table_text = (
        f'name = "t"\nsource = "s"\ncurrency = "EUR"\n[[price]]\n{lines({**prices, "provider": "s3"})}'  # one to find
    )
    try:
        asked, table = workload_of_toml(text.encode()), rates_of_toml(table_text.encode())
    except ValueError:
        return
    found = document(estimate(Context(asked.workload, table, table.rows[0]), asked.ways), "0")
    json.dumps(found, allow_nan=False)
    for scenario in found["scenarios"]:
        unknown = [name for name in CATEGORIES if scenario["year"][name] is None]
        if unknown or scenario["missing"]:
            assert scenario["year"]["total"] is None
            assert scenario["missing"], "what is unknown has a reason"


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100))
def test_any_other_bytes_are_refused_in_one_line(content: bytes) -> None:
    for reader in (workload_of_toml, rates_of_toml):
        with pytest.raises(ValueError, match=r"."):
            reader(content)


def test_what_is_left_out_counts_as_none_and_is_named() -> None:
    asked = workload_of_toml(b"stored_gb = 5\nobjects = 1")
    assert asked.workload.read_gb_per_month == 0
    (note,) = asked.workload.notes
    assert note == (
        "counted as none, because left out: growth_gb_per_month, read_gb_per_month, written_gb_per_month, "
        "read_requests_per_month, write_requests_per_month, same_region_share, mean_age_days"
    )


def test_scenarios_of_one_name_are_refused() -> None:
    twice = b"stored_gb = 5\n[[scenario]]\nkind = 'beside'\n[[scenario]]\nkind = 'beside'\n"
    with pytest.raises(ValueError, match="scenario 2: there is one named 'computing next to the data' already"):
        workload_of_toml(twice)


def test_the_workloads_that_come_along_are_those_of_the_studies() -> None:
    assert known_workloads() == ["bocchi2014", "dzero"]
    assert [load_workload(name).workload.notes for name in known_workloads()] == [(), ()]
    assert load_workload("dzero").provider == load_rates("palankar2008").providers[0]
