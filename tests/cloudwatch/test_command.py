"""The options as a user meets them, in the `vmtrace` command too."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.in_process import run_here
from vmtrace import cli
from vmtrace.cloudwatch.command import build_parser


def vmtrace(*arguments: str | Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    return run_here(cli.run, arguments, environment={"COLUMNS": "200"} | environment)


def test_the_policy_is_printed_by_vmtrace() -> None:
    done = vmtrace("cloudwatch", "policy")
    assert done.returncode == 0
    assert json.loads(done.stdout)["Version"] == "2012-10-17"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["fetch", "publish", "policy"]),
        (["fetch", "--help"], ["--instance-id", "--endpoint-url", "--from", "--no-wait", "examples:"]),
        (["publish", "--help"], ["--dry-run", "--again", "examples:"]),
    ],
)
def test_help_has_the_options_and_examples(arguments: list[str], words: list[str]) -> None:
    done = vmtrace("cloudwatch", *arguments)
    assert done.returncode == 0, done.stderr
    assert all(word in done.stdout for word in words)


def test_trouble_is_one_line_and_status_1(ec2_run: Any) -> None:
    done = vmtrace("cloudwatch", "fetch", ec2_run.folder, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("vmtrace: CloudWatch: no credentials")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["fetch"],
        ["fetch", "RUN", "--instance-id", "x"],
        ["fetch", "RUN", "--period", "7"],
        ["fetch", "RUN", "--period", "many"],
        ["fetch", "RUN", "--margin", "-1"],
        ["fetch", "RUN", "--side", "left"],
        ["fetch", "RUN", "--queries", "q.json"],
        ["fetch", "RUN", "--endpoint-url", "http://user:hunter2@host"],
        ["publish", "RUN", "--endpoint-url", "nonsense"],
    ],
)
def test_wrong_usage_is_status_2(command: Any, capsys: Any, arguments: list[str]) -> None:
    try:
        status = command(*arguments)
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    shown = capsys.readouterr().err
    assert shown
    assert "hunter2" not in shown


def test_quiet_prints_nothing_when_all_is_well(moto: Any, ec2_run: Any, command: Any, capfd: Any) -> None:
    moto.put("CPUUtilization", [1.0] * 5, ec2_run.start_ns)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--quiet") == 0
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_json_is_a_record_alone_on_standard_output(moto: Any, ec2_run: Any, command: Any, capsys: Any) -> None:
    moto.put("CPUUtilization", [1.0] * 5, ec2_run.start_ns)
    assert command("fetch", ec2_run.folder, "--endpoint-url", moto.url, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["schema"] == "vmtrace.cloudwatch_summary/1"
    assert [Path(name).name for name in record["files"]] == ["cloudwatch.json", "cloudwatch.csv"]
    assert {one["metric"] for one in record["series"]} == {"CPUUtilization"}


def test_every_option_has_help() -> None:
    (subparsers,) = (action for action in build_parser()._actions if action.dest == "command")
    for parser in subparsers.choices.values():  # type: ignore[union-attr]
        assert all(action.help for action in parser._actions)
