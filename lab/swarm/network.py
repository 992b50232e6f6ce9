"""Hosts of a swarm in network namespaces of their own, joined by a bridge; each sends at the rate it is given.

The MTU is 1,500 bytes and nothing is offloaded: a capture at the downloader sees the packets of the wire. A rate is a
token bucket filter (tc tbf) at the host's own device, so it counts whole frames.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from vmtrace.lab import namespaces

DEVICE = "eth0"
MTU_BYTES = 1500
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
"""A full frame as tbf counts it, and the TCP payload in it (with timestamps)."""
_BRIDGE = "br0"
_BURST_BYTES = 16_384
_QUEUE_S = 0.05
_SERIAL = itertools.count(1)


@dataclass(frozen=True, slots=True)
class SwarmHost:
    """One host: its namespace, its address, and what it may send (None: no limit)."""

    name: str
    namespace: str
    address: str
    rate_bps: float | None

    @property
    def payload_bps(self) -> float | None:
        """TCP payload that full frames carry at its rate."""
        return None if self.rate_bps is None else self.rate_bps * PAYLOAD_BYTES / FRAME_BYTES


@contextmanager
def joined(rates_bps: Mapping[str, float | None]) -> Iterator[dict[str, SwarmHost]]:
    """Hosts by name, each with its rate; everything is gone afterwards. Raises `namespaces.LabUnavailableError`."""
    namespaces.require()
    namespaces.delete_stale()
    serial = next(_SERIAL)
    with ExitStack() as stack:
        hub = _namespace(stack, "hub", serial)
        _ip(hub, f"link add {_BRIDGE} type bridge")
        _ip(hub, f"link set {_BRIDGE} up")
        yield {
            name: _host(stack, hub, name, number, rate_bps, serial)
            for number, (name, rate_bps) in enumerate(rates_bps.items(), 1)
        }


def _host(stack: ExitStack, hub: str, name: str, number: int, rate_bps: float | None, serial: int) -> SwarmHost:
    namespace = _namespace(stack, name, serial)
    port, address = f"p{number}", f"198.18.64.{number}"
    _ip(namespace, f"link add {DEVICE} mtu {MTU_BYTES} type veth peer name {port} netns {hub}")
    quiet = {"net.ipv6.conf.all.disable_ipv6": "1", "net.ipv4.tcp_no_metrics_save": "1"}
    namespaces.set_sysctls(namespace, quiet)
    for place, device in ((namespace, DEVICE), (hub, port)):
        words = ["ethtool", "-K", device, "tso", "off", "gso", "off", "gro", "off"]
        namespaces.run_program([*namespaces.exec_prefix(place), *words])
    _ip(hub, f"link set {port} master {_BRIDGE} up")
    _ip(namespace, f"address add {address}/24 dev {DEVICE}")
    _ip(namespace, f"link set {DEVICE} up")
    if rate_bps is not None:
        bucket = f"tbf rate {rate_bps:.0f}bit burst {_BURST_BYTES} latency {_QUEUE_S * 1000:.0f}ms"
        namespaces.run_program(["tc", "-n", namespace, "qdisc", "add", "dev", DEVICE, "root", *bucket.split()])
    return SwarmHost(name, namespace, address, rate_bps)


def _namespace(stack: ExitStack, name: str, serial: int) -> str:
    namespace = namespaces.namespace_name(f"-{name}", serial)
    stack.callback(namespaces.delete, namespace)
    namespaces.create(namespace)
    return namespace


def _ip(namespace: str, words: str) -> None:
    namespaces.run_program(["ip", "-n", namespace, *words.split()])
