"""Limits that the kernel itself puts on what leaves or crosses a host: `tc` queues and nftables' `limit`.

The emulator's queue lies behind every capture of the sender's side. A kernel's own queue lies behind the socket and
before the capture, and its own clock lets packets go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vmtrace.lab import namespaces
from vmtrace.lab.hosts import EmulatedPath

_LATENCY = "latency 120ms"
_LEAST_BURST_BYTES = 16_000

Place = Literal["host", "router"]
Queue = Literal["tbf", "htb", "nft"]


@dataclass(frozen=True, slots=True)
class KernelLimit:
    """A `tbf` or `htb` queue, or packets over a rate dropped by `nft`, at the sender or at its router."""

    place: Place
    queue: Queue
    rate_bps: float
    burst_bytes: int = _LEAST_BURST_BYTES

    @property
    def words(self) -> str:
        """For people."""
        name = {"tbf": "`tc tbf`", "htb": "`tc htb`", "nft": "nftables' `limit`"}[self.queue]
        where = "the sender" if self.place == "host" else "its router"
        return f"{name} of {self.rate_bps / 1e6:.1f} Mbit/s at {where}, burst {self.burst_bytes / 1e3:.0f} kB"

    def commands(self, device: str) -> list[list[str]]:
        """That put it on what leaves by a device."""
        rate, burst = f"{round(self.rate_bps)}bit", f"{self.burst_bytes}b"
        if self.queue == "tbf":
            return [f"tc qdisc add dev {device} root tbf rate {rate} burst {burst} {_LATENCY}".split()]
        if self.queue == "htb":
            to_class = f"rate {rate} ceil {rate} burst {burst} cburst {burst}"
            return [
                f"tc qdisc add dev {device} root handle 1: htb default 10".split(),
                f"tc class add dev {device} parent 1: classid 1:10 htb {to_class}".split(),
            ]
        over = f"limit rate over {round(self.rate_bps / 8)} bytes/second burst {self.burst_bytes} bytes drop"
        rules = "add table inet lab; add chain inet lab passing { type filter hook forward priority 0 ; };"
        return [["nft", f'{rules} add rule inet lab passing oifname "{device}" {over}']]


def put_on(path: EmulatedPath, limit: KernelLimit) -> None:
    """Puts it on the way of the data; it goes with the namespaces."""
    host = path.hosts["sender"]
    is_host = limit.place == "host"
    namespace, device = (host.namespace, host.device) if is_host else (path.tun_namespaces["sender"], "tun0")
    for words in limit.commands(device):
        namespaces.run_program([*namespaces.exec_prefix(namespace), *words])
