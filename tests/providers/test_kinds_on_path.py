"""Campaigns over the emulated path against real servers, with faults planted in both: the report gives them back."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.busy_machine import where_it_ran
from vmtrace.lab import cpu_quota
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.impairments import DelayStep, TokenBucket
from vmtrace.lab.services import certificates, delayed_path, fault_proxy, swift
from vmtrace.lab.services.certificates import Certificates
from vmtrace.lab.services.delayed_path import DelayedPath, Planted
from vmtrace.lab.services.faults import Action, Fault
from vmtrace.lab.services.service import Place, Service

pytestmark = [pytest.mark.root, pytest.mark.slow, pytest.mark.long]
SECOND = "198.18.2.111"
RTT_S = 0.006


@contextmanager
def on_path(folder: Path, rtt_s: float, planted: Planted, **more: Any) -> Iterator[tuple[DelayedPath, Certificates]]:
    folder.mkdir()
    chain = certificates.make(folder / "certificates", names=delayed_path.CERTIFICATE_NAMES)
    with delayed_path.joined(folder, rtt_s, planted=planted, **more) as path:
        yield path, chain


def run(
    path: DelayedPath, service: Service, out: Path, plan: str, *words: str, before: Sequence[str] = ()
) -> dict[str, Any]:
    """`run.json` of a campaign in the client's namespace; `before` are words of a processor quota."""
    plan_path = out.with_suffix(".toml")
    plan_path.write_text(plan)
    command = [sys.executable, "-m", "vmtrace", "storage", "run", "--provider", "s3", "--out", str(out)]
    command += ["--plan", str(plan_path), "--interface", path.client_device, "--json", *words]
    done = subprocess.run(
        [*before, *path.client_command([*(cpu_quota.visible_again() if before else ()), *command])],
        check=False,
        capture_output=True,
        text=True,
        timeout=240,
        env={**module_environment(), **service.environment},
    )
    assert done.stdout, done.stderr
    state: dict[str, Any] = json.loads(done.stdout)
    assert state["left_behind"] == []
    return state


def report(*runs: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "vmtrace", "storage", "report", *map(str, runs), "--json", "-"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return found


def requests_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]


STEP = """
kind = "probes"
mean_interval = 0.5
sizes = ["300 kB"]
for = 44
directions = ["download"]
pair = 1
"""


def test_a_step_of_the_round_trip_under_an_unscaled_window_is_found_dated_and_explained(tmp_path: Path) -> None:
    at_s, rtt_s = 28.0, 0.04  # long round trips: what the machine itself takes must not count beside them

    def check() -> None:
        folder = tmp_path / f"try{len(list(tmp_path.iterdir()))}"
        planted = Planted(delay_steps=(DelayStep(at_s, rtt_s),), window_scaling=False, ttl_s=7)
        with (
            on_path(folder, rtt_s, planted) as (path, chain),
            swift.started(chain, path.places["s3"]) as service,
        ):
            state = run(path, service, folder / "run", STEP)
        assert state["status"] == "complete"
        (found,) = report(folder / "run")
        points = found["probes"]["change_points"]
        assert len(points) == 1
        (point,) = points
        # The truth to the second is in the handshakes: the first round trip that is longer.
        requests = requests_of(folder / "run")
        assert point["last_before_ns"] < point["first_after_ns"]
        assert min(point["n_before"], point["n_after"]) > len(requests) / 8
        assert 0.4 < point["ratio"] < 0.75
        assert point["window_bytes"] == 65_535
        assert point["rtt_after_s"] - point["rtt_before_s"] == pytest.approx(rtt_s, rel=0.25)
        assert "no window scale" in point["explanation"]
        assert "predicts" in point["explanation"]
        # The names were asked for anew, with the TTL that the name server gave.
        assert found["campaign"]["ttls_s"] == [7, 7]
        assert found["campaign"]["requests_in_captures"] == found["campaign"]["requests"]
        assert found["dropped_packets"] == 0

    where_it_ran(check, attempts=2)


