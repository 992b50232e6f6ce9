"""What an interface is: its driver and bus, MTU, speed, queues, queueing discipline, offloads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vmtrace.capture.ethtool import DriverInfo, Ethtool, Offloads, Queues, Rings
from vmtrace.capture.link import LinkReader


@dataclass(frozen=True)
class InterfaceFacts:
    """One interface; every part None where driver or kernel do not tell."""

    name: str
    driver: DriverInfo | None
    mtu_bytes: int | None
    state: str | None
    speed_bps: int | None
    addresses: tuple[str, ...] | None
    qdisc: str | None
    """At the root of the interface; `mq` has one of the default discipline for each queue."""
    tx_queue_length: int | None
    queues: Queues | None
    rings: Rings | None
    offloads: Offloads
    features: Mapping[str, bool] | None
    """All of them, by the kernel's names."""


def interface_facts(name: str) -> InterfaceFacts | None:
    """Facts of an interface in the caller's network namespace; None if there is no such interface."""
    reader = LinkReader()
    try:
        link = reader.link(name)
        addresses = None if link is None else tuple(reader.addresses(link.index))
    finally:
        reader.close()
    if link is None:
        return None
    with Ethtool(name) as nic:
        return InterfaceFacts(
            name=name,
            driver=nic.driver(),
            mtu_bytes=link.mtu_bytes,
            state=link.state,
            speed_bps=nic.speed_bps(),
            addresses=addresses,
            qdisc=link.qdisc,
            tx_queue_length=link.tx_queue_length,
            queues=nic.queues(),
            rings=nic.rings(),
            offloads=nic.offloads(),
            features=nic.features(),
        )
