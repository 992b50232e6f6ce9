"""Where a service is, from this host: found out before the first request that counts, by one that does not.

The interface and the filter that record its packets, whether they can be recorded, and round trips to its front ends.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from vmtrace.capture.campaign import capture_record
from vmtrace.capture.errors import CaptureError
from vmtrace.capture.settings import CaptureSettings
from vmtrace.providers.errors import ProvidersError
from vmtrace.providers.order import ServiceOrder
from vmtrace.providers.recording import capture_filter, check_capture, interface_for, port_of, strays_from
from vmtrace.providers.round_trips import MOST_FRONT_ENDS, addresses_of, echoes


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service turned out to be."""

    endpoint: str
    region: str | None
    urls: tuple[str, ...]
    peers: tuple[str, ...]
    interface: str | None
    capture: CaptureSettings | None
    tls: dict[str, Any] | None

    def as_record(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "endpoint": self.endpoint,
            "region": self.region,
            "tls": self.tls,
            "interface": self.interface,
            "capture": capture_record(self.capture),
            "front_ends": list(self.peers),
        }


def check_rights(order: ServiceOrder) -> None:
    """Before anything is created: whether packets can be recorded at all, with this filter and snap length."""
    if order.capture:
        try:
            check_capture(CaptureSettings(order.interface or "lo", order.filter or "tcp", order.snaplen))
        except CaptureError as error:
            raise ProvidersError(f"{error} (or give --no-capture)") from error


def place_of(
    order: ServiceOrder, endpoint: str, region: str | None, peers: Iterable[str], ports: Iterable[int] = ()
) -> Place:
    """As a first exchange with the service showed it. Raises `ProvidersError` where packets cannot be recorded.

    Packets of these TCP `ports` are recorded, too.
    """
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
        expression = order.filter
        if expression is None:
            expression = " or ".join([capture_filter(urls, found), *(f"tcp port {port}" for port in ports)])
        capture = CaptureSettings(interface, expression, order.snaplen, also_tagged=True)
    bundle = None if order.ca_bundle is None else str(order.ca_bundle)
    tls = {"verified": True, "ca_bundle": bundle} if urlsplit(endpoint).scheme == "https" else None
    return Place(endpoint, region, urls, found, interface, capture, tls)


def check_place(place: Place, about: str, warn: Callable[[str], None]) -> None:
    """Whether its packets can be recorded, and pass where they are. Raises `CaptureError`."""
    if place.capture is None:
        return
    check_capture(place.capture)
    towards = strays_from(place.capture.interface, place.urls, place.peers)
    if towards is not None:
        warn(
            f"packets are recorded on {place.capture.interface}, but those to {about} take {towards}: "
            f"give --interface {towards}"
        )


def round_trips(place: Place, peers: Iterable[str], count: int) -> Iterator[dict[str, Any]]:
    """Lines of `rtt.jsonl`: echoes and TCP handshakes to the front ends."""
    front_ends: dict[tuple[str, int], None] = {}
    for url in place.urls:
        port = port_of(url)
        front_ends.update({(address, port): None for address in addresses_of(urlsplit(url).hostname or "", port)})
    # Names of containers may lead elsewhere than that of the endpoint.
    for peer in list(peers)[-MOST_FRONT_ENDS:]:
        address, _, seen_port = peer.rpartition(":")
        front_ends[address.strip("[]"), int(seen_port)] = None
    for echo in echoes(front_ends, count):
        yield {name: getattr(echo, name) for name in ("time_ns", "front_end", "port", "method", "rtt_s")}
