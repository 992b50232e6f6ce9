"""Round trips to the front ends of a service, before its capture begins: ICMP echoes and TCP handshakes.

Where this user may send no ICMP there are TCP handshakes alone. A handshake is connect() to the service's port, closed
at once.
"""

import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass

from vmtrace.capture.icmp import EchoSocket

WAIT_S = 2.0
ICMP, TCP = "icmp", "tcp"
MOST_FRONT_ENDS = 8


@dataclass(frozen=True, slots=True)
class Echo:
    """One echo; `rtt_s` None: not back within `WAIT_S`."""

    time_ns: int
    front_end: str
    port: int
    method: str
    rtt_s: float | None


def addresses_of(host: str, port: int) -> list[str]:
    """The addresses that a name has now, at most `MOST_FRONT_ENDS`; none if it cannot be resolved."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(one[4][0]) for one in found))[:MOST_FRONT_ENDS]


def echoes(front_ends: Iterable[tuple[str, int]], count: int) -> Iterator[Echo]:
    """So many echoes of each kind to each address and port; one that does not answer is asked by that kind no more."""
    for address, port in front_ends:
        for method, once in ((ICMP, icmp_rtt_s), (TCP, tcp_rtt_s)):
            for _ in range(count):
                time_ns = time.time_ns()
                try:
                    rtt_s = once(address, port)
                except OSError:  # no ICMP socket for this user, or the address is of a family that is not here
                    break
                yield Echo(time_ns, address, port, method, rtt_s)
                if rtt_s is None:
                    break


def tcp_rtt_s(address: str, port: int) -> float | None:
    """How long connect() takes: SYN to SYN-ACK. A refused one answers as fast, but there is no service."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(WAIT_S)
        began_ns = time.perf_counter_ns()
        try:
            probe.connect((address, port))
        except (ConnectionError, TimeoutError):
            return None
        return (time.perf_counter_ns() - began_ns) / 1e9


def icmp_rtt_s(address: str, _port: int = 0) -> float | None:
    """One echo; raises `OSError` where this user may send none."""
    with closing(EchoSocket(address)) as probe:
        return probe.rtt_s(WAIT_S)
