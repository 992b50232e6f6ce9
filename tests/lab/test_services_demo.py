"""The whole demo over the emulated path, held to what the servers, the kernel and the lab know.

Every service runs in namespaces of its own: nothing but its benchmark passes the client's interface.
"""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpkt
import pytest

from tests.cut import cut
from tests.eventually import eventually
from vmtrace.lab import namespaces
from vmtrace.lab.hosts import module_environment
from vmtrace.lab.services import azurite
from vmtrace.lab.services.provider_run import STAND_INS

PLAN = """
name = "short"
wait = 0.2
idle = 0.2
[[workload]]
name = "1x300kB"
size = "300 kB"
[[workload]]
name = "8x4kB"
files = 8
size = "4 kB"
"""
MANY = """
name = "many"
[[workload]]
name = "{files}x4kB"
files = {files}
size = "4 kB"
"""
RTT_S = 0.01


@dataclass(frozen=True)
class Run:
    folder: Path
    about: dict[str, Any]
    truth: dict[str, Any]
    transactions: list[dict[str, Any]]

    def ports_opened(self, transaction: dict[str, Any]) -> set[int]:
        """The client's ports from which the transaction's capture shows a connection opened."""
        return opened(self.folder / transaction["capture"]["file"])

    def accepted_within(self, transaction: dict[str, Any]) -> list[int]:
        """The ports of the connections that the server accepted while the transaction was recorded, by its own log."""
        begin_ns, end_ns = transaction["capture"]["start_ns"], transaction["capture"]["end_ns"]
        return [
            connection["peer_port"]
            for connection in self.truth["connections_accepted"]
            if begin_ns <= connection["accepted_unix_ns"] <= end_ns
        ]


def opened(capture: Path) -> set[int]:
    """Ports that sent a SYN without ACK, read by dpkt."""
    ports = set()
    with capture.open("rb") as file:
        for _, frame in dpkt.pcap.UniversalReader(file):
            # Cut frames and those of other protocols have no TCP flags.
            segment: Any = getattr(getattr(dpkt.ethernet.Ethernet(frame), "data", None), "data", None)
            flags = segment.flags if isinstance(segment, dpkt.tcp.TCP) else 0
            if flags & (dpkt.tcp.TH_SYN | dpkt.tcp.TH_ACK) == dpkt.tcp.TH_SYN:
                ports.add(int(segment.sport))
    return ports


def run_of(folder: Path, provider: str) -> Run:
    lines = (folder / provider / "transactions.jsonl").read_text().splitlines()
    return Run(
        folder / provider,
        json.loads((folder / provider / "run.json").read_text()),
        json.loads((folder / f"{provider}.truth.json").read_text()),
        [json.loads(line) for line in lines],
    )


def demo(folder: Path, plan: str, *words: str) -> subprocess.CompletedProcess[str]:
    plan_path = folder / "plan.toml"
    plan_path.write_text(plan)
    command = [
        sys.executable,
        "-m",
        "vmtrace.lab.services.demo",
        "--out",
        str(folder / "out"),
        "--plan",
        str(plan_path),
    ]
    command += ["--scale", "1", *words]
    return subprocess.run(command, env=module_environment(), capture_output=True, text=True, check=False, timeout=280)


def report(folder: Path) -> list[dict[str, Any]]:
    """What `vmtrace storage report` measured of each run."""
    runs: list[dict[str, Any]] = json.loads((folder / "report.json").read_text())["runs"]
    return runs


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The demo's folder and what it printed."""
    reason = namespaces.missing_requirement() or azurite.missing_requirement()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("demo")
    ended = demo(folder, PLAN, "--rtt", str(RTT_S))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "out", ended.stdout


