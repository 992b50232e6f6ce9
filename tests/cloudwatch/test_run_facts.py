"""What a run folder tells, in whatever state it is."""

import time
from pathlib import Path
from typing import Any

import pytest

from tests.cloudwatch.made import INSTANCE, NS, REGION
from vmtrace.cloudwatch.errors import CloudWatchError
from vmtrace.cloudwatch.run_facts import is_instance_id, pairs, run_facts


def test_time_name_and_instance(ec2_run: Any) -> None:
    facts = run_facts(ec2_run.folder)
    assert (facts.name, facts.start_ns, facts.end_ns, facts.is_over) == (
        "run1",
        ec2_run.start_ns,
        ec2_run.end_ns,
        True,
    )
    instance = facts.instance(None)
    assert instance is not None
    assert (instance.side, instance.instance_id, instance.region, instance.host) == (
        "sender",
        INSTANCE,
        REGION,
        "ip-10-0-0-1",
    )
    assert facts.instance("receiver") is None


def test_a_run_without_an_end_ends_with_its_last_pair_or_now(new_run: Any) -> None:
    run = new_run()
    run.state["end_ns"] = None
    run.save()
    assert abs(run_facts(run.folder).end_ns - time.time_ns()) < 10 * NS
    run.pair(1, start_s=100)
    facts = run_facts(run.folder)
    assert (facts.end_ns, facts.is_over) == (run.start_ns + 110 * NS, False)


def test_damaged_and_torn_lines_are_left_out(new_run: Any) -> None:
    run = new_run()
    run.pair(1)
    with (run.folder / "pairs.jsonl").open("a") as file:
        file.write("nonsense\n[]\n{}\n")
    run.pair(2)
    with (run.folder / "pairs.jsonl").open("a") as file:
        file.write('{"sequence": 3, "sta')
    assert [pair["sequence"] for pair in pairs(run.folder)] == [1, 2]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "not a run folder"),
        ("{", "run.json: not JSON"),
        ("[]", "its schema is None"),
        ('{"schema": "vmtrace.run/1"}', "has not begun"),
        ('{"schema": "vmtrace.run/1", "start_ns": "x"}', "has not begun"),
    ],
)
def test_what_is_no_run_is_one_line(tmp_path: Path, content: str | None, line: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(CloudWatchError, match=line):
        run_facts(tmp_path)
    with pytest.raises(CloudWatchError, match="no such run folder"):
        run_facts(tmp_path / "nothing")


def test_hostile_facts_name_no_instance(new_run: Any) -> None:
    run = new_run().facts(instance_id="i-0; rm -rf", region="r")
    assert run_facts(run.folder).instance(None) is None
    (run.folder / "host/sender.facts.json").write_text("[1]")
    assert run_facts(run.folder).instance(None) is None
    (run.folder / "host/sender.facts.json").write_text("{")
    with pytest.raises(CloudWatchError, match=r"host/sender\.facts\.json: not JSON"):
        run_facts(run.folder)


def test_instance_ids() -> None:
    assert is_instance_id("i-01234567")
    assert is_instance_id(INSTANCE)
    assert not is_instance_id("i-0123456")
    assert not is_instance_id(f"{INSTANCE}\n")
