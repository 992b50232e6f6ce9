"""Campaigns over loopback between the real programs: whatever is killed, no pair is lost and none is done twice."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.analyze.on_loopback import namespace, started
from vmtrace.analyze.words.units import si
from vmtrace.lab import namespaces
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import HostSettings, Topology, joined_hosts
from vmtrace.lab.impairments import Impairments

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLAN = """
name = "small"
entries = [
    {index = "I_0", pairs = 4, probe = "1 KiB", data = "64 KiB"},
    {index = "I_1", pairs = 4, probe = "2 KiB", data = {bytes = "256 KiB", direction = "download", streams = 2}},
    {index = "I_2", pairs = 4, probe = 1, data = {bytes = "64 KiB", direction = "both"}},
]
"""
# Captures, ICMP and the metadata service are tested for themselves; here time is better spent on many pairs.
QUICK = ("--no-capture", "--no-receiver-capture", "--no-ping", "--no-instance-metadata", "--quiet")


class Receiver:
    """The real receiver in a process of its own."""

    def __init__(self, folder: Path, port: int = 0, bind: str = "127.0.0.1", prefix: Sequence[str] = ()) -> None:
        command = [
            *prefix,
            sys.executable,
            "-m",
            "receiver",
            "--key-file",
            str(folder / "key"),
            "--out",
            str(folder / "there"),
        ]
        command += ["--bind", bind, "--port", str(port), "--no-capture", "--no-host-counters", "--json-lines"]
        # Files: a pipe that nobody empties would stop the receiver after some hundred events.
        self._events, self._errors = folder / "receiver.jsonl", folder / "receiver.log"
        with self._events.open("w") as events, self._errors.open("a") as errors:
            self._process = subprocess.Popen(command, stdout=events, stderr=errors, env=environment(), cwd=folder)
        self.port = self._listening_port()

    def _listening_port(self) -> int:
        while self._process.poll() is None:
            for line in self._events.read_text().splitlines(keepends=True):
                if line.endswith("\n") and json.loads(line).get("event") == "listening":
                    return int(json.loads(line)["port"])
            time.sleep(0.02)
        raise AssertionError(self._errors.read_text())

    def end(self, number: int = signal.SIGTERM) -> None:
        """Stop it, also after it has ended."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        self._process.wait(20)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def sender(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "vmtrace.sender", *map(str, arguments)]


def send(*arguments: str | Path, timeout_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        sender(*arguments), capture_output=True, text=True, env=environment(), timeout=timeout_s, check=False
    )


def pairs(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "pairs.jsonl").read_text().splitlines()]


def done_pairs(run: Path) -> int:
    path = run / "pairs.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def state(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "run.json").read_text())
    return content


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    running = Receiver(tmp_path)
    try:
        yield running
    finally:
        running.end()


@pytest.fixture
def plan_file(tmp_path: Path) -> Path:
    path = tmp_path / "plan.toml"
    path.write_text(PLAN)
    return path


def options(tmp_path: Path, receiver: Receiver) -> tuple[str | Path, ...]:
    return ("--key-file", tmp_path / "key", "--port", str(receiver.port), *QUICK)


def test_a_campaign_leaves_a_complete_folder(tmp_path: Path, receiver: Receiver, plan_file: Path) -> None:
    run = tmp_path / "run"
    done = send("127.0.0.1", "--out", run, "--plan", plan_file, *options(tmp_path, receiver))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    found = pairs(run)
    assert [pair["sequence"] for pair in found] == list(range(1, 13))
    assert all(pair[part]["digest_ok"] for pair in found for part in ("probe", "data"))
    assert [pair["data"]["bytes"] for pair in found[::4]] == [64 << 10, 256 << 10, 128 << 10]
    content = state(run)
    assert (content["status"], content["error"], content["receiver_half"]["status"]) == ("complete", None, "complete")
    assert content["clock"]["error_s"] < 1
    for side in ("sender", "receiver"):
        names = sorted(path.name for path in (run / "tcpinfo" / side).iterdir())
        assert names == sorted(f"{number:04d}-{part}.csv" for number in range(1, 13) for part in ("probe", "data"))
    assert found[4]["data"]["tcp"]["segments_out"] > 0


