"""`vmtrace queue` as a person calls it: whole runs, reports, and what cannot be. Kills: test_commands_queue_killed."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.vmtrace.queue_runs import (
    SLOW,
    accounted,
    command,
    environment,
    eventually,
    queue_run,
    queues_of,
    ran,
    report_of,
    state_of,
)
from vmtrace.lab.services.service import Service

QUICK = ("--messages", "20", "--rate", "40", "--wait", "1s", "--visibility", "5s", "--receivers", "1")


@pytest.fixture(scope="module")
def quick(moto_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that several tests look at."""
    out = tmp_path_factory.mktemp("quick") / "run"
    done = queue_run(moto_service, "sqs", out, "--location", "ireland", *QUICK)
    assert done.returncode == 0, done.stderr
    return out


def test_a_fifo_queue_keeps_its_order(moto_service: Service, tmp_path: Path) -> None:
    done = queue_run(moto_service, "sqs", tmp_path / "run", "--fifo", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "20 messages: 20 delivered" in done.stdout
    run = report_of(tmp_path / "run")
    assert run["fifo"]
    assert run["order"]["fifo_violations"] == 0
    assert state_of(tmp_path / "run")["queue"].endswith(".fifo")
    assert state_of(tmp_path / "run")["queue"] not in queues_of(moto_service)


@pytest.mark.may_skip
def test_azure_queues_are_run_in_whole(azurite_queue_service: Service, tmp_path: Path) -> None:
    done = queue_run(azurite_queue_service, "azure", tmp_path / "run", *QUICK)
    assert done.returncode == 0, done.stderr
    run = report_of(tmp_path / "run")
    assert accounted(tmp_path / "run")["delivered"] == 20
    assert {row["operation"]: row["batch"] for row in run["rates"]} == {"send": 1, "receive": 32, "delete": 1}
    assert state_of(tmp_path / "run")["queue_removed"]


def test_the_plan_of_2007_gives_rates_in_and_out_for_each_batch(moto_service: Service, tmp_path: Path) -> None:
    plan = ("--plan", "garfinkel2007-queue", "--scale", "0.002", "--prices", "garfinkel2007")
    done = queue_run(moto_service, "sqs", tmp_path / "run", *plan)
    assert done.returncode == 0, done.stderr
    run = report_of(tmp_path / "run")
    assert accounted(tmp_path / "run")["delivered"] == 80
    assert {(row["operation"], row["batch"]) for row in run["rates"]} >= {("send", 1), ("send", 10), ("receive", 10)}
    assert max(row["threads"] for row in run["rates"]) == 4
    assert all(row["messages_per_s"] > 0 for row in run["rates"])
    assert all(row["n"] == 0 for row in run["latency"])  # what waits in a queue on purpose has no latency
    assert run["charges"]["messages"] == pytest.approx(80 * 0.10 / 1000)
    assert len(run["limits"]) == 8


def test_as_fast_as_possible_bounds_the_backlog(moto_service: Service, tmp_path: Path) -> None:
    words = ("--plan", "yoon-latency-fast", "--messages", "200", "--backlog", "30", "--wait", "1s", "--receivers", "1")
    done = queue_run(moto_service, "sqs", tmp_path / "run", *words)
    assert done.returncode == 0, done.stderr
    events = []
    for path in (tmp_path / "run/logs").glob("*.jsonl"):
        for line in map(json.loads, path.read_text().splitlines()):
            if line["operation"] == "sending":
                events.append((line["time_ns"], len(line["numbers"])))
            elif line["operation"] == "delete":
                events.append((line["start_ns"], -len(line["numbers"])))  # not later than the service deleted them
    level = most = 0
    for _, change in sorted(events):
        level += change
        most = max(most, level)
    assert most <= 30 + 10  # two senders may look at the same moment
    (due, sent) = report_of(tmp_path / "run")["latency"]
    assert (due["n"], sent["n"]) == (0, 200)
    assert "nothing was due" in due["reason"]


def test_foreign_messages_are_left_alone_and_reported(moto_service: Service, tmp_path: Path) -> None:
    import boto3

    client = boto3.session.Session(
        aws_access_key_id="lab-access-key", aws_secret_access_key="lab-secret-key", region_name=moto_service.region
    ).client("sqs", endpoint_url=moto_service.endpoint_url, verify=str(moto_service.ca_path))
    name = f"shared-{os.urandom(4).hex()}"
    url = client.create_queue(QueueName=name)["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="somebody else's")
    done = queue_run(moto_service, "sqs", tmp_path / "run", "--queue", name, *QUICK)
    assert done.returncode == 0, done.stderr
    assert f"about 1 messages are in {name} already" in done.stderr
    run = report_of(tmp_path / "run")
    assert run["foreign"] >= 1
    assert run["messages"]["delivered"] == 20
    client.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": "1"})
    bodies: set[str] = set()

    def came() -> bool:
        bodies.update(one["Body"] for one in client.receive_message(QueueUrl=url).get("Messages", []))
        return bool(bodies)

    eventually(came)
    assert bodies == {"somebody else's"}
    client.delete_queue(QueueUrl=url)
    client.close()


def test_a_fifo_queue_is_no_standard_one(moto_service: Service, tmp_path: Path) -> None:
    import boto3

    client = boto3.session.Session(
        aws_access_key_id="lab-access-key", aws_secret_access_key="lab-secret-key", region_name=moto_service.region
    ).client("sqs", endpoint_url=moto_service.endpoint_url, verify=str(moto_service.ca_path))
    name = f"ordered-{os.urandom(4).hex()}.fifo"
    url = client.create_queue(QueueName=name, Attributes={"FifoQueue": "true"})["QueueUrl"]
    done = queue_run(moto_service, "sqs", tmp_path / "run", "--queue", name, *QUICK)
    assert done.returncode == 1
    assert f"{name} is a FIFO queue, and the run is for a standard one: add --fifo" in done.stderr
    client.delete_queue(QueueUrl=url)
    client.close()


def test_a_budget_ends_the_run_before_it_is_exceeded(moto_service: Service, tmp_path: Path) -> None:
    done = queue_run(moto_service, "sqs", tmp_path / "run", "--max-bytes", "30 kB", *SLOW)
    assert done.returncode == 1
    assert "--max-bytes 30,000 bytes are used up" in done.stderr
    state = state_of(tmp_path / "run")
    assert (state["status"], state["queue_removed"]) == ("budget", True)
    assert accounted(tmp_path / "run")["unsent"] > 0


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (["--provider", "sqs"], 2, "--provider and --out"),
        (["--provider", "rabbit", "--out", "x"], 2, "there are azure-queue, sqs"),
        (["--provider", "sqs", "--out", "x", "--plan", "none.toml"], 2, "yoon-latency"),
        (["--provider", "sqs", "--out", "x", "--rate", "0"], 2, "--rate 0"),
        (["--provider", "sqs", "--out", "x", "--size", "2MiB"], 2, "--size"),
        (["--provider", "azure", "--out", "x", "--size", "70kB"], 2, "too large"),
        (["--provider", "azure", "--out", "x", "--fifo"], 2, "no FIFO queues"),
        (["--provider", "sqs", "--out", "x", "--max-cost", "1"], 2, "--prices"),
        (["--provider", "sqs", "--out", "x", "--endpoint-url", "ftp://x"], 2, "http"),
        (["--resume", "x", "--rate", "3"], 2, "does not go with --resume"),
        (["--resume", "x"], 1, "no run is there"),
    ],
)
def test_what_cannot_be_is_one_line(
    moto_service: Service, tmp_path: Path, words: list[str], status: int, line: str
) -> None:
    done = subprocess.run(
        command("run", *words), env=environment(moto_service), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert line in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_such_queue_and_no_credentials_are_one_line(moto_service: Service, tmp_path: Path) -> None:
    done = queue_run(moto_service, "sqs", tmp_path / "run", "--queue", "nowhere", *QUICK)
    assert done.returncode == 1
    assert "create it, name another with --queue" in done.stderr
    env = {**environment(moto_service), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    words = command("run", "--provider", "sqs", "--out", str(tmp_path / "other"), "--no-capture", *QUICK)
    refused = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "credentials" in refused.stderr.lower()
    assert "Traceback" not in refused.stderr


def test_nothing_secret_is_in_the_run_folder(quick: Path) -> None:
    for path in quick.rglob("*"):
        if path.is_file():
            assert b"lab-secret-key" not in path.read_bytes()
            assert path.stat().st_mode & 0o077 == 0 or path.parent.name == "host", path


def test_reports_have_a_page_figures_and_tables(moto_service: Service, quick: Path, tmp_path: Path) -> None:
    shutil.copytree(quick, tmp_path / "one")
    shutil.copytree(quick, tmp_path / "two")
    (tmp_path / "two/run.json").write_text(json.dumps(state_of(quick) | {"location": "tokyo"}))
    words = ["report", str(tmp_path / "one"), str(tmp_path / "two"), "--html", str(tmp_path / "page.html")]
    done = ran(moto_service, *words, "--csv", str(tmp_path / "tables"), "--figures", str(tmp_path / "figures"))
    assert done.returncode == 0, done.stderr
    assert "ireland/us-east-1" in done.stdout
    assert "tokyo/us-east-1" in done.stdout
    page = (tmp_path / "page.html").read_text()
    assert page.index("queue-latency-over-time") < page.index("queue-rates-over-time")
    assert {"latency.csv", "rates.csv", "messages.csv"} <= {path.name for path in (tmp_path / "tables").iterdir()}
    assert (tmp_path / "figures/queue-latency-over-time.png").exists()


def test_a_folder_that_is_no_queue_run_is_one_line(moto_service: Service, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": "vmtrace.storage_run/1"}')
    for words in (["report"], ["clean"], ["run", "--resume"]):
        done = ran(moto_service, *words, str(tmp_path))
        assert done.returncode == 1
        assert "not a run of vmtrace queue" in done.stderr
        assert done.stderr.count("\n") == 1
