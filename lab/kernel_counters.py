"""A namespace's own TCP counters (`/proc/net/snmp`, `/proc/net/netstat`) and what a transfer added to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from vmtrace.lab import namespaces

_FILES = ("snmp", "netstat")
_TIME_WAIT = "06"
_GROUPS = ("Tcp", "TcpExt")
_IP_GROUP = "IpExt"
_OF_IP = frozenset({"InCEPkts"})
"""Packets that arrived with congestion marked on them; the other counters of that group are of all packets."""


def read(namespace: str) -> dict[str, int]:
    """Every TCP counter of a namespace by its kernel name (RetransSegs, TCPLossProbes, ...)."""
    counters: dict[str, int] = {}
    with namespaces.inside(namespace):
        texts = [Path(f"/proc/thread-self/net/{name}").read_text() for name in _FILES]
    for text in texts:
        lines = text.splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            group, _, words = names.partition(": ")
            numbers = map(int, values.partition(": ")[2].split())
            of_group = dict(zip(words.split(), numbers, strict=True))
            if group in _GROUPS:
                counters.update(of_group)
            elif group == _IP_GROUP:
                counters.update({name: value for name, value in of_group.items() if name in _OF_IP})
    return counters


def open_connections(namespace: str) -> int:
    """TCP connections whose kernel may still send of itself: all but those in TIME_WAIT."""
    with namespaces.inside(namespace):
        texts = [Path(f"/proc/thread-self/net/{name}").read_text() for name in ("tcp", "tcp6")]
    states = [line.split()[3] for text in texts for line in text.splitlines()[1:]]
    return sum(state != _TIME_WAIT for state in states)


def added(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Counters that moved, by how much."""
    return {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
