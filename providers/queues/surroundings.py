"""Where a run's queue is, from this host: the interface and filter that record its packets, and its round trips."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vmtrace.capture.settings import CaptureSettings
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.queues.order import QueueOrder
from vmtrace.providers.recording import capture_filter, interface_for, port_of
from vmtrace.providers.round_trips import MOST_FRONT_ENDS, addresses_of, echoes

_ECHOES = 10


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Found out before the first stage."""

    endpoint: str
    region: str | None
    urls: tuple[str, ...]
    peers: tuple[str, ...]
    interface: str | None
    capture: CaptureSettings | None

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        capture = self.capture
        return {
            "endpoint": self.endpoint,
            "region": self.region,
            "interface": self.interface,
            "capture": None
            if capture is None
            else {"interface": capture.interface, "filter": capture.filter, "snaplen": capture.snaplen},
            "front_ends": list(self.peers),
        }


def surroundings_of(order: QueueOrder, endpoint: str, region: str | None, peers: Iterable[str]) -> Surroundings:
    """As a first exchange with the service showed it. Raises `ProvidersError` where packets cannot be recorded."""
    urls = tuple(dict.fromkeys(filter(None, (order.endpoint_url, endpoint))))
    found, interface = tuple(peers), order.interface
    if interface is None:
        try:
            interface = interface_for(urls, found)
        except ProvidersError:
            if order.capture:
                raise
    capture = None
    if order.capture and interface is not None:
        expression = order.filter if order.filter is not None else capture_filter(urls, found)
        capture = CaptureSettings(interface, expression, order.snaplen, also_tagged=True)
    return Surroundings(endpoint, region, urls, found, interface, capture)


def round_trips(place: Surroundings, stage: int) -> Iterator[dict[str, Any]]:
    """Lines of `rtt.jsonl`: echoes and TCP handshakes to the front ends, before a stage."""
    front_ends: dict[tuple[str, int], None] = {}
    for url in place.urls:
        port = port_of(url)
        front_ends.update({(address, port): None for address in addresses_of(urlsplit(url).hostname or "", port)})
    for peer in place.peers[-MOST_FRONT_ENDS:]:
        address, _, port_text = peer.rpartition(":")
        front_ends[address.strip("[]"), int(port_text)] = None
    for echo in echoes(front_ends, _ECHOES):
        yield {
            "time_ns": echo.time_ns,
            "stage": stage,
            "front_end": echo.front_end,
            "port": echo.port,
            "method": echo.method,
            "rtt_s": echo.rtt_s,
        }


class ClockWatch:
    """Whether this host's clock was stepped while a run measured with it: wall time against monotonic time."""

    def __init__(self) -> None:
        self._first_ns = self._offset_ns()
        self._least_ns = self._most_ns = 0

    def look(self) -> None:
        """Compare now."""
        moved_ns = self._offset_ns() - self._first_ns
        self._least_ns, self._most_ns = min(self._least_ns, moved_ns), max(self._most_ns, moved_ns)

    @property
    def moved_s(self) -> float:
        """How far wall time strayed, in all: an error of every latency that was measured across it."""
        return (self._most_ns - self._least_ns) / 1e9

    @staticmethod
    def _offset_ns() -> int:
        """The better of three: a reading may be interrupted between its clocks."""
        found = []
        for _ in range(3):
            before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
            found.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
        return min(found)[1]
