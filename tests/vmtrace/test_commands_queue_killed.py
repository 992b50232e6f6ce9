"""`vmtrace queue run` interrupted: kill -9 of any process, Ctrl-C, resume and clean; no message is unaccounted for."""

import os
import signal
from pathlib import Path

import pytest

from tests.cut import cut
from tests.vmtrace.queue_runs import (
    SLOW,
    accounted,
    eventually,
    lines_with,
    queues_of,
    ran,
    report_of,
    started,
    state_of,
    worker_of,
)
from vmtrace.lab.services.service import Service


@pytest.mark.parametrize("role", cut(["receiver", "sender", "deleter"], 1))
def test_a_killed_process_ends_the_run_and_resume_delivers_the_rest(
    role: str, moto_service: Service, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = started(moto_service, "run", "--provider", "sqs", "--out", str(out), "--no-capture", *SLOW)
    eventually(lambda: lines_with(out, "deleter", "delete") > 5)
    os.kill(worker_of(out, role), signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert f"{role} " in errors
    assert "was killed (SIGKILL)" in errors
    assert "--resume" in errors
    done = ran(moto_service, "run", "--resume", str(out), "--no-capture")
    assert done.returncode == 0, done.stderr
    fates = accounted(out)
    assert fates["delivered"] + fates["lost_in_flight"] + fates["refused"] == 60
    assert fates["lost_in_flight"] <= 2  # at most the sends that were under way
    assert (fates["unsent"], fates["lost"], fates["pending"]) == (0, 0, 0)
    assert state_of(out)["queue"] not in queues_of(moto_service)


def test_a_killed_coordinator_leaves_a_run_that_clean_accounts_for(moto_service: Service, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(moto_service, "run", "--provider", "sqs", "--out", str(out), "--no-capture", *SLOW)
    eventually(lambda: lines_with(out, "sender", "send") > 9)
    receiver = worker_of(out, "receiver")
    process.kill()
    process.communicate()
    eventually(lambda: not Path(f"/proc/{receiver}").exists())
    done = ran(moto_service, "clean", str(out))
    assert done.returncode == 0, done.stderr
    assert "removed, and queue vmtrace-" in done.stdout
    fates = accounted(out)
    assert fates["unsent"] > 0
    assert fates["lost"] == 0
    assert state_of(out)["queue"] not in queues_of(moto_service)
    again = ran(moto_service, "clean", str(out))
    assert again.returncode == 0
    assert "0 messages removed;" in again.stdout
    refused = ran(moto_service, "run", "--resume", str(out))
    assert refused.returncode == 1
    assert "queue is removed" in refused.stderr


def test_a_killed_coordinator_leaves_a_run_that_resume_completes(moto_service: Service, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(moto_service, "run", "--provider", "sqs", "--out", str(out), "--no-capture", *SLOW)
    eventually(lambda: lines_with(out, "sender", "send") > 9)
    process.kill()
    process.communicate()
    done = ran(moto_service, "run", "--resume", str(out), "--no-capture")
    assert done.returncode == 0, done.stderr
    fates = accounted(out)
    assert fates["unsent"] == 0
    assert fates["delivered"] + fates["lost_in_flight"] == 60
    run = report_of(out)
    assert run["sessions"] == 2
    complete = ran(moto_service, "run", "--resume", str(out))
    assert "this run is complete" in complete.stderr


def test_ctrl_c_leaves_good_files_and_nothing_at_the_service(moto_service: Service, tmp_path: Path) -> None:
    out = tmp_path / "run"
    process = started(moto_service, "run", "--provider", "sqs", "--out", str(out), "--no-capture", *SLOW)
    eventually(lambda: lines_with(out, "sender", "send") > 10)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    state = state_of(out)
    assert state["status"] == "interrupted"
    if not state["queue_removed"]:  # a busy machine had no time for it, and said so
        assert "vmtrace queue clean" in errors
        assert ran(moto_service, "clean", str(out)).returncode == 0
    assert state["queue"] not in queues_of(moto_service)
    assert accounted(out)["unsent"] > 0