def test_a_sender_that_is_killed_at_random_moments_goes_on_after_its_last_pair(
    tmp_path: Path, receiver: Receiver, plan_file: Path
) -> None:
    run, chance = tmp_path / "run", random.Random(5)
    command = ["127.0.0.1", "--out", run, "--plan", plan_file, "--repeat", "8", *options(tmp_path, receiver)]
    for _ in range(6):
        enough = done_pairs(run) + chance.randrange(1, 5)
        process = subprocess.Popen(sender(*command), env=environment(), stdout=subprocess.DEVNULL)
        while done_pairs(run) < enough and process.poll() is None:
            time.sleep(0.002)
        # A pair takes some 50 ms: anywhere within the next ones.
        time.sleep(chance.random() * 0.1)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert state(run)["status"] == "running"
        command = ["--resume", run, *options(tmp_path, receiver)]
    last = send(*command)
    assert last.returncode == 0, last.stderr
    assert [pair["sequence"] for pair in pairs(run)] == list(range(1, 97))
    content = state(run)
    assert (content["status"], content["pairs_finished"], len(content["sessions"])) == ("complete", 96, 7)
    assert content["receiver_half"]["status"] == "complete"
    for side in ("sender", "receiver"):
        assert len(list((run / "tcpinfo" / side).iterdir())) == 192


