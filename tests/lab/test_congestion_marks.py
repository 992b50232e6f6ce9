"""Marks of congestion that the emulator makes and real kernels answer: what is told of them, at both ends."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import Any

import dpkt
import pytest

import vmtrace
from tests.lab_runs import lab_run
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.transfer import Transfer

_ECE, _CWR = 0x40, 0x80
HOST = HostSettings("cubic", sysctls={"net.ipv4.tcp_ecn": "1"})
SCENARIO = Scenario("congestion-marks", "marks instead of losses", Transfer(payload_bytes=12_000_000),
                    Impairments(delay_s=0.01, rate_bps=40e6, queue_bytes=400_000, mark=0.003, spare_first=3),
                    Impairments(delay_s=0.01, rate_bps=40e6, queue_bytes=400_000), HOST, HOST, seed=5)  # fmt: skip


def flags_of(capture: Path) -> list[tuple[bool, int, int]]:
    """Of each TCP packet behind the opening: whether the client sent it, its payload bytes and its flags."""
    found = []
    client_port = None
    with capture.open("rb") as file:
        reader = dpkt.pcap.Reader(file)
        assert reader.datalink() in {dpkt.pcap.DLT_EN10MB, dpkt.pcap.DLT_RAW, 101}
        is_ethernet = reader.datalink() == dpkt.pcap.DLT_EN10MB
        for _, frame in reader:
            datagram = dpkt.ethernet.Ethernet(frame).data if is_ethernet else dpkt.ip.IP(frame)
            segment = datagram.data
            client_port = client_port or segment.sport
            if not segment.flags & dpkt.tcp.TH_SYN:
                found.append((segment.sport == client_port, len(segment.data), segment.flags))
    return found


@pytest.fixture(scope="module")
def transfer(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of the run and its truth."""
    result = lab_run(SCENARIO, tmp_path_factory.mktemp("marks"), attempts=3, good_enough=attrgetter("agreed"))
    assert result.agreed, result.truth["problems"]
    return result.folder, result.truth


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_echoes_and_reductions_are_those_of_the_kernels(transfer: tuple[Path, dict[str, Any]], side: str) -> None:
    folder, truth = transfer
    capture = folder / f"{side}.pcap"
    (connection,) = vmtrace.read(capture).json()["connections"]
    ecn = connection["client_to_server"]["ecn"]
    packets = flags_of(capture)
    echoes = sum(bool(flags & _ECE) for from_client, _, flags in packets if not from_client)
    reductions = sum(bool(flags & _CWR and length) for from_client, length, flags in packets if from_client)
    assert (ecn["feedback"], ecn["echo_packets"], ecn["window_reductions"]) == ("classic", echoes, reductions)
    assert ecn["marked_packets"] is None
    marked = truth["counters"]["receiver"]["InCEPkts"]
    assert 5 < ecn["congestion_events"] <= marked
    # A sender reduces its window once for each, and says so with its next data.
    assert abs(ecn["congestion_events"] - reductions) <= 1
    assert connection["client_to_server"]["loss"]["retransmitted_segments"] == 0


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
def test_marks_are_why_the_congestion_window_stayed_small(transfer: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = transfer
    (connection,) = vmtrace.read(folder / "sender.pcap").json()["connections"]
    verdict = connection["verdict"]
    assert verdict["factor"] == "congestion_window"
    assert verdict["sentence"].startswith("ECN congestion marks (")