FAULTS = """
kind = "probes"
mean_interval = 0.3
sizes = ["50 kB"]
for = 12
pair = 1
"""
RULES = (
    Fault(Action.STATUS, "PUT", "-0000003/", status=503),
    Fault(Action.STATUS, "PUT", "-0000003/", status=503),
    Fault(Action.RESET, "PUT", "-0000005/"),
    Fault(Action.ETAG, "PUT", "-0000007/"),
    Fault(Action.TRUNCATE, "GET", "stock/50000", after_bytes=1000, skip=4),
    Fault(Action.CORRUPT, "GET", "stock/50000", after_bytes=1000, skip=8),
    Fault(Action.SLOW, "GET", "stock/50000", skip=12, times=3, delay_s=1.0),
)


def test_faults_of_the_service_are_retries_errors_and_slow_requests_as_planted(tmp_path: Path) -> None:
    with (
        on_path(tmp_path / "path", RTT_S, Planted()) as (path, chain),
        swift.started(chain, Place("198.18.2.14", path.places["s3"].namespace)) as behind,
        fault_proxy.started(behind, RULES, chain, path.places["s3"]) as proxy,
    ):
        state = run(path, proxy.service, tmp_path / "run", FAULTS)
        hits = [request.fault for request in proxy.requests() if request.fault]
    assert state["status"] == "complete"
    found = report(tmp_path / "run")[0]
    assert sorted(hits) == sorted(rule.action for rule in RULES for _ in range(rule.times))
    by_direction = {one["direction"]: one for one in found["campaign"]["retries"]}
    up, down = by_direction["upload"], by_direction["download"]
    assert (up["retries"], up["causes"], up["errors"], up["failed"]) == (3, {"503": 2, "connection": 1}, 1, 0)
    # A busy server may drop a connection of its own; what was planted is there in any case.
    assert (down["causes"]["body"], down["errors"], down["failed"]) == (1, 1, 0)
    logged = requests_of(tmp_path / "run")
    availability = {one["retries"]: one for one in found["availability"]}
    for retries in range(3):
        done = sum(one["outcome"] == "done" and one["retries"] <= retries for one in logged)
        assert (availability[retries]["done"], availability[retries]["n"]) == (done, len(logged))
    assert availability[0]["n"] - availability[0]["done"] >= 5
    slow = [one for one in requests_of(tmp_path / "run") if one["duration_s"] > 0.9 and one["direction"] == "download"]
    assert len(slow) >= 3  # a busy machine has slow ones of its own
    assert all(len(one["attempts"]) > 1 for one in requests_of(tmp_path / "run") if one["retries"])


GROUPS = """
kind = "probes"
mean_interval = 0.25
sizes = ["20 kB"]
for = 12
directions = ["download"]
pair = 2
"""