@pytest.mark.root
@pytest.mark.untimed
def test_the_demo_runs_every_service_and_says_what_terminated_tls(done: tuple[Path, str]) -> None:
    folder, printed = done
    for provider in STAND_INS:
        run = run_of(folder, provider)
        assert run.about["status"] == "complete"
        assert run.about["left_behind"] == []
        assert run.truth["tls_terminated_by"].partition(" (")[0] in run.about["name"]
        assert f"{provider}: done; {run.truth['server']}, TLS terminated by" in printed
        assert [(line["status"], line["objects_done"]) for line in run.transactions] == [
            *[("complete", 1)] * 2,
            *[("complete", 8)] * 2,
        ]


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("provider", STAND_INS)
def test_the_path_drops_nothing_by_its_own_log(done: tuple[Path, str], provider: str) -> None:
    assert run_of(done[0], provider).truth["path_drops"] == 0
    assert "0 packets dropped by the path" in done[1]


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("provider", STAND_INS)
def test_the_captures_hold_the_connections_that_the_server_itself_accepted(
    done: tuple[Path, str], provider: str
) -> None:
    run = run_of(done[0], provider)
    for transaction in run.transactions:
        accepted = run.accepted_within(transaction)
        assert len(accepted) >= 1
        assert sorted(accepted) == sorted(run.ports_opened(transaction))


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.parametrize("provider", STAND_INS)
def test_the_captures_hold_every_byte_that_the_interface_counted(done: tuple[Path, str], provider: str) -> None:
    run = run_of(done[0], provider)
    quiet = [one for one in run.transactions if one["interface"]["quiet_before"] and one["interface"]["quiet_after"]]
    assert quiet
    for transaction in quiet:
        before, after = transaction["interface"]["before"], transaction["interface"]["after"]
        counted = {key: after[key] - before[key] for key in before}
        capture = transaction["capture"]
        assert capture["dropped"] == 0
        assert capture["written"] == counted["rx_packets"] + counted["tx_packets"]
        assert capture["wire_bytes"] == counted["rx_bytes"] + counted["tx_bytes"]


@pytest.mark.root
@pytest.mark.untimed
def test_the_demo_ends_with_the_report_on_all_services(done: tuple[Path, str]) -> None:
    folder, printed = done
    assert f"report: {folder / 'report.html'}" in printed.splitlines()
    assert printed.rstrip().endswith(f"report: {folder / 'queue.html'}")
    page = (folder / "report.html").read_text()
    assert all(provider in page for provider in STAND_INS)
    assert [one["provider"] for one in report(folder)] == list(STAND_INS)
    assert all(one["problems"] == [] and one["dropped_packets"] == 0 for one in report(folder))


@pytest.mark.root
@pytest.mark.untimed
def test_the_report_counts_the_connections_that_the_server_itself_accepted(done: tuple[Path, str]) -> None:
    for one in report(done[0]):
        run = run_of(done[0], one["provider"])
        accepted = [len(run.accepted_within(transaction)) for transaction in run.transactions]
        assert [shown["connections"] for shown in one["transactions"]] == accepted
        assert all(shown["other_connections"] == 0 for shown in one["transactions"])


@pytest.mark.root
@pytest.mark.untimed
def test_the_report_finds_interface_and_capture_agreed_to_the_byte(done: tuple[Path, str]) -> None:
    for one in report(done[0]):
        agreement = one["interface_agreement"]
        assert agreement["bytes_apart"] == agreement["packets_apart"] == 0
        assert agreement["bytes_agree"] == agreement["packets_agree"] > 0


@pytest.mark.root
@pytest.mark.untimed
def test_the_ledger_of_every_workload_sums_to_all_bytes_of_the_wire(done: tuple[Path, str]) -> None:
    for one in report(done[0]):
        of_workload: dict[tuple[str, str], int] = {}
        for shown in one["transactions"]:
            key = (shown["workload"], shown["direction"])
            of_workload[key] = of_workload.get(key, 0) + shown["wire_bytes"]
        assert {(row["workload"], row["direction"]) for row in one["overhead"]} == set(of_workload)
        for row in one["overhead"]:
            assert sum(row["parts_bytes"].values()) == row["wire_bytes"]
            assert row["wire_bytes"] == of_workload[row["workload"], row["direction"]]
            assert sum(row["shares"].values()) == pytest.approx(1.0, abs=1e-9)
            assert row["parts_bytes"]["workload"] == row["workload_bytes"]


