"""What a report writes for programs: JSON as its schema and its page of documentation say, CSV with provenance."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.analyze.schemas import properties
from vmtrace.analyze.charts import on_page
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import RunFolderError, read_run
from vmtrace.analyze.reports.run import provenance
from vmtrace.analyze.reports.run.document import csv_tables, document
from vmtrace.analyze.reports.run.figures import charts
from vmtrace.analyze.reports.run.human import show
from vmtrace.analyze.reports.run.page.page import page_of
from vmtrace.analyze.reports.run.results import RunResults
from vmtrace.analyze.reports.run.transfers.transfers import Measuring
from vmtrace.analyze.reports.run.verdict.of_run import run_verdicts
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.tables.schema import load
from vmtrace.analyze.words.document import as_bytes

SCHEMA = load("vmtrace.run_report.1")
PAGE = Path(__file__).parents[2] / "docs/report.md"


def results_of(made: Any) -> RunResults:
    run = read_run(made.folder)
    return RunResults(run, tuple(Measuring(run).run()), run.problems)


def written(*made: Any) -> dict[str, Any]:
    runs = [results_of(one) for one in made]
    content: dict[str, Any] = json.loads(as_bytes(document(runs, [run.choose(None) for run in runs])))
    return content


def test_the_schema_is_one_and_requires_every_field() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert [name for name, required in properties(SCHEMA) if name not in required] == []


def test_a_run_with_everything_and_one_with_little_are_as_the_schema_says(small_run: Any, new_run: Any) -> None:
    bare = new_run("bare")
    bare.record |= {"plan": None, "status": "running", "end_ns": None, "id": None}
    bare.save()
    line = bare.pair(1, rtt=None, repeat=None, pair=None)
    line["data"] |= {"tcp": None, "connections": []}
    bare.add(line, bare.pair(2, status="failed", data=None, error=None))
    (bare.folder / "ping.jsonl").unlink()
    content = written(small_run, bare)
    errors = [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]
    assert errors == []
    whole, little = content["runs"]
    assert (len(whole["transfers"]), len(little["transfers"])) == (16, 2)
    assert little["failed_pairs"] == [{"sequence": 2, "index": "I_0", "error": None}]
    assert little["transfers"][1]["kernel_retransmission_rate"] is None
    assert whole["drawn_pair"]["sequence"] == 1


def test_nothing_is_written_that_the_schema_does_not_know(small_run: Any) -> None:
    content = written(small_run)
    known = {name for name, _ in properties(SCHEMA)}

    def names(node: Any) -> set[str]:
        if isinstance(node, dict):
            return set(node).union(*map(names, node.values()))
        return set().union(*map(names, node)) if isinstance(node, list) else set()

    assert names(content) - known == set()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "vmtrace.run_report/2"),
        (("runs", 0, "table_2", 0, "role"), "both"),
        (("runs", 0, "transfers", 0, "loss_rate"), 1.5),
        (("runs", 0, "table_1", 0, "finished"), None),
        (("runs", 0, "correlation", 0, "pearson"), 0.5),
    ],
)
def test_what_breaks_the_contract_is_found(small_run: Any, path: tuple[str | int, ...], value: object) -> None:
    content = written(small_run)
    place: Any = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)) != []


def test_every_field_of_the_schema_is_described_and_every_field_described_is_there() -> None:
    page = PAGE.read_text()
    code = {word for text in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"[a-z0-9_]+", text)}
    known = {name for name, _ in properties(SCHEMA)}
    assert known - code == set()
    rows = page.split("## JSON: `vmtrace.run_report/1`")[1].split("\n## ")[0]
    described = {
        name for row in re.findall(r"^\|.*\|$", rows, re.MULTILINE) for name in re.findall(r"`([a-z0-9_]+)`", row)
    }
    assert described - known - {"data", "probe", "address", "port", "both"} == set()


def _places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a record are, those inside others, too."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from _places(value, (*path, key))


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=9),
    st.sampled_from([[], {}, 0, -1, 1e18, 1e-300, 2**62, "10.0.0.1:5001"]),
)  # fmt: skip


@hypothesis.settings(max_examples=60, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.slow
def test_whatever_stands_in_a_record_the_report_is_made_or_the_run_refused(
    small_run: Any, tmp_path: Path, data: st.DataObject
) -> None:
    lines = [small_run.pair(sequence, f"I_{sequence % 2}") for sequence in range(1, 8)]
    small_run.capture(lines[0], "data")
    record = json.loads(json.dumps(small_run.record))
    for _ in range(data.draw(st.integers(1, 3))):
        target = data.draw(st.sampled_from([record, *lines[:2]]))
        *way, last = data.draw(st.sampled_from(list(_places(target))))
        for key in way:
            target = target[key]
        target[last] = data.draw(ANYTHING)
    (small_run.folder / "run.json").write_text(json.dumps(record))
    (small_run.folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    try:
        run = read_run(small_run.folder)
    except RunFolderError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both ways are right
        return
    results = RunResults(run, tuple(Measuring(run).run()), run.problems)
    choice = results.choose(None)
    content = json.loads(as_bytes(document([results], [choice])))
    errors = [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]
    assert errors == []
    drawn = charts([results], [choice])
    json.dumps([on_page.of_chart(chart) for chart in drawn], allow_nan=False)
    write_report_page(page_of([results], drawn, provenance.of_runs([results])), tmp_path / "r.html")
    write_tables(csv_tables([results]), provenance.of_runs([results]), tmp_path / "tables")
    show(results, Console(file=io.StringIO(), width=120))


CELLS = st.one_of(
    st.sampled_from(["", "0", "-1", "nan", "inf", "1e308", "-1e308", "1e-320", "18446744073709551616", "true"]),
    st.floats().map(str), st.integers().map(str), st.text("0123456789.e-;=%\x00é ", max_size=9),
)  # fmt: skip


def _table(header: str, rows: list[str], data: st.DataObject) -> str:
    """A table of a run folder with some cells, or a whole line, replaced by anything."""
    lines = [row.split(",") for row in (header, *rows)]
    for _ in range(data.draw(st.integers(0, 8))):
        line = data.draw(st.sampled_from(lines))
        line[data.draw(st.integers(0, len(line) - 1))] = data.draw(CELLS)
    return "".join(",".join(line) + "\n" for line in lines)


@hypothesis.settings(
    max_examples=20, deadline=None, suppress_health_check=[hypothesis.HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
@pytest.mark.slow
def test_whatever_stands_in_tables_beside_the_packets_the_report_is_made(
    small_run: Any, tmp_path: Path, data: st.DataObject
) -> None:
    lines = [small_run.pair(sequence, f"I_{sequence % 2}") for sequence in range(1, 15)]
    for number, line in enumerate(lines):
        line["data"] |= {"goodput_bps": 1e6 * (1 + number % 5), "duration_s": data.draw(st.floats(0, 1e12))}
    small_run.record["clock"] = {"offset_s": data.draw(st.floats(-1e18, 1e18))}
    small_run.save()
    (small_run.folder / "pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    start_ns, seconds = lines[0]["start_ns"], range(0, 150, 2)
    (small_run.folder / "host").mkdir(exist_ok=True)
    for side in ("sender", "receiver"):
        rows = [f"{start_ns + at * 10**9},{at * at % 7 + at},{at},{at / 9},{at // 3},0" for at in seconds]
        header = "time_ns,cpu_user_s,cpu_idle_s,cpu_steal_s,softnet_dropped,clock_stepped_s"
        (small_run.folder / f"host/{side}.csv").write_text(_table(header, rows, data))
    rows = [
        f"{start_ns + at * 10**9},60,{name},NS,x=y,{statistic},{at},,{cumulative},{at},false"
        for at in range(-60, 180, 60)
        for name, statistic, cumulative in (
            ("CPUUtilization", "Average", "false"), ("ethtool_bw_in_allowance_exceeded", "Maximum", "true")
        )
    ]  # fmt: skip
    header = "start_ns,period_s,metric,namespace,dimensions,statistic,value,unit,cumulative,delta,open"
    (small_run.folder / "cloudwatch.csv").write_text(_table(header, rows, data))
    results = results_of(small_run)
    choice = results.choose(None)
    content = json.loads(as_bytes(document([results], [choice])))
    errors = [f"{e.json_path}: {e.message}" for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(content)]
    assert errors == []
    json.dumps([on_page.of_chart(chart) for chart in charts([results], [choice])], allow_nan=False)
    show(results, Console(file=io.StringIO(), width=120))


def test_csv_has_a_file_for_each_table_with_provenance_beside_it(small_run: Any, new_run: Any, tmp_path: Path) -> None:
    other = new_run("other")
    other.pairs(2, "I_5", captured=False)
    runs = [results_of(small_run), results_of(other)]
    folder = tmp_path / "tables"
    write_tables(csv_tables(runs), provenance.of_runs(runs), folder)
    assert not any(one.what_if for run in runs for one in run_verdicts(run))
    assert {path.name for path in folder.iterdir()} == {
        "table-1.csv", "table-2.csv", "correlation.csv", "prediction.csv", "limits.csv", "stability.csv",
        "influences.csv", "loss-bursts.csv", "transfers.csv", "provenance.json", "verdict.csv", "verdict-factors.csv",
        "verdict-evidence.csv", "pair-verdicts.csv",
    }, "nothing is predicted for transfers this small"  # fmt: skip
    with (folder / "transfers.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["run"] * 16 + ["other"] * 4
    assert rows[1]["retransmitted_segments"] == "1"
    assert rows[-1]["rtt_mean_s"] == "", "what was not measured is empty, not 0"
    facts = json.loads((folder / "provenance.json").read_text())
    assert facts["schema"] == "vmtrace.run_report/1"
    assert [one["captures"] for one in facts["runs"]] == [16, 0]
    assert re.fullmatch("[0-9a-f]{64}", facts["runs"][0]["pairs.jsonl sha256"])
    assert oct((folder / "table-1.csv").stat().st_mode & 0o777) == "0o600"
