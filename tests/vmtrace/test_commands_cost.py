"""`vmtrace cost`, as a person calls it: summaries, traces, measured runs, invoices, and bad input."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from tests import golden_texts
from tests.analyze.pages import data_of
from tests.analyze.storage_made import START_NS, MadeRun, said
from vmtrace.analyze.tables.schema import load
from vmtrace.commands.cost_charts import charts
from vmtrace.commands.cost_sources import runs_per_month
from vmtrace.providers.costs.estimate import estimate
from vmtrace.providers.costs.scenarios import Context
from vmtrace.providers.costs.workload import load_workload, workload_of_toml
from vmtrace.providers.rates import load_rates, rates_of_toml

TABLE = """
name = "mine"
source = "made up"
currency = "EUR"

[[price]]
provider = "s3"
storage_per_gb_month = 0.02
minimum_storage_days = 0
upload_per_gb = 0
download_per_gb = 0.1
same_region_per_gb = 0
write_per_1000 = 0.005
read_per_1000 = 0.001
delete_per_1000 = 0
retrieval_per_gb = 0
compute_per_hour = 0.1

[[price]]
provider = "s3"
class = "archive"
storage_per_gb_month = 0.005
minimum_storage_days = 90
upload_per_gb = 0
download_per_gb = 0.1
same_region_per_gb = 0
write_per_1000 = 0.03
read_per_1000 = 0.001
delete_per_1000 = 0
retrieval_per_gb = 0.02
"""
SUMMARY = """
name = "mine"
stored_gb = 1000
read_gb_per_month = 500
written_gb_per_month = 100
mean_age_days = 60
"""
OPTIONS = (
    "--archive-after", "30", "--derived", "0.5", "--compute-hours", "100", "--cache", "1TB", "--cooperative", "0.3",
)  # fmt: skip


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(TABLE)
    return path


@pytest.fixture
def summary(tmp_path: Path) -> Path:
    path = tmp_path / "workload.toml"
    path.write_text(SUMMARY)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten days of three files: two that are read all the time, from two places, and one that is not."""
    path = tmp_path / "accesses.csv"
    rows = ["0,raw,5000000000,write,home"]
    rows += [f"{hour * 3600},{'ab'[hour % 2]},1000000000,read,{'home' if hour % 5 else 'eu'}" for hour in range(1, 240)]
    path.write_text("\n".join(("time,object,bytes,operation,place", *rows)) + "\n")
    return path


