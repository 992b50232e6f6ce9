"""Saved answers come into a run folder without any service, once each, and only if they are answers."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import golden_texts
from tests.cloudwatch.made import INSTANCE, NS, rows
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.records import iso


@pytest.fixture(autouse=True)
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 cannot be had: imports need none."""
    monkeypatch.setitem(sys.modules, "boto3", None)


def answer(run: Any, label: str = "CPUUtilization", statistic: str = "Average", first_s: int = 0) -> dict[str, Any]:
    """As `aws cloudwatch get-metric-statistics` prints it: in no order of time."""
    points = [
        {"Timestamp": iso(run.start_ns + (first_s + place * 60) * NS), statistic: float(place), "Unit": "Percent"}
        for place in (3, 0, 2, 1)
    ]
    return {"Label": label, "Datapoints": points}


def saved(folder: Path, name: str, document: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(document))
    return path


def test_an_answer_becomes_rows_in_order_of_time(ec2_run: Any, command: Any, tmp_path: Path) -> None:
    assert command("fetch", ec2_run.folder, "--from", saved(tmp_path, "a.json", answer(ec2_run))) == 0
    found = rows(ec2_run.folder)
    assert [row["value"] for row in found] == ["0", "1", "2", "3"]
    first = found[0]
    assert (first["period_s"], first["namespace"], first["unit"], first["statistic"]) == (
        "60",
        "AWS/EC2",
        "Percent",
        "Average",
    )
    assert (first["dimensions"], first["open"]) == (f"InstanceId={INSTANCE}", "")


def test_several_files_and_later_imports_come_together(ec2_run: Any, command: Any, tmp_path: Path) -> None:
    one = saved(tmp_path, "1.json", answer(ec2_run))
    two = saved(tmp_path, "2.json", answer(ec2_run, statistic="Maximum"))
    three = saved(tmp_path, "3.json", answer(ec2_run, first_s=240))
    command("fetch", ec2_run.folder, "--from", one, "--from", two, "--quiet")
    command("fetch", ec2_run.folder, "--from", three, "--from", three, "--quiet")
    command("fetch", ec2_run.folder, "--from", one, "--quiet")
    assert len(rows(ec2_run.folder)) == 12
    document = json.loads((ec2_run.folder / "cloudwatch.json").read_text())
    assert [fetch["source"] for fetch in document["fetches"]][:2] == ["1.json", "2.json"]
    assert sum(fetch["source"] == "1.json" for fetch in document["fetches"]) == 1


def test_our_own_raw_file_comes_into_another_run(ec2_run: Any, new_run: Any, command: Any, tmp_path: Path) -> None:
    command("fetch", ec2_run.folder, "--from", saved(tmp_path, "a.json", answer(ec2_run)), "--quiet")
    other = new_run("other")
    assert command("fetch", other.folder, "--from", ec2_run.folder / "cloudwatch.json") == 0
    assert rows(other.folder) == rows(ec2_run.folder)


def test_queries_come_with_the_answer(ec2_run: Any, command: Any, tmp_path: Path) -> None:
    stat = {
        "Metric": {"Namespace": "CWAgent", "MetricName": "ethtool_tx_drops", "Dimensions": []},
        "Period": 60,
        "Stat": "Maximum",
    }
    queries = saved(tmp_path, "q.json", [{"Id": "m1", "MetricStat": stat}])
    times = [iso(ec2_run.start_ns + place * 60 * NS) for place in range(7)]
    results = [{"Id": "m1", "Label": "x", "Timestamps": times, "Values": [5, 6, 8, 9, 11, 12, 14]}]
    path = saved(tmp_path, "a.json", {"MetricDataResults": results})
    assert command("fetch", ec2_run.folder, "--from", path, "--queries", queries) == 0
    assert [(row["cumulative"], row["delta"]) for row in rows(ec2_run.folder)][:3] == [
        ("true", ""),
        ("true", "1"),
        ("true", "2"),
    ]


def test_standard_input_is_taken(ec2_run: Any, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO(json.dumps(answer(ec2_run)).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=content))
    assert command("fetch", ec2_run.folder, "--from", "-") == 0
    assert len(rows(ec2_run.folder)) == 4


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "not JSON"),
        (b"\x00\xff", "not JSON"),
        (b"[1, 2]", "neither a cloudwatch.json of vmtrace nor"),
        (b'{"Metrics": []}', "neither a cloudwatch.json of vmtrace nor"),
        (b'{"MetricDataResults": []}', "no points of any metric"),
        (b'{"Datapoints": [{"Timestamp": 1, "Sum": NaN}]}', r"no points of any metric; .*not numbers \(1\)"),
        (b"[" * 200_000, "not JSON"),
        (b'{"Datapoints": ' + b"[" * 900 + b"]" * 900 + b"}", "no points of any metric"),
    ],
)
def test_what_is_no_answer_is_one_line_and_changes_nothing(
    ec2_run: Any, command: Any, tmp_path: Path, content: bytes, line: str
) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(CloudWatchError, match=line) as caught:
        command("fetch", ec2_run.folder, "--from", path)
    assert "\n" not in str(caught.value)
    assert not (ec2_run.folder / "cloudwatch.json").exists()


def test_an_answer_of_another_time_and_unknown_labels_are_reported(
    ec2_run: Any, command: Any, tmp_path: Path, capsys: Any
) -> None:
    times = ["2020-01-01T00:00:00Z"]
    results = [{"Id": "m1", "Label": "my label", "Timestamps": times, "Values": [5]}]
    path = saved(tmp_path, "a.json", {"MetricDataResults": results})
    assert command("fetch", ec2_run.folder, "--from", path) == 0
    shown = capsys.readouterr().err
    golden_texts.check("an-answer-of-another-time-and-unknown-labels-are-reported", shown)


@pytest.mark.parametrize("more", [{"NextToken": "x"}, {"StatusCode": "PartialData"}, {"StatusCode": "Complete"}])
def test_an_answer_that_says_it_is_a_part_is_reported(
    ec2_run: Any, command: Any, tmp_path: Path, capsys: Any, more: dict[str, str]
) -> None:
    result = {"Id": "m1", "Label": "CPUUtilization Average", "Timestamps": ["2020-01-01T00:00:00Z"], "Values": [5]}
    page = {"NextToken": "x"} if "NextToken" in more else {}
    path = saved(tmp_path, "a.json", {"MetricDataResults": [{**result, **more}], **page})
    assert command("fetch", ec2_run.folder, "--from", path) == 0
    assert ("is incomplete" in capsys.readouterr().err) == (more != {"StatusCode": "Complete"})


def test_a_damaged_raw_file_of_the_run_is_not_overwritten(ec2_run: Any, command: Any, tmp_path: Path) -> None:
    (ec2_run.folder / "cloudwatch.json").write_text("{")
    with pytest.raises(CloudWatchError, match=r"cloudwatch\.json: not JSON.*: remove or rename it"):
        command("fetch", ec2_run.folder, "--from", saved(tmp_path, "a.json", answer(ec2_run)))
    assert (ec2_run.folder / "cloudwatch.json").read_text() == "{"
