"""What a lab run is made of, as a value: hosts, path, transfer, captures, dice."""

from __future__ import annotations

from dataclasses import dataclass, field

from vmtrace.lab.capture_run import DEFAULT_SNAPLEN_BYTES
from vmtrace.lab.hosts import HostSettings, Topology
from vmtrace.lab.impairments import Impairments
from vmtrace.lab.transfer import Transfer


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that decides a run. `forward` is the direction from the data sender to the receiver."""

    name: str
    story: str
    transfer: Transfer = field(default_factory=Transfer)
    forward: Impairments = field(default_factory=Impairments)
    reverse: Impairments = field(default_factory=Impairments)
    sender: HostSettings = field(default_factory=HostSettings)
    receiver: HostSettings = field(default_factory=HostSettings)
    topology: Topology = Topology.TUN
    ip_version: int = 4
    mtu: int = 1500
    snaplen_bytes: int = DEFAULT_SNAPLEN_BYTES
    seed: int = 1