def document(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    jsonschema.Draft202012Validator(load("vmtrace.cost.1")).validate(content)
    return content


def totals(content: dict[str, Any]) -> dict[str, float | None]:
    return {one["name"]: one["year"]["total"] for one in content["scenarios"]}


def test_the_study_of_science_grids_comes_out(vmtrace: Any) -> None:
    done = vmtrace("cost", "dzero", "--prices", "palankar2008")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Everything in the store costs 1,026,211.99 USD a year, 67% of it for storage; ")
    for number in ("691,200.00", "335,011.99", "43,284.09"):
        assert number in done.stdout
    base, cache, _ = document(vmtrace("cost", "dzero", "--prices", "palankar2008", "--json", "-"))["scenarios"]
    assert base["year"]["storage"] == pytest.approx(691_200)
    assert [line["year"] for line in cache["lines"] if line["price"] == "download_per_gb"] == [
        pytest.approx(43_888, abs=1)
    ]


def test_all_ways_stand_side_by_side_with_what_is_assumed_and_missing(
    vmtrace: Any, summary: Path, prices: Path
) -> None:
    content = document(vmtrace("cost", summary, "--prices", prices, *OPTIONS, "--hit-ratio", "0.9", "--json", "-"))
    assert list(totals(content)) == [
        "everything in the store",
        "archived after 30 days",
        "derived data (50%) computed again",
        "local cache of 1,000 GB",
        "computing next to the data",
        "cooperative, 30% by peers",
    ]
    assert all(total is not None for total in totals(content).values())
    assert "growth_gb_per_month" in content["workload"]["notes"][0], "what is left out is said"
    done = vmtrace("cost", summary, "--prices", prices, *OPTIONS)
    assert "no total, because byte_hit_ratio (or miss_gb_per_month, or a trace) is missing" in done.stdout
    assert "Break-even" in done.stdout


@pytest.mark.slow
def test_a_trace_is_replayed_for_caches_and_archive(vmtrace: Any, trace: Path, prices: Path) -> None:
    words = ("--archive-after", "2", "--cache", "2GB", "--region", "eu")
    content = document(vmtrace("cost", trace, "--prices", prices, *words, "--json", "-"))
    by_name = {one["name"]: one for one in content["scenarios"]}
    assert by_name["local cache of 2 GB, lru"]["hit_ratio"] == pytest.approx(190 / 192)
    assert "local cache of 2 GB, s3-fifo" in by_name
    assert content["trace"]["accesses"] == 240
    assert content["workload"]["same_region_share"] == pytest.approx(47 / 244)
    archived = by_name["archived after 2 days"]
    assert archived["year"]["storage"] < by_name["everything in the store"]["year"]["storage"]


def test_a_trace_has_scenarios_of_its_own_accord(vmtrace: Any, trace: Path, prices: Path) -> None:
    content = document(vmtrace("cost", trace, "--prices", prices, "--json", "-"))
    assert len(content["scenarios"]) == 4


@pytest.fixture
def measured_run(tmp_path: Path) -> Path:
    used = {
        "uploaded_bytes": 2 * 10**9, "downloaded_bytes": 3 * 10**9, "write_requests": 30, "read_requests": 40,
        "delete_requests": 20,
    }  # fmt: skip
    made = MadeRun(tmp_path / "run", used=used)
    hour_ns = 3600 * 10**9
    exchange = said(0, 10, 20, 5000, opened=True, retries=3)
    for number, direction in ((1, "upload"), (2, "download")):
        made.transaction(
            number, [exchange], direction=direction, repeat=1, moved_bytes=2 * 10**9, files=1,
            end_ns=START_NS + 2 * hour_ns,
        )  # fmt: skip
    return made.folder


def test_a_measured_run_at_a_stated_rate(vmtrace: Any, measured_run: Path, prices: Path) -> None:
    content = document(vmtrace("cost", "--from", measured_run, "--rate", "2/day", "--prices", prices, "--json", "-"))
    workload, month = content["workload"], content["scenarios"][0]["month"]
    runs = 2 * 730 / 24
    assert workload["read_gb_per_month"] == pytest.approx(3 * runs)
    assert month["transfer"] == pytest.approx(0.1 * 3 * runs)
    assert month["requests"] == pytest.approx((0.005 * 0.03 + 0.001 * 0.04) * runs)
    assert month["storage"] == pytest.approx(0.02 * 2 * 2 / 730 * runs), "2 GB for two hours"


def test_rates_are_numbers_of_runs_in_a_time() -> None:
    assert [runs_per_month(text) for text in ("730/month", "1/hour", "8760 / year")] == pytest.approx([730] * 3)


def test_an_invoice_is_compared_and_explained(vmtrace: Any, measured_run: Path, prices: Path, tmp_path: Path) -> None:
    words = ("cost", "--from", measured_run, "--rate", "1000/month", "--prices", prices)
    month = document(vmtrace(*words, "--json", "-"))["scenarios"][0]["month"]
    invoice = tmp_path / "invoice.toml"
    amounts = {
        "storage": month["storage"] / 1.0737,
        "transfer": month["transfer"] + 0.004,
        "requests": month["requests"] + 5,
    }
    lines = [f"{name} = {amount}" for name, amount in amounts.items()]
    invoice.write_text("\n".join(('currency = "EUR"', "[[invoice]]", *lines, "retrieval = 0", "compute = 0")))
    ((entry),) = document(vmtrace(*words, "--invoice", invoice, "--json", "-"))["invoice"]
    rows = {row["category"]: row for row in entry["month"]}
    assert rows["transfer"]["explanations"] == ["rounding to cents"]
    assert "2^30 bytes" in rows["storage"]["explanations"][0]
    assert rows["requests"]["difference"] == pytest.approx(5)
    explained = " ".join(rows["requests"]["explanations"])
    golden_texts.check("an-invoice-is-compared-and-explained", explained)
    assert rows["total"]["invoiced"] == pytest.approx(sum(amounts.values()))
    done = vmtrace(*words, "--invoice", invoice)
    assert "Invoice of a month against everything in the store (EUR)" in done.stdout


def test_figures_are_drawn_with_their_data(vmtrace: Any, tmp_path: Path) -> None:
    done = vmtrace("cost", "dzero", "--prices", "palankar2008", "--figures", tmp_path / "figures", "--quiet")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    figures = ("costs-by-scenario", "costs-over-months")
    assert names == {f"{figure}.{kind}" for figure in figures for kind in ("png", "svg", "csv")}
    assert "691200" in (tmp_path / "figures/costs-by-scenario.csv").read_text()


def test_a_bar_is_as_long_as_its_total() -> None:
    asked, table = load_workload("dzero"), load_rates("palankar2008")
    reckoned = estimate(Context(asked.workload, table, table.rows[0]), asked.ways)
    by_scenario, over_months = charts(reckoned)
    panel = by_scenario.panels[0]
    lengths = dict.fromkeys(panel.y.names, 0.0)
    for one in panel.series:
        for begin, end, place in zip(one.x[::2], one.x[1::2], one.y[::2], strict=True):
            lengths[panel.y.names[round(place)]] += end - begin
    totals = {one.scenario.name: one.year_total for one in reckoned.charged}
    assert lengths == pytest.approx(totals)
    assert {one.name: one.y[-1] for one in over_months.panels[0].series} == pytest.approx(totals)


def test_the_page_begins_with_the_answer_and_holds_every_table(vmtrace: Any, summary: Path, prices: Path) -> None:
    path = summary.with_name("cost.html")
    done = vmtrace("cost", summary, "--prices", prices, *OPTIONS, "--html", path, "--quiet")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    page = path.read_text()
    data = data_of(page)
    assert [one["name"] for one in data["charts"]] == ["costs-by-scenario", "costs-over-months"]
    assert "local cache of 1,000 GB (no total)" in data["charts"][0]["panels"][0]["y"]["names"], "no bar: it has none"
    assert page.index('class="sentence"') < page.index("chart-costs-by-scenario") < page.index('class="shares"')
    titles = ("Break-even", "EUR by scenario", "What was assumed", "Sensitivity: a price 10 % higher",
              "Each price put on what is used of it (EUR)")  # fmt: skip
    assert [title for title in titles if f"<h2>{title}</h2>" not in page] == []
    assert "no total, because byte_hit_ratio" in page


def test_names_with_markup_in_them_stay_text_on_the_page(vmtrace: Any, summary: Path, prices: Path) -> None:
    hostile = "<script>window.hacked=1</script>"
    summary.write_text(SUMMARY.replace('"mine"', f"'{hostile}'"))
    page = summary.with_name("cost.html")
    assert vmtrace("cost", summary, "--prices", prices, "--html", page, "--quiet").returncode == 0
    assert "<script>window.hacked" not in page.read_text()


def test_a_page_without_any_total_has_its_reasons_and_no_figure(vmtrace: Any, summary: Path, tmp_path: Path) -> None:
    prices = tmp_path / "gaps.toml"
    only = TABLE.split('[[price]]\nprovider = "s3"\nclass', maxsplit=1)[0]
    prices.write_text(only.replace("download_per_gb = 0.1\n", ""))
    page = tmp_path / "cost.html"
    assert vmtrace("cost", summary, "--prices", prices, "--html", page, "--quiet").returncode == 0
    assert data_of(page.read_text())["charts"] == []
    assert "no total, because s3: download_per_gb is missing" in page.read_text()


def test_the_examples_of_the_document_are_taken() -> None:
    text = (Path(__file__).parents[2] / "docs/cost.md").read_text()
    workload, prices, _ = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    asked = workload_of_toml(workload.encode())
    assert [one.way.__class__.__name__ for one in asked.ways] == [
        "Archive",
        "Derived",
        "Cache",
        "Beside",
        "Cooperative",
    ]
    assert asked.workload.notes == (), "it leaves nothing out"
    assert rates_of_toml(prices.encode()).rows[0].label == "s3 archive, eu-west-1"


def refused(done: "subprocess.CompletedProcess[str]", status: int, message: str) -> None:
    assert done.returncode == status, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a workload (summary or trace), or a run with --from"),
        (["dzero", "--from", "x"], "one of the two"),
        (["dzero", "--rate", "1/day"], "--rate: goes with --from"),
        (["--from", "x"], "say how often the run would be with --rate"),
        (["--from", "x", "--rate", "often"], "--rate often: expected a number of runs in a time"),
        (["--from", "x", "--rate", "0/day"], "--rate 0/day: expected a number of runs"),
        (["dzero", "--archive-after", "-1"], "--archive-after -1: expected a number from 0"),
        (["dzero", "--archive-to", "x"], "--archive-to: goes with --archive-after"),
        (["dzero", "--derived", "1.5"], "--derived 1.5: expected a number from 0 to 1"),
        (["dzero", "--cache", "big"], "--cache 'big' is not a size"),
        (["dzero", "--cache", "0"], "--cache 0: expected more than 0"),
        (["dzero", "--cache-price", "1"], "go with --cache SIZE"),
        (["dzero", "--compute-hours", "nan"], "--compute-hours nan: expected a number"),
        (["dzero", "--provider", "tape"], "no row for tape: it has s3"),
        (["none.toml"], "workload none.toml: No such file or directory (a TOML file, or bocchi2014, dzero)"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(vmtrace: Any, prices: Path, words: list[str], message: str) -> None:
    refused(vmtrace("cost", *words, "--prices", prices), 2, message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stored_gb = -1", "stored_gb: expected a number of 0 or more"),
        ("stored_gb = 1e99", "stored_gb: 1e+99 is absurd"),
        ("stored_gb = nan", "stored_gb: expected a number of 0 or more"),
        ("same_region_share = 2\nstored_gb = 1", "same_region_share: expected a share from 0 to 1, not 2"),
        ("stored_tb = 1", "'stored_tb' is unknown: did you mean stored_gb?"),
        ("name = 'x'", "it does not say what is kept, read or written"),
        ("stored_gb = 1\ngrowth_gb_per_month = 5", "5 GB cannot grow out of 0 GB written"),
        ("stored_gb = 1\nbilled_months = 0.5", "billed_months: expected at least 1"),
        (
            "stored_gb = 1\n[[scenario]]\nkind = 'tape'",
            "scenario 1: kind: expected one of archive, derived, cache, beside, cooperative",
        ),
        ("stored_gb = 1\n[[scenario]]\nkind = 'archive'", "scenario 1: archive needs after_days"),
        (
            "stored_gb = 1\n[[scenario]]\nkind = 'cooperative'\nshare = 3",
            "scenario 1: share: expected a share from 0 to 1",
        ),
        ("stored_gb = 1\nscenario = 1", "scenario: expected a list"),
        ("stored_gb = ", "workload"),
    ],
)
def test_a_summary_that_cannot_be_is_one_line(
    vmtrace: Any, text: str, message: str, tmp_path: Path, prices: Path
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    refused(vmtrace("cost", path, "--prices", prices), 2, message)


def test_several_services_in_a_table_want_one_named(vmtrace: Any, summary: Path) -> None:
    refused(
        vmtrace("cost", summary, "--prices", "bocchi2014"), 2, "bocchi2014 has s3, glacier, azure-blob, swift: name one"
    )


def test_a_table_with_gaps_names_what_is_missing(vmtrace: Any, summary: Path, tmp_path: Path) -> None:
    path = tmp_path / "gaps.toml"
    path.write_text(
        TABLE.split('[[price]]\nprovider = "s3"\nclass', maxsplit=1)[0].replace("download_per_gb = 0.1\n", "")
    )
    content = document(vmtrace("cost", summary, "--prices", path, "--json", "-"))
    base = content["scenarios"][0]
    assert (base["year"]["transfer"], base["year"]["total"]) == (None, None)
    assert base["missing"] == ["s3: download_per_gb"]
    assert "has no total: missing s3: download_per_gb" in content["sentence"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('currency = "USD"\n[[invoice]]\ntotal = 1\n', "the charges of everything in the store are in EUR, not in USD"),
        (
            'currency = "EUR"\n[[invoice]]\nscenario = "x"\ntotal = 1\n',
            "scenario: expected one of everything in the store",
        ),
        ('currency = "EUR"\n[[invoice]]\nbandwidth = 1\n', "'bandwidth' is unknown"),
    ],
)
def test_an_invoice_of_something_else_is_one_line(
    vmtrace: Any, text: str, message: str, summary: Path, prices: Path, tmp_path: Path
) -> None:
    path = tmp_path / "invoice.toml"
    path.write_text(text)
    refused(vmtrace("cost", summary, "--prices", prices, "--invoice", path), 2, message)


def test_currencies_that_are_mixed_in_a_table_are_refused(vmtrace: Any, summary: Path, tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(TABLE.replace('class = "archive"', 'class = "archive"\ncurrency = "USD"'))
    refused(vmtrace("cost", summary, "--prices", path), 2, "currency 'USD' in a table of EUR")


def test_a_trace_out_of_order_is_one_line_and_status_1(vmtrace: Any, prices: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time,object,bytes\n5,a,1\n4,a,1\n")
    refused(vmtrace("cost", path, "--prices", prices), 1, "row 2: time goes back by 1 s: sort the trace by time")
    refused(vmtrace("cost", tmp_path / "none.csv", "--prices", prices), 1, "none.csv: no such file")


def test_what_is_no_storage_run_is_one_line_and_status_1(vmtrace: Any, prices: Path, tmp_path: Path) -> None:
    refused(vmtrace("cost", "--from", tmp_path, "--rate", "1/day", "--prices", prices), 1, "not a run folder")
    empty = MadeRun(tmp_path / "empty").folder
    refused(vmtrace("cost", "--from", empty, "--rate", "1/day", "--prices", prices), 1, "does not say what was used")


def test_ctrl_c_ends_with_one_line_and_leaves_no_half_a_file(prices: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "long.csv", tmp_path / "out.json"
    with path.open("w") as file:
        file.write("time,object,bytes\n")
        for part in range(100):
            file.write("".join(f"{part * 40_000 + row},{row % 30_011},1000\n" for row in range(40_000)))
    words = [sys.executable, "-P", "-m", "vmtrace", "cost", str(path), "--prices", str(prices), "--json", str(out)]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    opened = Path(f"/proc/{running.pid}/fd")
    ends_s = time.monotonic() + 60
    while running.poll() is None and str(path) not in {os.path.realpath(one) for one in list_of(opened)}:
        assert time.monotonic() < ends_s
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said_ = running.communicate(timeout=60)
    assert (running.returncode, said_.strip()) == (130, "vmtrace: interrupted")
    assert not out.exists()
    assert list(tmp_path.glob(".vmtrace-*")) == []


def list_of(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
