"""The raw file holds every answer; the table is made from it alone."""

import json
from pathlib import Path

import pytest

from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.store import command_line, fetches_of, kept_fetches, save, series_of, version

FETCH = {
    "kind": "imported",
    "source": "a.json",
    "answer": {"Label": "NetworkIn", "Datapoints": [{"Timestamp": "2026-11-21T14:00:00Z", "Sum": 5}]},
}


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    series = save(tmp_path, [FETCH])
    assert kept_fetches(tmp_path) == [FETCH]
    assert series == series_of([FETCH], [])
    assert "NetworkIn,AWS/EC2" in (tmp_path / "cloudwatch.csv").read_text()


def test_what_must_not_be_in_a_file_is_in_neither(tmp_path: Path) -> None:
    answer = {"Label": "a SECRET b", "Datapoints": [{"Timestamp": "2026-11-21T14:00:00Z", "Sum": 5}]}
    save(tmp_path, [FETCH | {"answer": answer}], lambda text: text.replace("SECRET", "-"))
    for name in ("cloudwatch.json", "cloudwatch.csv"):
        text = (tmp_path / name).read_text()
        assert "SECRET" not in text
        assert "a - b" in text


def test_numbers_that_json_has_not_are_kept_as_text(tmp_path: Path) -> None:
    save(tmp_path, [FETCH | {"answer": {"Datapoints": [float("inf")], "x": (float("nan"), 1.5)}}])

    def refuse(name: str) -> None:
        raise AssertionError(name)

    document = json.loads((tmp_path / "cloudwatch.json").read_text(), parse_constant=refuse)
    assert document["fetches"][0]["answer"] == {"Datapoints": ["inf"], "x": ["nan", 1.5]}


def test_what_is_nested_without_an_end_is_refused(tmp_path: Path) -> None:
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(CloudWatchError, match="nested too deeply"):
        save(tmp_path, [{"answer": deep}])
    assert list(tmp_path.iterdir()) == []


def test_another_schema_is_refused() -> None:
    with pytest.raises(CloudWatchError, match=r"x: its schema is 'other', expected 'vmtrace.cloudwatch/1': rename it"):
        fetches_of(b'{"schema": "other"}', "x")


def test_a_run_without_metrics_has_no_fetches(tmp_path: Path) -> None:
    assert kept_fetches(tmp_path) == []


def test_version_and_command_line_are_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/x/bin/vmtrace", "cloudwatch", "fetch", "my run"])
    assert command_line() == "vmtrace cloudwatch fetch 'my run'"
    assert version()
