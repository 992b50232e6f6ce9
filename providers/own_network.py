"""The network on this side of a service: the link, the gateway, the name servers. Asked when a request has failed.

What answered no echo when the campaign began is not asked later: a gateway may ignore ICMP. So a failure is one's own
where the link is down, or where nothing answers that did before.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from vmtrace.providers.round_trips import icmp_rtt_s

LOOPBACK = "lo"
_MOST_NAME_SERVERS = 2
Ask = Callable[[str], float | None]


@dataclass(frozen=True, slots=True)
class OwnNetwork:
    """What can be asked."""

    interface: str
    targets: tuple[str, ...]
    ask: Ask
    links: Path = Path("/sys/class/net")

    @classmethod
    def known(cls, interface: str | None, ask: Ask = icmp_rtt_s, root: Path = Path("/")) -> Self | None:
        """Asks everything once; None on loopback, which has no such network."""
        if interface is None or interface == LOOPBACK:
            return None
        found = dict.fromkeys((*_gateways(root, interface), *_name_servers(root)))
        return cls(interface, tuple(one for one in found if _answers(ask, one)), ask, root / "sys/class/net")

    def state(self) -> dict[str, Any]:
        """As it is now: for the log."""
        time_ns = time.time_ns()
        answered = [one for one in self.targets if _answers(self.ask, one)]
        return {"time_ns": time_ns, "link": self._link(), "asked": list(self.targets), "answered": answered}

    def _link(self) -> str | None:
        """`up` or `down`, as the kernel says it; None where it does not know."""
        try:
            state = (self.links / self.interface / "operstate").read_text().strip()
        except OSError:
            return None
        return {"up": "up", "down": "down", "lowerlayerdown": "down"}.get(state)


def _answers(ask: Ask, address: str) -> bool:
    try:
        return ask(address) is not None
    except OSError:  # no ICMP socket for this user, or no way there
        return False


def _gateways(root: Path, interface: str) -> Iterator[str]:
    """Of the default routes of IPv4 (proc(5))."""
    for line in _lines(root / "proc/net/route")[1:]:
        words = line.split()
        if len(words) > 7 and words[0] == interface and words[1] == words[7] == "00000000" and words[2] != "00000000":
            yield socket.inet_ntoa(struct.pack("=I", int(words[2], 16)))


def _name_servers(root: Path) -> list[str]:
    lines = [line.split() for line in _lines(root / "etc/resolv.conf")]
    found = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return [one for one in found if not one.startswith("127.") and one != "::1"][:_MOST_NAME_SERVERS]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
