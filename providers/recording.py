"""Step 3 of a transaction: its packets, recorded from before login to after the close, and the interface's counters.

The filter lets through what belongs to the transaction: the service's ports, name lookups, ICMP and ARP. Addresses
narrow it only where the endpoint is one: a name may lead to other addresses with every lookup.
"""

import ipaddress
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vmtrace.capture.errors import CaptureError
from vmtrace.capture.health import CaptureHealth
from vmtrace.capture.interfaces import interface_towards
from vmtrace.capture.link import LinkReader
from vmtrace.capture.opening import open_capture
from vmtrace.capture.recorder import Recorder
from vmtrace.capture.settings import ANY, CaptureSettings
from vmtrace.providers.errors import ProvidersError

_QUIET_S = 0.2
_PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.02
_MOST_STARTS = 3  # a neighbour's ARP may fall between the counters and the capture; twice in a row somebody is at work
_BESIDES = "port 53 or icmp or icmp6 or arp"
_INTERFACES = Path("/sys/class/net")
_COUNTERS = ("rx_packets", "rx_bytes", "tx_packets", "tx_bytes")


@dataclass(frozen=True, slots=True)
class Counters:
    """Of an interface at one moment."""

    time_ns: int
    values: tuple[int, ...]

    def as_record(self) -> dict[str, int]:
        """For a line of JSON."""
        return {"time_ns": self.time_ns, **dict(zip(_COUNTERS, self.values, strict=True))}


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a recording: parts of a line of `transactions.jsonl`, each None where there is nothing to say."""

    capture: dict[str, Any] | None
    interface: dict[str, Any] | None
    error: str | None


class Recording:
    """Packets (with settings) and counters (of an interface) of one transaction; both may be absent."""

    def __init__(self, interface: str | None, settings: CaptureSettings | None, path: Path | None) -> None:
        self._interface = None if interface == ANY else interface
        self._settings, self._path = settings, path
        self._recorder: Recorder | None = None
        self._before: Counters | None = None
        self._quiet_before = False

    def start(self) -> None:
        """Begin; every packet from now on is recorded. Raises `CaptureError`."""
        for starts_left in reversed(range(_MOST_STARTS)):
            quiet, last = self._wait_until_quiet()
            self._recorder = self._started()
            self._before = self._count()
            same = _same(last, self._before)
            self._quiet_before = quiet and same
            if same or not quiet or not starts_left:
                break
            if self._recorder is not None:
                self._recorder.stop()

    def stop(self) -> Recorded:
        """Wait for the last packets, and end."""
        quiet, after = self._wait_until_quiet()
        health = None if self._recorder is None else self._recorder.stop()
        interface = None
        if self._before is not None and after is not None:
            interface = {
                "name": self._interface,
                "quiet_before": self._quiet_before,
                "quiet_after": quiet and _same(after, self._count()),
                "before": self._before.as_record(),
                "after": after.as_record(),
            }
        return Recorded(_capture_record(health, self._settings), interface, None if health is None else health.error)

    def dropped(self) -> int:
        """Packets lost so far."""
        return 0 if self._recorder is None else self._recorder.dropped()

    def _started(self) -> Recorder | None:
        if self._settings is None or self._path is None:
            return None
        recorder = Recorder(self._settings, self._path)
        recorder.start()
        return recorder

    def _count(self) -> Counters | None:
        return None if self._interface is None else read_counters(self._interface)

    def _wait_until_quiet(self) -> tuple[bool, Counters | None]:
        """Whether nothing passed the interface for a while, and its counters."""
        last = self._count()
        if last is None:
            return False, None
        ends_s = time.monotonic() + _PATIENCE_S
        since_s = time.monotonic()
        while time.monotonic() < ends_s:
            time.sleep(_LOOK_EVERY_S)
            now = self._count()
            if now is None:
                return False, None
            if now.values != last.values:
                last, since_s = now, time.monotonic()
            elif time.monotonic() - since_s >= _QUIET_S:
                return True, now
        return False, last


def _same(first: Counters | None, second: Counters | None) -> bool:
    """Whether nothing passed between two readings."""
    return first is not None and second is not None and first.values == second.values


def read_counters(interface: str) -> Counters | None:
    """None where there is no such interface."""
    reader = LinkReader()
    try:
        link = reader.link(interface)
    finally:
        reader.close()
    if link is None or not all(name in link.statistics for name in _COUNTERS):
        return None
    return Counters(time.time_ns(), tuple(link.statistics[name] for name in _COUNTERS))


def check_capture(settings: CaptureSettings) -> None:
    """See at once whether packets can be recorded; raises the `CaptureError` that says why not."""
    open_capture(settings).live.close()


def interface_for(urls: Iterable[str], peers: Iterable[str]) -> str:
    """The interface towards the service: by the addresses it was reached at, else by the name in its URL."""
    hosts = [peer.rpartition(":")[0].strip("[]") for peer in peers] or [urlsplit(url).hostname or "" for url in urls]
    if not hosts or not hosts[0]:
        raise ProvidersError("the interface towards the service is unknown: name it with --interface")
    try:
        return interface_towards(hosts[0])
    except CaptureError as error:
        raise ProvidersError(f"{error}: name an interface with --interface, or give --no-capture") from error


def strays_from(interface: str, urls: Iterable[str], peers: Iterable[str]) -> str | None:
    """The interface that packets to the service take, if it is another than the one recorded; None if that is right, or
    cannot be told. What an interface is made of (of a bond, of a VLAN) sees its packets, too."""
    if interface == ANY:
        return None
    try:
        towards = interface_for(urls, peers)
    except ProvidersError:
        return None
    if interface == towards or (_INTERFACES / towards / f"lower_{interface}").exists():
        return None
    return towards


def capture_filter(urls: Sequence[str], peers: Sequence[str]) -> str:
    """The BPF expression for a service at these URLs that was reached at these `addr:port`."""
    ports = sorted({port_of(url) for url in urls} | {int(peer.rpartition(":")[2]) for peer in peers})
    service = " or ".join(f"tcp port {port}" for port in ports)
    addresses = {urlsplit(url).hostname or "" for url in urls}
    if addresses and all(map(_is_address, addresses)):
        addresses |= {peer.rpartition(":")[0].strip("[]") for peer in peers}
        hosts = " or ".join(f"host {address}" for address in sorted(addresses))
        service = f"({service}) and ({hosts})"
    return f"({service}) or {_BESIDES}"


def port_of(url: str) -> int:
    """Of a URL, named or by its scheme."""
    parts = urlsplit(url)
    try:
        named = parts.port
    except ValueError as error:
        raise ProvidersError(f"{url}: {error}") from error
    return named or (80 if parts.scheme == "http" else 443)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _capture_record(health: CaptureHealth | None, settings: CaptureSettings | None) -> dict[str, Any] | None:
    if health is None or settings is None:
        return None
    return {
        "file": f"packets/{health.file}",
        "filter": settings.filter,
        "start_ns": health.start_ns,
        "end_ns": health.end_ns,
        "received": health.received,
        "dropped": health.dropped,
        "written": health.written,
        "wire_bytes": health.wire_bytes,
        "error": health.error,
    }
