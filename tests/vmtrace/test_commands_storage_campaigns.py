"""Campaigns as a person starts them: options, a crash and `--resume`, thinning, and the report."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.eventually import eventually
from tests.in_process import vmtrace_here
from vmtrace.commands.storage_thin import share_of
from vmtrace.lab.services.service import Service as Server

PLAN = 'kind = "probes"\nmean_interval = 0.3\nsizes = ["1 kB"]\nfor = "1h"\n'


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "vmtrace", "storage", *map(str, words)]


def refused(*words: object) -> str:
    done = subprocess.run(command(*words), check=False, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    return done.stderr


def requests_of(run: Path) -> list[dict[str, Any]]:
    path = run / "requests.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_a_killed_campaign_goes_on_and_loses_at_most_the_probe_in_flight(
    swift_service: Server, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    run, plan = tmp_path / "run", tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("0.3", "1"))  # else a busy machine has many under way at once
    words = command("run", "--provider", "s3", "--out", run, "--plan", plan, "--no-capture", "--quiet")
    campaign = subprocess.Popen(words)
    assert eventually(lambda: len(requests_of(run)) >= 12, 120)
    campaign.send_signal(signal.SIGKILL)
    campaign.wait()
    before = requests_of(run)
    state = json.loads((run / "run.json").read_text())
    assert state["status"] == "running"
    resumed = subprocess.Popen([*words, "--resume"])
    assert eventually(lambda: len(requests_of(run)) >= len(before) + 8, 120)
    resumed.send_signal(signal.SIGINT)
    resumed.wait(60)
    after = requests_of(run)
    assert after[: len(before)] == before
    sessions: dict[int, list[int]] = {one["session"]: [] for one in after}
    for one in after:
        sessions[one["session"]].append(one["probe"])
    assert set(sessions) == {1, 2}
    # Every probe that was over is there whole, and the numbers go on.
    assert min(sessions[2]) == max(sessions[1]) + 1
    over = [probe for probe in set(sessions[1]) if sessions[1].count(probe) == 4]
    assert len(set(sessions[1])) - len(over) <= 4  # those that overlapped when it was killed
    state = json.loads((run / "run.json").read_text())
    assert (state["status"], state["sessions"]) == ("interrupted", 2)
    if state["left_behind"]:  # a busy machine had no time for it, and said so
        subprocess.run(command("clean", run), check=True)
    client = boto3.session.Session().client("s3")
    assert state["container"] not in [one["Name"] for one in client.list_buckets()["Buckets"]]
    client.close()
    done = vmtrace_here("storage", "report", run, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["runs"][0]
    assert found["campaign"]["requests"] == len(after)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--plan", "garfinkel2007-surge", "--sizes", "1kB"],
            "--sizes: of plans of kind probes, availability, locations",
        ),
        (["--plan", "bocchi2014", "--for", "1h"], "--for: of plans of kind probes, surge"),
        (["--plan", "yoon-upload", "--mean-interval", "1s"], "--mean-interval: of plans of kind probes"),
        (["--plan", "garfinkel2007-probes", "--for", "0s"], "--for: more than 0"),
        (["--plan", "garfinkel2007-probes", "--sizes", "1kB,x"], "--sizes"),
        (["--plan", "garfinkel2007-surge", "--start-at", "2001-01-01T00:00Z"], "is in the past: give a future time"),
        (["--plan", "garfinkel2007-surge", "--start-at", "2030-01-01"], "add the time zone"),
        (["--plan", "garfinkel2007-probes", "--keep-packets", "1%"], "slowest:1% is the form"),
        (["--plan", "bocchi2014", "--resume"], "--resume: of plans of kind probes"),
    ],
)
def test_options_that_cannot_be_meant_are_wrong_usage(words: list[str], told: str, tmp_path: Path) -> None:
    assert told in refused("run", "--provider", "s3", "--out", tmp_path / "run", *words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("text", "share"), [("slowest:1%", 0.01), ("slowest:0%", 0.0), ("slowest:12.5%", 0.125)])
def test_what_is_kept_is_a_share_of_the_slowest(text: str, share: float) -> None:
    assert share_of(text) == pytest.approx(share)


def test_thinning_a_folder_that_is_no_run_is_an_error_of_one_line(tmp_path: Path) -> None:
    done = vmtrace_here("storage", "thin", tmp_path)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.root
@pytest.mark.untimed
def test_packets_are_thinned_while_a_campaign_runs(
    swift_service: Server, client_of: Callable[[Server], None], tmp_path: Path
) -> None:
    client_of(swift_service)
    run, plan = tmp_path / "run", tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("1h", "4 s"))
    words = command("run", "--provider", "s3", "--out", run, "--plan", plan, "--interface", "lo", "--quiet")
    subprocess.run([*words, "--keep-packets", "slowest:1%"], check=True)
    facts = json.loads((run / "packets/01-0001.facts.json").read_text())
    assert len(facts["connections"]) >= len(requests_of(run))
    done = vmtrace_here("storage", "report", run, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["runs"][0]["campaign"]
    assert found["requests_in_captures"] == found["requests"]
    assert (run / "packets/01-0001.pcap").stat().st_mode & 0o777 == 0o600
