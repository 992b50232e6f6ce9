"""An ordinary seed: shares one file until it is asked to end, at a rate that may be limited.

The downloader is on another host; a seed is found by a tracker or by its address. It connects to nobody by itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vmtrace.providers.swarm.client import library, session, tracker_trouble, without_exchange
from vmtrace.providers.swarm.errors import SwarmError, one_line
from vmtrace.providers.swarm.torrent import Torrent, check_file

_POLL_MS = 200
_LISTENS_WITHIN_S = 10.0
_SETTLED_S = 0.3  # after the last address that listens
_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class SeedOrder:
    """What to share, and where."""

    file: Path
    torrent: Torrent
    trackers: tuple[str, ...]
    bind: tuple[str, ...]
    """Addresses to listen at."""
    port: int
    rate_bytes_s: int | None
    """Most that is uploaded per second, over all peers; None: no limit."""
    duration_s: float | None
    """None: until Ctrl-C."""


@dataclass(frozen=True, slots=True)
class SeedState:
    """What a seed has done so far."""

    uploaded_bytes: int
    rate_bps: float
    peers: int


def check_seed(order: SeedOrder) -> None:
    """See that the file is the torrent's; raises `SwarmError`."""
    torrent = order.torrent
    try:
        size_bytes = order.file.stat().st_size
        if size_bytes != torrent.size_bytes:
            raise SwarmError(
                f"{order.file}: {size_bytes:,} bytes, but the torrent's file has {torrent.size_bytes:,}: "
                "name the file that the torrent was made of"
            )
        wrong = check_file(order.file, torrent).wrong_pieces
    except OSError as error:
        raise SwarmError(f"{order.file}: {error.strerror}") from error
    if wrong:
        raise SwarmError(
            f"{order.file}: {wrong} of {torrent.pieces} pieces are not the torrent's: "
            "name the file that the torrent was made of"
        )


def share(
    order: SeedOrder,
    ready: Callable[[], object],
    warned: Callable[[str], object],
    showed: Callable[[SeedState], object] = lambda _: None,
) -> SeedState:
    """Share until the time is over or Ctrl-C; returns what was uploaded. Raises `SwarmError` where it cannot begin.

    `ready` is called once it listens, `warned` with each new trouble, `showed` every second.
    """
    listen = ",".join(f"[{one}]:{order.port}" if ":" in one else f"{one}:{order.port}" for one in order.bind)
    sharing = session(listen)
    _wait_until_listening(sharing, order)
    handle = _added(sharing, order)
    ready()
    ends_s = None if order.duration_s is None else time.monotonic() + order.duration_s
    warned_of: set[str] = set()
    shown_s = 0.0
    try:
        while ends_s is None or time.monotonic() < ends_s:
            sharing.wait_for_alert(_POLL_MS)
            for trouble in _troubles(sharing):
                if trouble not in warned_of:
                    warned_of.add(trouble)
                    warned(trouble)
            if time.monotonic() - shown_s >= _EVERY_S:
                shown_s = time.monotonic()
                showed(_state(handle))
    except KeyboardInterrupt:
        pass
    state = _state(handle)
    sharing.remove_torrent(handle)  # it takes leave of the tracker
    return state


def _added(sharing: Any, order: SeedOrder) -> Any:
    lt = library()
    parameters = order.torrent.parameters(order.file.resolve().parent)
    parameters.trackers = list(order.trackers)
    flags = lt.torrent_flags
    parameters.flags = flags.seed_mode | flags.upload_mode | without_exchange(lt)
    parameters.renamed_files = {0: order.file.name}
    handle = sharing.add_torrent(parameters)
    if order.rate_bytes_s is not None:
        handle.set_upload_limit(order.rate_bytes_s)
    return handle


def _wait_until_listening(sharing: Any, order: SeedOrder) -> None:
    """Wait until it listens; libtorrent listens at each address of the host that `bind` comprises."""
    lt = library()
    began_s, settled_s = time.monotonic(), None
    while settled_s is None or time.monotonic() < settled_s:
        sharing.wait_for_alert(_POLL_MS)
        for alert in sharing.pop_alerts():
            if isinstance(alert, lt.listen_failed_alert):
                raise SwarmError(
                    f"port {order.port} at {alert.address}: {one_line(alert.error.message())}: "
                    "name another with --port or --bind"
                )
            if isinstance(alert, lt.listen_succeeded_alert) and alert.socket_type == lt.socket_type_t.tcp:
                settled_s = time.monotonic() + _SETTLED_S
        if settled_s is None and time.monotonic() - began_s > _LISTENS_WITHIN_S:
            raise SwarmError(f"port {order.port}: nothing listens after {_LISTENS_WITHIN_S:.0f} s: check --bind")


def _troubles(sharing: Any) -> list[str]:
    lt = library()
    found = []
    for alert in sharing.pop_alerts():
        if isinstance(alert, lt.tracker_error_alert):
            found += [f"tracker {one_line(alert.url)}: {text}" for text in tracker_trouble(alert)]
        elif isinstance(alert, lt.torrent_error_alert | lt.file_error_alert):
            found.append(f"the file cannot be shared: {one_line(alert.error.message())}")
    return found


def _state(handle: Any) -> SeedState:
    status = handle.status()
    return SeedState(status.total_payload_upload, status.upload_payload_rate * 8.0, status.num_peers)
