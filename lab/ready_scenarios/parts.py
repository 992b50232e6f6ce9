"""What the ready scenarios are put together from: paths, hosts, and a seed by name."""

from __future__ import annotations

import zlib

from vmtrace.lab.capture_run import DEFAULT_SNAPLEN_BYTES
from vmtrace.lab.description import Scenario
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.transfer import Transfer

CUBIC, RENO, BBR = HostSettings("cubic"), HostSettings("reno"), HostSettings("bbr")
_DEEP_QUEUE_BYTES = 8_000_000  # holds whatever the receive window lets a sender put in flight here


def path(
    rtt_ms: float, rate_bps: float = 40e6, queue_bytes: int = _DEEP_QUEUE_BYTES
) -> tuple[Impairments, Impairments]:
    """Both directions of a path with half the round trip each; the bottleneck is on the way to the receiver."""
    one_way_s = rtt_ms / 2000
    return Impairments(delay_s=one_way_s, rate_bps=rate_bps, queue_bytes=queue_bytes), Impairments(delay_s=one_way_s)


def scenario(
    name: str,
    story: str,
    transfer: Transfer,
    forward: Impairments,
    reverse: Impairments,
    host: HostSettings,
    *,
    topology: Topology = Topology.TUN,
    ip_version: int = 4,
    snaplen_bytes: int = DEFAULT_SNAPLEN_BYTES,
) -> Scenario:
    """Both hosts alike, and dice of its own: fixed by the name, so that adding a scenario rerolls no other."""
    return Scenario(
        name,
        story,
        transfer,
        forward,
        reverse,
        host,
        host,
        topology,
        ip_version,
        snaplen_bytes=snaplen_bytes,
        seed=zlib.crc32(name.encode()),
    )
