"""A queue between two hosts whose clocks differ: latency by clocks that packets match is the proxy's truth."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.vmtrace.queue_runs import environment, eventually, report_of
from vmtrace.lab import namespaces
from vmtrace.lab.edit.capture import parse_capture, pcap_bytes
from vmtrace.lab.services import certificates, delayed_path, moto, queue_proxy
from vmtrace.lab.services.queue_proxy import Passed
from vmtrace.lab.services.service import Place, Service

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.long]
RTT_S = 0.04
BEHIND, NAME_SERVER = "198.18.2.14", "198.18.2.53"
MESSAGES = 300
AHEAD_NS, DRIFT = 7_400_000_000, 40e-6
"""By how much the receiving host's clock is ahead, and how fast it goes away."""


def started(prefix: Sequence[str], service: Service, out: Path, *words: str) -> subprocess.Popen[bytes]:
    command = [*prefix, sys.executable, "-m", "vmtrace", "queue", "run", "--out", str(out), *words]
    with out.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, env=environment(service))


def with_other_clock(run: Path) -> None:
    """What the receiving host recorded and noted itself, as a clock that is ahead and drifts would have it."""
    first: int = json.loads((run / "run.json").read_text())["start_ns"]

    def moved(time_ns: int) -> int:
        return time_ns + AHEAD_NS + round((time_ns - first) * DRIFT)

    def of_line(record: Any) -> Any:
        if isinstance(record, dict):
            return {
                key: moved(value) if key.endswith("_ns") and isinstance(value, int) else of_line(value)
                for key, value in record.items()
            }
        return record

    for path in [*run.glob("logs/*.jsonl"), run / "stages.jsonl"]:
        lines = [json.dumps(of_line(json.loads(line))) for line in path.read_text().splitlines()]
        path.write_text("".join(f"{line}\n" for line in lines))
    for path in run.glob("packets/*.pcap"):
        capture = parse_capture(path.read_bytes())
        frames = [replace(frame, time_ns=moved(frame.time_ns)) for frame in capture.frames]
        path.write_bytes(pcap_bytes(capture.with_frames(frames)))


def truth_s(passed: Sequence[Passed]) -> dict[int, float]:
    """From due until the proxy let the delivery go."""
    found: dict[int, float] = {}
    for one in passed:
        if one.what == "delivered":
            found.setdefault(one.number, (one.time_ns - one.due_ns) / 1e9)
    return found


def test_latency_across_two_hosts_is_the_proxy_s(tmp_path: Path) -> None:
    chain = certificates.make(tmp_path / "certificates", names=delayed_path.CERTIFICATE_NAMES)
    to, sent = tmp_path / "to", tmp_path / "from"
    with delayed_path.joined(tmp_path, RTT_S) as path:
        far = path.path.hosts["receiver"]
        place = path.places["sqs"]
        with (
            delayed_path.resolver_of(far.namespace, NAME_SERVER),
            moto.started(chain, Place(BEHIND, far.namespace)) as server,
            queue_proxy.started(server, (), chain, place) as proxy,
        ):
            plan = ("--rate", "10", "--messages", str(MESSAGES), "--wait", "1s")
            clock = f"{place.address}:5050"
            receives = started(
                namespaces.exec_prefix(far.namespace), proxy.service, to, "--provider", "sqs", "--only", "receive",
                "--clock", clock, "--interface", far.device, *plan,
            )  # fmt: skip
            try:
                eventually(lambda: bool(list(to.glob("logs/*receiver*.jsonl"))))
                sends = started(
                    path.client_command([]), proxy.service, sent, "--only", "send", "--other", str(to),
                    "--clock", clock, "--interface", path.client_device,
                )  # fmt: skip
                assert sends.wait(240) == 0, sent.with_suffix(".log").read_text()
                assert receives.wait(60) == 0, to.with_suffix(".log").read_text()
            finally:
                receives.kill()
            truth = truth_s(proxy.passed())
    with_other_clock(to)
    joined = report_of(sent, to)
    assert joined["messages"]["delivered"] == MESSAGES == len(truth)
    assert joined["messages"]["lost"] == 0
    (due,) = [row for row in joined["latency"] if row["from"] == "due"]
    assert due["n"] == MESSAGES
    # No method knows how a round trip is shared between its directions: half of it is the printed error.
    assert joined["clock_error_s"] == pytest.approx(RTT_S / 2, abs=0.005)
    for name, at in (("p50_s", 50), ("p90_s", 90)):
        assert due[name] == pytest.approx(np.percentile(list(truth.values()), at), abs=0.01)
