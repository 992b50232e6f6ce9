"""The report as a whole: rates, calls, limits, wire, folders in any state, and the JSON by its schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.analyze.queues_made import Made, stage
from tests.analyze.schemas import properties
from vmtrace.analyze.pages.write import write_report_page
from vmtrace.analyze.read.records.run_folder import RunFolderError
from vmtrace.analyze.reports.queues.charts import charts
from vmtrace.analyze.reports.queues.document import csv_tables, document, provenance
from vmtrace.analyze.reports.queues.page import page_of
from vmtrace.analyze.reports.queues.rates import call_rows, rate_rows
from vmtrace.analyze.reports.queues.run_folder import read_queue_run
from vmtrace.analyze.reports.queues.tables import Report, reports_of
from vmtrace.analyze.reports.queues.texts import facts, heading, tables, trouble
from vmtrace.analyze.reports.queues.wire import measure
from vmtrace.analyze.tables.csv_files import write_tables
from vmtrace.analyze.tables.schema import load

SCHEMA = load("vmtrace.queue_report.1")


def report(made: Made) -> Report:
    run = made.read()
    (found,) = reports_of([(run, measure(run))])
    return found


def plain(tmp_path: Path, name: str = "run", **state: Any) -> Made:
    """Ten messages at 100 a second, received in two calls."""
    made = Made(tmp_path / name, stage(messages=10, rate_per_s=100.0), **state)
    for number in range(10):
        made.send([number], 10 * number + 1, 10 * number + 5, due=10 * number)
    made.receive([(number, 10 * number + 1, 10 * number) for number in range(4)], 20, 50)
    made.receive([], 50, 60)
    made.receive([(number, 10 * number + 1, 10 * number) for number in range(4, 10)], 60, 110)
    return made.delete(list(range(4)), 51, 55).delete(list(range(4, 10)), 111, 115).stage_ended()


def test_rates_are_messages_over_the_time_of_calls_that_moved_any(tmp_path: Path) -> None:
    rows = {row.operation: row for row in rate_rows(plain(tmp_path).read())}
    assert rows["send"].messages == 10
    assert rows["send"].seconds == pytest.approx(0.094)
    assert rows["send"].messages_per_s == pytest.approx(10 / 0.094)
    assert rows["receive"].messages_per_call == 5.0
    assert rows["receive"].seconds == pytest.approx(0.09)
    assert rows["send"].set_rate_per_s == 100.0


def test_threads_have_rates_of_their_own_and_one_together(tmp_path: Path) -> None:
    made = Made(tmp_path / "run", stage(kind="put", messages=4, senders=2))
    for number in range(4):
        made.send([number], 100 * (number // 2), 100 * (number // 2) + 50, place=number % 2)
    (row,) = rate_rows(made.read())
    assert row.threads == 2
    assert row.messages_per_s == pytest.approx(4 / 0.15)
    assert row.per_thread_messages_per_s == pytest.approx((2 / 0.15, 2 / 0.15))


def test_empty_receives_retries_and_errors_are_told_apart(tmp_path: Path) -> None:
    made = plain(tmp_path)
    made.receive([], 120, 130, requests=3, retry_causes={"503": 2})
    made.receive([], 130, 140, error_kind="throttled").receive([(3, 31, 30)], 140, 150, foreign=2)
    row = next(one for one in call_rows(made.read()) if one.operation == "receive")
    assert (row.calls, row.empty, row.failed, row.foreign) == (6, 2, 1, 2)
    assert (row.retries, row.retry_causes, row.errors) == (2, {"503": 2}, {"throttled": 1})


def limit_of(made: Made) -> tuple[str, str]:
    (row,) = report(made).limits
    return row.limited_by, row.sentence


def process(role: str, cpu_s: float, waited_s: float = 0.0) -> dict[str, Any]:
    return {"operation": "process", "resident_bytes": 10**7, "cpu_s": cpu_s, "wall_s": 10.0, "waited_s": waited_s}


def test_what_limited_the_rate_has_its_evidence(tmp_path: Path) -> None:
    assert limit_of(plain(tmp_path, "kept"))[0] == "set_rate"

    def fast(name: str) -> Made:
        made = Made(tmp_path / name, stage(messages=2)).send([0], 0, 50).send([1], 50, 100)
        return made.receive([(0, 0, None), (1, 50, None)], 0, 110).delete([0, 1], 110, 120)

    cause, sentence = limit_of(fast("trips"))
    assert (cause, "takes 50.0 ms (median) and moves 1 of at most 1" in sentence) == ("request_round_trips", True)
    cause, sentence = limit_of(fast("cpu").line("sender", process("sender", 9.1)))
    assert (cause, "sender 0 used 91.0 % of one" in sentence) == ("client_cpu", True)
    cause, sentence = limit_of(fast("backlog").line("sender", process("sender", 1.0, 6.0)))
    assert (cause, "waited 60.0 % of their time" in sentence) == ("backlog_bound", True)
    throttled = fast("throttled").send([1], 120, 130, error_kind="throttled", refused={"1": "throttled"})
    assert limit_of(throttled)[0] == "service_throttling"


def test_the_document_is_by_its_schema_and_names_every_field(tmp_path: Path) -> None:
    content = document([report(plain(tmp_path)), report(Made(tmp_path / "empty", stage()))])
    jsonschema.validate(content, SCHEMA)
    (run, _) = content["runs"]
    assert {name for name, _ in properties(SCHEMA)} >= set(run) | set(run["rates"][0]) | set(run["latency"][0])
    assert run["order"]["tau"] == 1.0
    assert run["wire"] == {"bytes_per_message": None, "packets_per_message": None}
    json.dumps(content, allow_nan=False)


def test_every_field_of_the_schema_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs/queue.md").read_text()
    assert {name for name, _ in properties(SCHEMA) if f"`{name}`" not in text} == set()


def test_page_tables_and_figures_are_made_of_any_state(tmp_path: Path) -> None:
    broken = Made(tmp_path / "broken", stage(), status="failed", error="<b>x</b>", collected=False).send([0], 0, 1)
    found = [report(plain(tmp_path)), report(broken)]
    page = tmp_path / "page.html"
    write_report_page(page_of(found, charts(found), {}), page)
    assert "<b>x</b>" not in page.read_text()
    write_tables(csv_tables(found), provenance(found), tmp_path / "tables")
    assert {table.name for table in tables(found)} >= {"latency", "rates", "order", "messages", "calls", "lateness"}
    assert any("not searched" in line for line in trouble(found[1]))
    assert "10 messages: 10 delivered" in list(facts(found[0]))
    assert heading(found[0]).startswith("made")


def test_runs_are_labelled_by_their_places(tmp_path: Path) -> None:
    runs = [plain(tmp_path, name, location=name).read() for name in ("here", "there")]
    assert [one.label for one in reports_of([(run, measure(run)) for run in runs])] == ["here/eu-west-1",
                                                                                        "there/eu-west-1"]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        '{"operation": "send"}',
        "[]",
        "{",
        '{"operation": "receive", "start_ns": 1, "end_ns": 2, "messages": [[1]]}',
        '{"operation": "send", "start_ns": 1, "end_ns": 2, "numbers": [0, 1], "due_ns": [0]}',
    ],
)
def test_a_damaged_line_is_left_out_and_reported(tmp_path: Path, line: str) -> None:
    made = plain(tmp_path)
    with (made.folder / "logs/001-1-sender-0.jsonl").open("a") as file:
        file.write(line + "\n")
    found = report(made)
    assert found.fates.delivered == 10
    assert any("left out" in problem for problem in found.run.problems)


KEYS = ["operation", "numbers", "messages", "start_ns", "refused", "opened", "send", "end_ns", "due_ns"]
plain_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
lists = st.lists(plain_values | st.lists(plain_values, max_size=3), max_size=3)
values = plain_values | lists | st.dictionaries(st.sampled_from(KEYS), plain_values | lists, max_size=5)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(values, st.sampled_from(["send", "receive", "delete", "sending", "process"]))
def test_no_line_of_a_log_breaks_the_report(tmp_path_factory: Any, content: Any, operation: str) -> None:
    made = Made(tmp_path_factory.mktemp("hostile") / "run", stage(messages=10)).send([0], 0, 5)
    record = {**(content if isinstance(content, dict) else {"numbers": content}), "operation": operation}
    made.line("sender", record)
    assert report(made).fates.planned == 10


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "run.json"),
        ("{}", "it has no schema"),
        ('{"schema": "vmtrace.storage_run/1"}', "not a run of vmtrace queue"),
        ('{"schema": "vmtrace.queue_run/1", "plan": {"repeat": 100000000, "stages": []}}', "repeat"),
        ('{"schema": "vmtrace.queue_run/1", "plan": {"stages": [{"kind": "push"}]}}', "put, take or flow"),
        ('{"schema": "vmtrace.queue_run/1", "plan": {"stages": [{"kind": "put", "messages": 900000000}]}}', "at most"),
    ],
)
def test_a_folder_that_is_no_run_says_why(tmp_path: Path, content: str, words: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=words):
        read_queue_run(tmp_path)


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    made = plain(tmp_path)
    outside = tmp_path / "outside.jsonl"
    outside.write_text('{"operation":"receive","start_ns":1,"end_ns":2,"messages":[[0,0,0]]}\n')
    (made.folder / "logs/001-1-taker-0.jsonl").symlink_to(outside)
    assert len(made.read().logs) == 3