def test_two_groups_of_front_ends_are_listed_and_differ(tmp_path: Path) -> None:
    planted = Planted(more_addresses={"s3": [SECOND]}, ttl_s=0)
    with ExitStack() as stack:
        path, chain = stack.enter_context(on_path(tmp_path / "path", RTT_S, planted))
        place = path.places["s3"]
        service = stack.enter_context(swift.started(chain, place))
        slow = [Fault(Action.DELAY, "GET", "stock", delay_s=0.12, times=10_000)]
        second = Place(SECOND, place.namespace, place.port, place.host_name)
        stack.enter_context(fault_proxy.started(service, slow, chain, second))
        run(path, service, tmp_path / "run", GROUPS)
    found = report(tmp_path / "run")[0]
    counts = {one["address"]: one["count"] for one in found["probes"]["addresses"]}
    assert set(counts) == {"198.18.2.11", SECOND}
    requests = requests_of(tmp_path / "run")
    assert sum(counts.values()) == len(requests)
    # Whoever asks anew gets the other address first: the first and the second request of a probe differ.
    assert abs(counts[SECOND] - counts["198.18.2.11"]) <= 0.3 * len(requests)
    medians = {}
    for address, count in counts.items():
        times = [one["duration_s"] for one in requests if one["front_end"].startswith(f"{address}:")]
        medians[address] = sorted(times)[count // 2]
    assert 0.08 < medians[SECOND] - medians["198.18.2.11"] < 1.0  # more where the machine is busy


SURGE = """
kind = "surge"
threads = [1, 2, 4]
step = 3
size = "500 kB"
directions = ["download"]
for = 18
"""


def test_a_token_bucket_under_a_surge_is_its_plateau(tmp_path: Path) -> None:
    rate_bps = 20e6
    planted = Planted(token_bucket=TokenBucket(rate_bps, 100_000, 150_000))
    with (
        on_path(tmp_path / "path", RTT_S, planted) as (path, chain),
        swift.started(chain, path.places["s3"]) as service,
    ):
        state = run(path, service, tmp_path / "run", SURGE, "--location", "usma1")
    assert state["status"] == "complete"
    rows = {one["threads"]: one for one in report(tmp_path / "run")[0]["surge"]}
    assert set(rows) == {1, 2, 4}
    assert {one["host"] for one in rows.values()} == {"usma1"}
    assert {one["steps"] for one in rows.values()} == {2}
    for threads in (2, 4):
        # Above the bucket nothing comes through; below it a busy machine may stay.
        assert 0.3 * rate_bps < rows[threads]["combined_bps"] < 1.05 * rate_bps
        assert rows[threads]["per_thread_bps"] < 1.25 * rate_bps / threads
    assert all(one["n"] > 0 for one in rows.values())


SWEEP = """
kind = "sweep"
connections = [2, 4]
part_sizes = ["5 MiB"]
size = "20 MiB"
sources = ["tmpfs"]
repeat = 2

[merge]
parts = [2]
part_size = "5 MiB"
repeat = 1
"""


def test_a_processor_quota_under_a_sweep_is_its_bottleneck(tmp_path: Path) -> None:
    reason = cpu_quota.missing_requirement()
    if reason is not None:
        pytest.skip(reason)
    with (
        on_path(tmp_path / "path", RTT_S, Planted()) as (path, chain),
        swift.started(chain, path.places["s3"]) as service,
        cpu_quota.quota("sweep", 0.1) as before,
    ):
        state = run(path, service, tmp_path / "run", SWEEP, before=before)
    assert state["status"] == "complete"
    rows = report(tmp_path / "run")[0]["sweep"]
    assert {(one["connections"], one["source"], one["n"]) for one in rows} == {(2, "tmpfs", 2), (4, "tmpfs", 2)}
    assert {one["bottleneck"] for one in rows} == {"cpu"}
    assert all("held by its quota for" in one["sentence"] for one in rows)


FEW = """
kind = "sweep"
connections = [2, 12]
part_sizes = ["5 MiB"]
size = "60 MiB"
sources = ["tmpfs"]
repeat = 1

[merge]
parts = []
"""


def test_a_service_that_allows_fewer_connections_is_what_limits_a_sweep(tmp_path: Path) -> None:
    with (
        on_path(tmp_path / "path", RTT_S, Planted()) as (path, chain),
        swift.started(chain, Place("198.18.2.14", path.places["s3"].namespace)) as behind,
        fault_proxy.started(behind, (), chain, path.places["s3"], most_connections=5) as proxy,
    ):
        state = run(path, proxy.service, tmp_path / "run", FEW)
    assert state["status"] == "complete"
    rows = {one["connections"]: one for one in report(tmp_path / "run")[0]["sweep"]}
    assert (rows[2]["n"], rows[2]["failed"]) == (1, 0)
    assert rows[12]["bottleneck"] == "service"
    assert rows[12]["retries"] > 0
    assert rows[12]["failed"] == 0 or "the connection failed" in rows[12]["sentence"]
