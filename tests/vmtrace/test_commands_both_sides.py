"""A run folder given to `vmtrace analyze`: its captures are read as ordinary files, and both sides are matched."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.analyze.two_ends import Path as Way
from tests.analyze.two_ends import pcap, transfer
from vmtrace.analyze.tables.schema import load
from vmtrace.commands import both_sides

START_NS = 1_700_000_000 * 10**9


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """One pair; its data transfer lost two segments and was captured at both sides."""
    folder = tmp_path / "RUN"
    made = transfer(Way(lost=frozenset({5, 9})))
    for side, records in (("sender", made.sender), ("receiver", made.receiver)):
        (folder / "packets" / side).mkdir(parents=True)
        (folder / "packets" / side / "0001-data.pcap").write_bytes(pcap(records))
    (folder / "run.json").write_text(json.dumps({"schema": "vmtrace.run/1", "status": "complete"}))
    one = {"bytes": 400_000, "start_ns": START_NS, "duration_s": 1.0, "goodput_bps": 3.2e6}
    ends = [{"stream": 0, "direction": "upload", "local": "10.0.0.1:40000", "peer": "10.0.0.2:5001"}]
    pair = {
        "sequence": 1, "index": "I_0", "status": "complete", "start_ns": START_NS,
        "probe": one, "data": one | {"connections": ends, "capture": {"sender_dropped": 0, "receiver_dropped": 0}},
    }  # fmt: skip
    (folder / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    return folder


def test_the_table_is_followed_by_what_both_sides_say_together(vmtrace: Any, run_folder: Path) -> None:
    done = vmtrace("analyze", str(run_folder))
    assert done.returncode == 0, done.stderr
    assert "RUN, both sides' captures together" in done.stdout
    assert "2 of 402 data segments lost in the network" in " ".join(done.stdout.split())


def test_the_document_holds_it_as_its_schema_says(vmtrace: Any, run_folder: Path) -> None:
    content = json.loads(vmtrace("analyze", str(run_folder), "--json", "-").stdout)
    schema = jsonschema.Draft202012Validator(load("vmtrace.analysis.1"))
    assert [f"{e.json_path}: {e.message}" for e in schema.iter_errors(content)] == []
    (run,) = content["runs"]
    known = load("vmtrace.run_report.1")["$defs"]
    assert set(run) == {"path", "name", "clock", "two_sides", "transfers"}
    assert set(run["clock"]) == set(known["clock"]["properties"])
    assert set(run["transfers"][0]) <= set(known["transfer"]["properties"])
    assert [(one["role"], one["two_sides_lost_segments"]) for one in run["transfers"]] == [("data", 2)]
    assert run["two_sides"][-1]["transfers"] == 1


def test_an_anonymous_document_leaves_out_where_the_run_is(vmtrace: Any, run_folder: Path) -> None:
    done = vmtrace("analyze", str(run_folder), "--anonymize", "--json", "-")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["path"] == run["name"] == "RUN"
    assert str(run_folder.parent) not in done.stdout
    assert "10.0.0." not in done.stdout


def test_a_filter_one_side_or_a_folder_that_is_no_run_is_only_captures(vmtrace: Any, run_folder: Path) -> None:
    filtered = json.loads(vmtrace("analyze", str(run_folder), "--filter", "tcp", "--json", "-").stdout)
    assert "runs" not in filtered
    assert "runs" not in json.loads(vmtrace("analyze", str(run_folder / "packets"), "--json", "-").stdout)
    (run_folder / "packets/receiver/0001-data.pcap").unlink()
    assert "runs" not in json.loads(vmtrace("analyze", str(run_folder), "--json", "-").stdout)


def test_a_run_that_cannot_be_read_is_reported_and_its_captures_are_read(
    run_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run_folder / "run.json").write_text("{}")
    assert both_sides.runs_of([str(run_folder), "-", "no such folder"]) == []
    assert "its captures are read as ordinary files" in capsys.readouterr().err
