"""`vmtrace queue` against real servers, and what its report says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.in_process import vmtrace_here
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services.queue_proxy import QueueProxy
from vmtrace.lab.services.service import Service

SLOW = (
    "--rate", "20", "--messages", "60", "--senders", "2", "--receivers", "1", "--visibility", "2s", "--wait", "1s",
)  # fmt: skip


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "vmtrace", "queue", *words]


def environment(service: Service) -> dict[str, str]:
    kept = {name: value for name, value in module_environment().items() if not name.startswith(("AWS_", "AZURE_"))}
    return {**kept, **service.environment}


def started(service: Service, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*words), env=environment(service), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ran(service: Service, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*words), env=environment(service), capture_output=True, text=True, check=False, timeout=300
    )


def queue_run(service: Service, provider: str, out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ran(service, "run", "--provider", provider, "--out", str(out), "--no-capture", *words)


def report_of(*out: Path) -> dict[str, Any]:
    """The last run in the JSON of the report on them: that of two hosts together, if there is one."""
    place = out[0].with_name(f"{out[0].name}.json")
    done = vmtrace_here("queue", "report", *out, "--json", place)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(place.read_text())["runs"][-1]
    return found


def state_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "run.json").read_text())
    return found


def queues_of(service: Service) -> list[str]:
    """Names of the queues that an SQS server has."""
    import boto3

    client = boto3.session.Session(
        aws_access_key_id=service.environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=service.environment["AWS_SECRET_ACCESS_KEY"],
        region_name=service.region,
    ).client("sqs", endpoint_url=service.endpoint_url, verify=str(service.ca_path))
    found = [url.rpartition("/")[2] for url in client.list_queues().get("QueueUrls", [])]
    client.close()
    return found


def eventually(holds: Callable[[], bool], within_s: float = 60.0) -> None:
    ends_s = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < ends_s, "it did not come to that"
        time.sleep(0.05)


def lines_with(out: Path, role: str, operation: str) -> int:
    """How many calls of an operation the processes of a role have logged."""
    wanted = f'"operation":"{operation}"'
    return sum(path.read_text().count(wanted) for path in (out / "logs").glob(f"*-{role}-*.jsonl"))


def worker_of(out: Path, role: str) -> int:
    """The id of a process of this run in a role."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        ours = any(word.startswith(os.fsencode(str(out.resolve()))) for word in words)
        if ours and b"vmtrace.providers.queues.worker" in words and role.encode() in words:
            return int(folder.name)
    raise AssertionError(f"no {role} of {out} is running")


def truth_deliveries(proxy: QueueProxy) -> Counter[int]:
    """How often each message left the proxy."""
    return Counter(one.number for one in proxy.passed() if one.what == "delivered")


def accounted(out: Path) -> dict[str, int]:
    """The fates of all messages, which sum up."""
    fates: dict[str, int] = report_of(out)["messages"]
    parts = [fates[name] or 0 for name in fates if name != "planned"]
    assert sum(parts) == fates["planned"]
    return fates