def test_a_receiver_that_is_killed_and_started_again_costs_no_pair(tmp_path: Path, plan_file: Path) -> None:
    run = tmp_path / "run"
    first = Receiver(tmp_path)
    process = subprocess.Popen(
        sender("127.0.0.1", "--out", run, "--plan", plan_file, "--repeat", "3", *options(tmp_path, first)),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while done_pairs(run) < 3:
            time.sleep(0.02)
    finally:
        first.end(signal.SIGKILL)
    second = Receiver(tmp_path, first.port)
    try:
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()
        second.end()
    assert process.returncode == 0, error
    assert [pair["sequence"] for pair in pairs(run)] == list(range(1, 37))
    assert (run / "attempts.jsonl").read_text().count("\n") >= 1
    assert state(run)["receiver_half"]["status"] == "complete"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_that_says_how_to_go_on(
    tmp_path: Path, receiver: Receiver, plan_file: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    process = subprocess.Popen(
        sender("127.0.0.1", "--out", run, "--plan", plan_file, "--for", "1h", *options(tmp_path, receiver)),
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not (run / "pairs.jsonl").exists():
            time.sleep(0.02)
        process.send_signal(number)
        _, error = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert error == f"vmtrace: stopped by a signal: to go on: vmtrace send --resume {run} --key-file FILE\n"
    assert state(run)["status"] == "interrupted"


@pytest.mark.root
def test_a_network_that_goes_away_and_comes_back_costs_no_pair(tmp_path: Path) -> None:
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    plan, run = tmp_path / "plan.toml", tmp_path / "run"
    plan.write_text('entries = [{pairs = 4, probe = "4 KiB", data = "3 MiB"}]')
    slow = Impairments(delay_s=0.02, rate_bps=20e6, queue_bytes=200_000)
    hosts = {"sender": HostSettings(), "receiver": HostSettings()}
    with joined_hosts(Topology.TUN, 4, 1500, hosts, EmulatorSettings(slow, slow, 1), tmp_path) as path:
        there, here = path.hosts["receiver"], path.hosts["sender"]
        receiver = Receiver(tmp_path, bind=there.address, prefix=namespaces.exec_prefix(there.namespace))
        words = sender(
            there.address, "--out", run, "--plan", plan, "--stall-timeout", "1s", *options(tmp_path, receiver)
        )
        command = [*namespaces.exec_prefix(here.namespace), *words]
        process = subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True)
        try:
            while done_pairs(run) < 1:
                time.sleep(0.01)
            # Within the data transfer, which takes more than a second: a data connection is given up after
            # --stall-timeout, the control connection only after half a minute.
            time.sleep(0.8)
            path.emulator.send_signal(signal.SIGUSR1)  # from now on nothing passes
            while not (run / "attempts.jsonl").exists():
                time.sleep(0.01)
            path.emulator.send_signal(signal.SIGUSR2)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
            receiver.end()
    assert process.returncode == 0, error
    found = pairs(run)
    assert [pair["sequence"] for pair in found] == [1, 2, 3, 4]
    assert max(pair["attempts"] for pair in found) > 1


def test_wrong_key_and_no_receiver_are_one_line_and_leave_no_folder(tmp_path: Path, receiver: Receiver) -> None:
    (tmp_path / "other").write_text("0" * 64)
    (tmp_path / "other").chmod(0o600)
    run = tmp_path / "run"
    wrong = send("127.0.0.1", "--out", run, "--port", str(receiver.port), "--key-file", tmp_path / "other", *QUICK)
    gone = send("127.0.0.1", "--out", run, "--port", "1", "--key-file", tmp_path / "other", *QUICK)
    for done in (wrong, gone):
        assert done.returncode == 1
        assert re.fullmatch(r"vmtrace: 127\.0\.0\.1:\d+:? [^\n]+\n", done.stderr), done.stderr
    assert not run.exists()


def test_the_receivers_half_comes_on_demand(tmp_path: Path, receiver: Receiver, plan_file: Path) -> None:
    run = tmp_path / "run"
    done = send("127.0.0.1", "--out", run, "--plan", plan_file, "--no-fetch", *options(tmp_path, receiver))
    assert done.returncode == 0, done.stderr
    assert state(run)["receiver_half"]["status"] == "missing"
    program = (
        "import sys; from vmtrace.sender.fetch_command import *; sys.exit(run(build_parser().parse_args(sys.argv[1:])))"
    )
    command = [sys.executable, "-c", program, str(run), "--key-file", str(tmp_path / "key"), "--json-lines"]
    fetched = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    assert fetched.returncode == 0, fetched.stderr
    assert json.loads(fetched.stdout)["status"] == "complete"
    assert len(list((run / "tcpinfo/receiver").iterdir())) == 24
    assert state(run)["receiver_half"]["status"] == "complete"


def test_a_run_by_time_needs_no_plan_and_no_folder(receiver: Receiver, tmp_path: Path) -> None:
    words = ("127.0.0.1", "-p", str(receiver.port), "--key-file", tmp_path / "key", "-t", "1", "-P", "2", "-R")
    done = subprocess.run(
        sender(*words, *QUICK), cwd=tmp_path, env=environment(), capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    (run,) = tmp_path.glob("vmtrace-*")
    data = [pair["data"] for pair in pairs(run)]
    assert state(run)["plan"]["fill"] is True
    assert {(one["streams"], one["direction"]) for one in data} == {(2, "download")}
    assert sum(one["duration_s"] for one in data) >= 0.9
    sizes = [one["bytes"] for one in data]
    assert sizes[0] == 2 * 256 * 1024 < max(sizes)


@pytest.mark.root
@pytest.mark.long
def test_the_rate_of_a_run_by_time_is_that_of_iperf3(tmp_path: Path) -> None:
    """Four streams for 10 s behind a kernel's shaper, one program after the other; a line for each second meanwhile."""
    if reason := namespaces.missing_requirement():
        pytest.skip(reason)
    if shutil.which("iperf3") is None:
        pytest.skip("iperf3 is not installed")
    with namespace() as inside:
        for words in (
            ["ip", "link", "set", "lo", "mtu", "1500"],
            ["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "16k", "latency", "200ms"],
        ):
            subprocess.run([*inside, *words], check=True)
        running = Receiver(tmp_path, prefix=inside)
        try:
            words = sender("127.0.0.1", "-p", str(running.port), "--key-file", tmp_path / "key", "-t", "10", "-P", "4")
            quick = [option for option in QUICK if option != "--quiet"]
            command = [*inside, *words, *quick]
            sent = subprocess.run(
                command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120, check=False
            )
        finally:
            running.end()
        with started([*inside, "iperf3", "--server", "--one-off", "--forceflush"], "listening"):
            words = ["iperf3", "--client", "127.0.0.1", "--time", "10", "--parallel", "4", "--json"]
            done = subprocess.run([*inside, *words], check=True, capture_output=True, text=True, timeout=120)
    assert sent.returncode == 0, sent.stderr
    (run,) = tmp_path.glob("vmtrace-*")
    data = [pair["data"] for pair in pairs(run)]
    bits, time_s = 8 * sum(one["bytes"] for one in data), sum(one["duration_s"] for one in data)
    rate_bps = bits / time_s
    assert f"data: throughput {si(rate_bps, 'bit/s')} " in sent.stdout
    assert rate_bps == pytest.approx(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"], rel=0.05)
    seconds = [int(number) for number in re.findall(r"^second (\d+): ", sent.stderr, re.MULTILINE)]
    assert seconds == list(range(1, len(seconds) + 1))
    assert len(seconds) >= 8
