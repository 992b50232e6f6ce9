"""A capture on all interfaces of a router that cuts superpackets: each segment is in it twice, in a frame and alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import vmtrace
from tests.busy_machine import Witness, too_busy
from vmtrace.lab import kernel_counters
from vmtrace.lab.capture_run import capturing
from vmtrace.lab.emulator import EmulatorSettings
from vmtrace.lab.hosts import HostSettings, Topology, joined_hosts
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.transfer import Transfer, run_transfer

RTT_S = 0.02
FORWARD = Impairments(delay_s=RTT_S / 2, rate_bps=40e6, queue_bytes=8_000_000, loss=0.01)
BACK = Impairments(delay_s=RTT_S / 2)
PAYLOAD_BYTES = 4_000_000
# Some that oversleep this long in all change no more than an answer or two.
LONGEST_STANDSTILL_S = 0.3


def transfer(folder: Path, ip_version: int, offered_bytes: int | None) -> tuple[Mapping[str, Any], int]:
    """What is read from the router's capture, and the segments that the sender's kernel sent again."""
    hosts = {role: HostSettings("cubic", offered_segment_bytes=offered_bytes) for role in ("sender", "receiver")}
    emulator = EmulatorSettings(FORWARD, BACK, seed=7)
    with joined_hosts(Topology.OFFLOAD, ip_version, 1500, hosts, emulator, folder) as path:
        router, sender = path.tun_namespaces["sender"], path.hosts["sender"].namespace
        before = kernel_counters.read(sender)
        with capturing({"all": (router, "any", folder / "all.pcap")}, 128) as captures:
            run_transfer(Transfer(payload_bytes=PAYLOAD_BYTES, seconds=25.0), path.hosts, folder, 30.0)
            path.finish()
            health = captures["all"].stop()
        repeats = kernel_counters.added(before, kernel_counters.read(sender)).get("RetransSegs", 0)
    assert health.whole
    return vmtrace.read(folder / "all.pcap").json(), repeats


@pytest.mark.root
@pytest.mark.usefixtures("real_hosts")
@pytest.mark.parametrize(("ip_version", "offered_bytes"), [(4, None), (6, None), (4, 8960)])
def test_every_segment_is_counted_once(tmp_path: Path, ip_version: int, offered_bytes: int | None) -> None:
    with Witness() as witness:
        document, repeats = transfer(tmp_path, ip_version, offered_bytes)
    [connection] = document["connections"]
    upload = connection["client_to_server"]
    found = upload["loss"]["retransmitted_segments"]
    if found != repeats and witness.stood_still_s > LONGEST_STANDSTILL_S:
        too_busy(f"processors stood still for {witness.stood_still_s:.1f} s")
    assert (found, repeats > 5) == (repeats, True)
    assert upload["unique_payload_bytes"] == PAYLOAD_BYTES
    assert document["inputs"][0]["capture"]["duplicates"] > upload["data_segments"]
    assert upload["rtt"]["min_s"] == pytest.approx(RTT_S, rel=0.1)