@pytest.mark.root
@pytest.mark.untimed
def test_logging_in_waits_for_a_name_a_connection_and_tls_a_round_trip_each(done: tuple[Path, str]) -> None:
    for one in report(done[0]):
        for row in one["times"]:
            if row["what"] == "login":
                assert row["median_parts_s"]["tcp_handshake"] >= RTT_S
                assert row["median_parts_s"]["tls_handshake"] >= RTT_S
                assert row["median_parts_s"]["name_lookup"] >= RTT_S
        assert {trip["method"] for trip in one["round_trips"]} >= {"icmp", "tcp"}
        assert all(trip["min_s"] >= RTT_S for trip in one["round_trips"])


@pytest.mark.root
@pytest.mark.untimed
def test_a_folder_that_holds_a_run_is_left_alone(done: tuple[Path, str]) -> None:
    command = [sys.executable, "-m", "vmtrace.lab.services.demo", "--out", str(done[0])]
    ended = subprocess.run(command, env=module_environment(), capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "exists: remove it, or choose another --out" in ended.stderr


@pytest.mark.root
@pytest.mark.untimed
def test_an_interrupted_demo_removes_its_objects_and_leaves_no_server_and_no_namespace(tmp_path: Path) -> None:
    reason = namespaces.missing_requirement()
    if reason:
        pytest.skip(reason)
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "vmtrace.lab.services.demo",
        "--out",
        str(out),
        "--provider",
        "swift",
        "--rtt",
        "0.05",
    ]
    with subprocess.Popen(
        command, env=module_environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        try:
            assert eventually((out / "swift/transactions.jsonl").exists, within_s=60)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130
    assert said.decode().strip() == "vmtrace: interrupted"
    about = json.loads((out / "swift/run.json").read_text())
    assert (about["status"], about["left_behind"]) == ("interrupted", [])
    run = run_of(out, "swift")
    assert not Path(f"/proc/{run.truth['server_process_id']}").exists()
    assert not namespaces.exists(run.truth["client_namespace"])


@pytest.mark.root
@pytest.mark.untimed
@pytest.mark.slow
@pytest.mark.parametrize("files", cut([200, 1000], 1))
def test_many_small_objects_are_captured_without_losing_a_packet(tmp_path: Path, files: int) -> None:
    reason = namespaces.missing_requirement() or azurite.missing_requirement()
    if reason:
        pytest.skip(reason)
    ended = demo(
        tmp_path, MANY.format(files=files), "--rtt", "0", "--rate", "0", "--provider", "azure-blob", "--no-report"
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    run = run_of(tmp_path / "out", "azure-blob")
    for transaction in run.transactions:
        assert transaction["objects_done"] == files
        capture, interface = transaction["capture"], transaction["interface"]
        assert capture["dropped"] == 0
        assert capture["written"] == capture["received"] > 4 * files
        assert sorted(run.accepted_within(transaction)) == sorted(run.ports_opened(transaction))
        if interface["quiet_before"] and interface["quiet_after"]:
            counted = {key: interface["after"][key] - interface["before"][key] for key in interface["before"]}
            assert capture["written"] == counted["rx_packets"] + counted["tx_packets"]
            assert capture["wire_bytes"] == counted["rx_bytes"] + counted["tx_bytes"]


@pytest.mark.root
@pytest.mark.untimed
def test_the_tls_handshake_of_a_service_costs_the_same_on_each_of_its_connections(done: tuple[Path, str]) -> None:
    for one in report(done[0]):
        costs = {row["parts_bytes"]["tls_handshake"] / row["connections"] for row in one["overhead"]}
        assert len(costs) == 1
        assert 2_000 < costs.pop() < 10_000
